"""Apache Iceberg: its sink for Kafka Connect, a REST catalog, and the rows of a table."""
