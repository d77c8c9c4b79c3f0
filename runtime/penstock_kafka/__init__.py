"""Kafka for the runtime and the operator alike: compacted topics, the errors of clients, and what brokers are asked."""
