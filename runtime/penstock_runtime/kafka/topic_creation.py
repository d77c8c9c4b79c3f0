"""Creates the topics of a source by its rules, before the first record goes there (KIP-158)."""

from collections.abc import Iterable

from penstock_model.connect.topic_creation import PREFIX, TopicRules
from penstock_runtime.kafka.admin import Admin
from penstock_runtime.kafka.settings import ClientSettings

__all__ = ["RuledTopics"]


class RuledTopics:
    """The topics that one process writes to. Each is looked for once: one that is deleted later is not created again.

    Args:
        settings: how to connect; topics are where producers write.
        rules: of the source.
    """

    def __init__(self, settings: ClientSettings, rules: TopicRules) -> None:
        self._settings = settings
        self._rules = rules
        self._there: set[str] = set()

    def ensure(self, topics: Iterable[str]) -> None:
        """See that these topics are there; what exists stays as it is.

        Raises:
            RetriableError: no broker answered.
            ConnectError: one of them cannot be created, or may not be. `errors.tolerance` does not cover that.
        """
        missing = sorted({*topics} - self._there)
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
            self._there.add(topic)
