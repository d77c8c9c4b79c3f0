"""Consumer groups of sinks."""

__all__ = ["default_consumer_group"]


def default_consumer_group(connector: str) -> str:
    """Return the consumer group of a sink that does not set `consumer.override.group.id`, as in Kafka Connect."""
    return f"connect-{connector}"
