"""Kafka code for both runtime and operator: compacted topics, client errors, and requests to brokers."""
