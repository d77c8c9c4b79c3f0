"""Check the status topic's cleanup policy. A broker may create the topic again automatically, with its own defaults."""

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
"""Seconds to wait for an answer."""
_POLICY: Final = "cleanup.policy"
_COMPACT: Final = "compact"


class CleanupPolicy:
    """Guard of the `cleanup.policy` of the status topic. For one thread.

    The policy is reset to `compact` only if it was seen as `compact` before. Otherwise it is not changed:
    `status.storage.topic` may name another application's topic by mistake, whose records compaction would delete.

    Args:
        topic: the status topic.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._was_compacted = False

    def fault(self, properties: Mapping[str, Any]) -> str | None:
        """Check the policy, and set it back if possible.

        Args:
            properties: properties of an admin client.

        Returns:
            The problem and its remedy; None if there is none, or if the operator may not read the policy
            (DescribeConfigs).

        Raises:
            KafkaException: Kafka does not answer, or refuses.
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
        why = "the operator has not seen it compacted before, so it leaves it as it is"
        if self._was_compacted:
            try:
                self._set_back(client)
            except KafkaException as e:
                why = f"the operator cannot change that: {e.args[0].str()} (AlterConfigs on the topic is needed)"
            else:
                log.warning(
                    "Topic %s had cleanup.policy=%s; the operator has set it back to compact", self._topic, policy
                )
                return None
        return (
            f"Kafka deletes records of topic {self._topic} that Penstock needs, since its cleanup.policy is {policy}; "
            f"{why}; set it: kafka-configs.sh --alter --entity-type topics --entity-name {self._topic} --add-config "
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
