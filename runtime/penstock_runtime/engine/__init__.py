"""The engine: one task, batch by batch. Decisions are functions over values; Kafka and Spark are reached by ports."""
