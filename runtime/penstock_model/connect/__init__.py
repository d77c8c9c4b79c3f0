"""Kafka Connect's configuration: connectors, workers, variables, versions, topic creation."""
