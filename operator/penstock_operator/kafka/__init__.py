"""Read and write the status topic. The only package of the operator that imports `confluent_kafka`."""

from penstock_operator.kafka.status_topic import StatusTopic

__all__ = ["StatusTopic"]
