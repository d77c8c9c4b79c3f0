"""Process of a connector's task: Kafka clients, Spark, plugins; and the work of job pods."""
