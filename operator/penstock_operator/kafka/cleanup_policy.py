"""Check the cleanup policy of the status topic, which a broker may recreate automatically with its defaults."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

__all__ = ["CleanupPolicy"]

log = logging.getLogger(__name__)

_SECONDS: Final = 5.0
"""Seconds to wait for a response."""
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"


class CleanupPolicy:
    """Checker of the status topic's `cleanup.policy`, which it can also restore. For one thread.

    The policy is restored to `compact` only if it was `compact` at an earlier check. Otherwise it is not changed:
    `status.storage.topic` may name another application's topic by mistake, and compaction would delete its records.

    Args:
        topic: the status topic.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._was_compacted = False

    def fault(self, properties: Mapping[str, Any]) -> str | None:
        """Check the policy, and restore it if possible.

        Args:
            properties: properties of an admin client.

        Returns:
            The problem and its remedy; None: there is none, or the operator lacks the permission to read the policy
            (DescribeConfigs).

        Raises:
            KafkaException: Kafka does not respond, or refuses.
        """
        client = AdminClient(dict(properties))
        try:
            policy = self._policy(client)
        except KafkaException as e:
            if e.args[0].code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART):
                return None
            raise
        if policy == _COMPACT:
            self._was_compacted = True
            return None
        why = "the operator does not change it, because it was not compact at any earlier check"
        if self._was_compacted:
            try:
                self._set_back(client)
            except KafkaException as e:
                why = f"the operator cannot change it: {e.args[0].str()} (AlterConfigs on the topic is needed)"
            else:
                log.warning(
                    "Topic %s had cleanup.policy=%s; the operator has restored it to compact", self._topic, policy
                )
                return None
        return (
            f"Kafka deletes records of topic {self._topic} that Penstock needs, because its cleanup.policy is {policy}; "
            f"{why}; set it with kafka-configs.sh --alter --entity-type topics --entity-name {self._topic} --add-config "
            f"cleanup.policy=compact"
        )

    def _policy(self, client: AdminClient) -> str:
        asked = ConfigResource(ResourceType.TOPIC, self._topic)
        answer = client.describe_configs([asked], request_timeout=_SECONDS)[asked].result(2 * _SECONDS)
        return str(answer[_POLICY].value)

    def _set_back(self, client: AdminClient) -> None:
        entry = ConfigEntry(_POLICY, _COMPACT, incremental_operation=AlterConfigOpType.SET)
        asked = ConfigResource(ResourceType.TOPIC, self._topic, incremental_configs=[entry])
        client.incremental_alter_configs([asked], request_timeout=_SECONDS)[asked].result(2 * _SECONDS)
