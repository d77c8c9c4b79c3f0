"""Kafka clients of a task. Only this package calls confluent_kafka; callers see the errors of `penstock.errors`."""
