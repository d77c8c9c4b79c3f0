"""Properties of Java's Kafka clients as librdkafka's."""
