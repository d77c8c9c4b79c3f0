"""Trial of a connector's transforms on sample records, without Kafka."""
