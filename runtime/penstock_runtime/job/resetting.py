"""Reset a connector's offsets: a source's records in offsets topics, a sink's consumer group (KIP-875).

If a deleted Connector has an invalid configuration or its plugin is missing, the offsets are looked up by the connector's
name only, so that the user can start over. If it is not deleted, the plugin must be asked, since it might refuse.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Final

from penstock.errors import ConfigError, Problem
from penstock.offsets import SourcePartition
from penstock_model.contracts.job import JobRequest, OffsetsWork
from penstock_runtime.job.offsets_change import Change, carry_out, fence_tasks, refuse_members, target_to_ask
from penstock_runtime.job.offsets_target import Target, target_by_name, target_of_valid
from penstock_runtime.job.with_kafka import ClientErrors
from penstock_runtime.kafka.groups import Groups
from penstock_runtime.kafka.offsets_topic import load_if_present
from penstock_runtime.kafka.offsets_transaction import PlacedRecord

__all__ = ["reset", "reset_of_valid"]

log = logging.getLogger(__name__)

# Messages of Kafka Connect 4.3.1 (connect-semantics 6).
_RESET: Final = "The offsets for this connector have been reset successfully"
_RESET_OURS: Final = (
    "The Connect framework-managed offsets for this connector have been reset successfully. However, if this connector "
    "manages offsets externally, they will need to be manually reset in the system that the connector uses."
)


def reset_of_valid(request: JobRequest, work: OffsetsWork) -> str:
    """Reset the offsets of a Connector that is not deleted, and return the message of the answer.

    Raises:
        ConfigError: the configuration is invalid, so the plugin cannot be asked.
        OffsetsRefused, Superseded, Unavailable: as `carry_out`; or the plugin cannot be asked.
    """
    client_errors = ClientErrors()
    return _reset(request, target_to_ask("reset", request, client_errors), client_errors, newest=work.generation)


def reset(request: JobRequest) -> tuple[str, tuple[Problem, ...]]:
    """Reset the offsets of a Connector that is deleted, and return the message of the answer, and warnings.

    Raises:
        ConfigError: the worker configuration is invalid, or the connector has no name.
        OffsetsRefused, Superseded, Unavailable: as `carry_out`.
    """
    client_errors = ClientErrors()
    warnings: tuple[Problem, ...] = ()
    try:
        target = target_of_valid(request, client_errors)
    except ConfigError as e:
        target = target_by_name(request, client_errors)
        what = "its records in the offsets topics and its consumer group were reset by name, without asking the plugin"
        warnings = (Problem("", f"The connector's configuration is not valid, so {what}"), *e.problems)
    except Exception as e:  # noqa: BLE001 (a plugin may raise anything)
        target = target_by_name(request, client_errors)
        what = "the offsets under the connector's name were reset without it"
        cause = f"{type(e).__name__}: {e}"
        warnings = (Problem("", f"cannot load the plugin or call its alterOffsets ({cause}); {what}"),)
    return _reset(request, target, client_errors), warnings


def _reset(request: JobRequest, target: Target, client_errors: ClientErrors, *, newest: int | None = None) -> str:
    change, understood = carry_out("reset", target, lambda: _prepared(target, request, newest), client_errors)
    count = len(change.offsets)
    message = _RESET if understood else _RESET_OURS
    return f"{message.removesuffix('.')}. {count} {'position was' if count == 1 else 'positions were'} removed."


def _prepared(target: Target, request: JobRequest, newest: int | None) -> Change:
    place = target.place
    groups = Groups(place.settings) if "sink" in target.kinds else None
    if groups is not None:
        refuse_members("reset", target, groups)
    plan_fence = fence_tasks(target, request, newest)
    partitions: dict[SourcePartition, None] = {}
    records: dict[int, Sequence[PlacedRecord]] = {}
    if "source" in target.kinds:
        for number, (settings, topic) in enumerate(target.topics):
            stored = load_if_present(settings, place.connector, topic=topic)
            partitions |= dict.fromkeys(stored.forms)
            # Write to the partitions that hold the records: if partitions were added, the keys now map to others.
            records[number] = [
                PlacedRecord(p, key, None) for p, keys in sorted(stored.live.items()) for key in sorted(keys)
            ]
    if groups is None:
        return Change(plan_fence, partitions, records, lambda stored: not stored.live)
    for p in groups.committed(target.group):
        partitions[SourcePartition({"kafka_topic": p.topic, "kafka_partition": p.partition})] = None

    def delete(groups: Groups, check: Callable[[], None]) -> None:
        was = groups.delete(target.group, check)
        log.info("Consumer group '%s' %s", target.group, "was deleted" if was else "did not exist")

    return Change(plan_fence, partitions, records, lambda stored: not stored.live, delete)
