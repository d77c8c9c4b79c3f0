"""The PySpark task: engine, Kafka clients, command line."""
