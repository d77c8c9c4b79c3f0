"""Translation of properties of Java's Kafka clients to librdkafka's."""
