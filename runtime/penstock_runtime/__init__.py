"""PySpark task: engine, Kafka clients, plugins, job pods."""
