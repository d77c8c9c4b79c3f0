"""Kafka Connect's configuration: of connectors and of workers, variables, versions, topic creation."""
