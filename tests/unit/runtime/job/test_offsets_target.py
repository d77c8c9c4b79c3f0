"""Targets of actions on offsets: topics, group and plugin of a connector."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock import ConnectError, Offset, RetriableError, SourcePartition
from penstock_model.contracts.job import Action, JobRequest
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_plugins.connectors.datagen.source import Datagen
from penstock_runtime.fencing.plan_fence import PlanFence
from penstock_runtime.job.offsets_change import Change, target_to_ask
from penstock_runtime.job.offsets_target import Target, target_by_name, target_of_valid
from penstock_runtime.job.resetting import reset
from penstock_runtime.job.with_kafka import ClientErrors, OffsetsRefused

ELSEWHERE = {"producer.override.bootstrap.servers": "elsewhere:9092"}


@pytest.mark.parametrize(
    ("config", "worker", "topics"),
    [
        ({}, {}, ["connect-offsets"]),
        ({"offsets.storage.topic": "own"}, {}, ["connect-offsets", "own"]),
        ({"offsets.storage.topic": "own", "delivery.guarantee": "at-least-once"}, {}, ["connect-offsets", "own"]),
        (ELSEWHERE, {}, ["connect-offsets"] * 2),
        ({**ELSEWHERE, "delivery.guarantee": "at-least-once"}, {}, ["connect-offsets"]),
        (ELSEWHERE, {"exactly.once.source.support": "disabled"}, ["connect-offsets"]),
    ],
)
def test_topic_with_the_workers_name_on_another_cluster_counts_only_with_exactly_once(
    config: dict[str, str], worker: dict[str, str], topics: list[str]
) -> None:
    request = JobRequest(
        action=Action.LIST_OFFSETS,
        id="",
        worker={"bootstrap.servers": "kafka:9092", **worker},
        connector={"metadata": {"name": "orders", "namespace": "shop"}, "spec": {"class": "X", "config": config}},
    )
    target = target_by_name(request, ClientErrors())
    assert [topic for _, topic in target.topics] == topics


@pytest.mark.parametrize(("guarantee", "count"), [("exactly-once", 2), ("at-least-once", 1)])
def test_topic_on_another_cluster_counts_likewise_for_a_valid_connector(guarantee: str, count: int) -> None:
    config = {**ELSEWHERE, "topic": "t", "delivery.guarantee": guarantee}
    request = JobRequest(
        action=Action.OFFSETS,
        id="",
        worker={"bootstrap.servers": "kafka:9092"},
        connector={"metadata": {"name": "orders", "namespace": "shop"}, "spec": {"class": "Datagen", "config": config}},
    )
    target = target_of_valid(request, ClientErrors())
    assert [topic for _, topic in target.topics] == ["connect-offsets"] * count


@pytest.mark.parametrize("policy", ["None", "Allowlist"])
def test_a_reset_by_name_does_not_follow_overrides_that_the_policy_forbids(policy: str) -> None:
    config = {
        "consumer.override.group.id": "connect-other",
        "admin.override.bootstrap.servers": "evil:9092",
        **ELSEWHERE,
    }
    worker = {"bootstrap.servers": "kafka:9092", "connector.client.config.override.policy": policy}
    request = JobRequest(
        action=Action.RESET_OFFSETS,
        id="",
        worker=worker,
        connector={"metadata": {"name": "orders", "namespace": "shop"}, "spec": {"class": "X", "config": config}},
    )
    target = target_by_name(request, ClientErrors())
    assert target.group == "connect-shop.orders"
    settings = target.place.settings
    assert {settings.bootstrap, settings.admin["bootstrap.servers"], settings.consumer["bootstrap.servers"]} == {
        "kafka:9092"
    }


class OfTables(Datagen):
    """Source that reaches another system to split its work."""

    def task_configs(self, config: Any, properties: Mapping[str, str], max_tasks: int) -> Sequence[Mapping[str, str]]:
        raise RetriableError("the database is unavailable")

    def alter_offsets(self, config: Any, offsets: Mapping[SourcePartition, Offset | None]) -> bool:
        raise ConnectError(f"asked about {config.topic}")


def test_offsets_are_altered_with_the_connectors_configuration_while_its_system_is_unavailable() -> None:
    request = JobRequest(
        action=Action.OFFSETS,
        id="",
        worker={"bootstrap.servers": "kafka:9092"},
        connector={
            "metadata": {"name": "orders", "namespace": "shop"},
            "spec": {"class": f"{__name__}:OfTables", "tasksMax": 3, "config": {"topic": "t"}},
        },
    )
    target = target_of_valid(request, ClientErrors())
    assert target.ask is not None
    with pytest.raises(ConnectError, match="asked about t"):
        target.ask({})


def broken(action: Action, monkeypatch: pytest.MonkeyPatch) -> JobRequest:
    """Request of a valid connector whose plugin fails when it is loaded again to be asked."""

    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("no licence")

    monkeypatch.setattr("penstock_runtime.job.offsets_target.task_context", fails)
    return JobRequest(
        action=action,
        id="",
        worker={"bootstrap.servers": "kafka:9092"},
        connector={
            "metadata": {"name": "orders", "namespace": "shop"},
            "spec": {"class": "Datagen", "config": {"topic": "t"}},
        },
    )


def test_broken_plugin_of_a_connector_that_is_not_deleted_keeps_its_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    request = broken(Action.OFFSETS, monkeypatch)
    with pytest.raises(OffsetsRefused) as refused:
        target_to_ask("reset", request, ClientErrors())
    assert str(refused.value) == (
        "cannot load the plugin or call its alterOffsets (RuntimeError: no licence); nothing was reset"
    )


def test_broken_plugin_of_a_deleted_connector_does_not_keep_its_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    request = broken(Action.RESET_OFFSETS, monkeypatch)
    reset_targets: list[Target] = []

    def carry_out(verb: str, target: Target, *_: Any) -> tuple[Change, bool]:
        reset_targets.append(target)
        return Change(PlanFence(target.place, PlanEpoch(generation=1, plan="p")), {}), False

    monkeypatch.setattr("penstock_runtime.job.resetting.carry_out", carry_out)
    _, (warning,) = reset(request)
    assert str(warning) == (
        "cannot load the plugin or call its alterOffsets (RuntimeError: no licence); the offsets under the connector's name "
        "were reset without it"
    )
    assert [target.place.connector for target in reset_targets] == ["shop.orders"]
