"""Creates the topics of a source by its rules, before the first record goes there (KIP-158)."""

from collections.abc import Iterable

from penstock_model.connect.topic_creation_rules import PREFIX, TopicRules
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["TopicCreator"]


class TopicCreator:
    """Creates the topics that one process writes to. Each is checked once: one that is deleted later is not created again.

    Args:
        settings: how to connect; topics are created on the cluster that producers write to.
        rules: the source's `topic.creation.*`.
    """

    def __init__(self, settings: ClientSettings, rules: TopicRules) -> None:
        self._settings = settings
        self._rules = rules
        self._existing: set[str] = set()

    def ensure(self, topics: Iterable[str]) -> None:
        """Create those of these topics that do not exist; existing ones stay as they are.

        Raises:
            RetriableError: no broker answered.
            ConnectError: a topic cannot be created, or the right is missing. `errors.tolerance` does not cover that.
        """
        missing = sorted({*topics} - self._existing)
        if not missing:
            return
        admin = Admin(self._settings, servers=self._settings.bootstrap)
        for topic in missing:
            group = self._rules.group_of(topic)
            admin.ensure_described(
                topic,
                partitions=group.partitions,
                replication_factor=group.replication_factor,
                settings=group.settings,
                named_by=f"{PREFIX}{group.name}",
            )
            self._existing.add(topic)
