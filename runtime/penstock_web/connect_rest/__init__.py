"""Kafka Connect's REST API (4.3) over the resources of a namespace."""
