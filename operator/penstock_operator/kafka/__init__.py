"""The status topic, read all the time and written now and then. The only package here that knows `confluent_kafka`."""

from penstock_operator.kafka.records import ActiveTopic
from penstock_operator.kafka.status_topic import StatusTopic

__all__ = ["ActiveTopic", "StatusTopic"]
