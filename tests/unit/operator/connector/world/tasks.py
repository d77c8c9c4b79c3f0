"""The tasks in the pods of `Cluster`, as the status topic shows them: reports, states and preparations."""

import itertools
from collections.abc import Mapping
from typing import Any

from penstock_model.connect.status_records import State, task_status
from penstock_model.contracts.incarnation import Incarnation
from penstock_model.contracts.pod_identity import PlanEpoch
from penstock_model.contracts.task_reports import Claim, Control, Report, claim_key, report_key
from penstock_operator.connector.model.plan_config_map import plan_of
from penstock_operator.connector.model.pod_status import TaskPod
from penstock_operator.kubernetes.kinds import CONFIG_MAP
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.name_ownership import owner_mark
from penstock_operator.settings import Release

from ...fake_status_topic import FakeStatusTopic
from .cluster import KEY, UID, Cluster

__all__ = ["ClusterWithTasks"]


class ClusterWithTasks(Cluster):
    """A cluster whose tasks report to a status topic in memory.

    Args:
        release: release of the operator.
        more: as for `Cluster`.
    """

    def __init__(self, release: Release, **more: Any) -> None:
        super().__init__(**more)
        self.topic = FakeStatusTopic()
        self._release = release
        self._generations = itertools.count(1)
        self._prepared: PlanEpoch | None = None

    @property
    def connect_name(self) -> str:
        return str(self.document["spec"].get("connectName") or f"{KEY.namespace}.{KEY.name}")

    @property
    def reports(self) -> dict[int, Report]:
        """The last report of each task."""
        return dict(self.topic.reports(self.connect_name))

    @reports.setter
    def reports(self, reports: Mapping[int, Report]) -> None:
        for report in reports.values():
            self.topic.put(report_key(report.connector, report.task), report.to_value())

    @property
    def control(self) -> Control | None:
        """The last control record."""
        return self.topic.control(self.connect_name)

    @property
    def recorded(self) -> PlanEpoch | None:
        """The greatest epoch that the operator can read."""
        return self.topic.epoch(self.connect_name)

    def report(self, pod: TaskPod, **more: Any) -> None:
        """A task reports that it is as it was asked to be, and writes its state."""
        report = self._report_of(pod, self.connect_name, self.control, **more)
        self.topic.put(report_key(report.connector, report.task), report.to_value())
        if not report.state:  # it starts
            return
        self.topic.put(
            *task_status(
                report.connector,
                report.task,
                State(report.state),
                worker_id=pod.name,
                generation=report.epoch.generation,
                version="1.4.2",
            )
        )

    def prepare(self, owner: str | None = None) -> PlanEpoch:
        """A job pod prepares, in time or late; `owner` None: of this Connector."""
        owner = owner_mark(KEY, UID, self._release) if owner is None else owner
        self._prepared = epoch = PlanEpoch.of_owner(next(self._generations), owner)
        record = Incarnation(0, 0, "prepared", 1, epoch.generation, epoch.plan)
        self.topic.put(*record.entry(self.connect_name, 0))
        return epoch

    def claim(self, *, uid: str = UID) -> None:
        """A claim of the Connect name stands in Kafka."""
        claim = Claim(
            connector_uid=uid,
            namespace=KEY.namespace,
            name=KEY.name,
            created=timestamp(self.now),
            operator=self._release.operator,
            cluster=self._release.cluster,
            installation=self._release.installation,
        )
        self.topic.put(claim_key(self.connect_name), claim.to_value())

    def is_superseded(self, pod: TaskPod) -> bool:
        """Whether a later preparation shuts the task out."""
        return self._prepared is not None and self._prepared.is_after(self.identity(pod.name).epoch)

    def report_news(self, pod: TaskPod, reports: Mapping[int, Report]) -> bool:
        """Let a task report; False: it has nothing new to report, or a later incarnation has reported.

        Args:
            pod: pod of the task.
            reports: the last ones.
        """
        before = reports.get(pod.task)
        if before is not None:
            state, acted = _state_of(pod, self.control)
            is_same = (before.pod_uid, before.state, before.acted) == (pod.uid, state, acted)
            if is_same or before.incarnation > pod.incarnation:
                return False
        self.report(pod)
        return True

    def _versions(self, pod: TaskPod) -> dict[str, str]:
        """The versions of its plugins, by the plan that it mounts."""
        name = next(v["configMap"]["name"] for v in self.manifest(pod.name)["spec"]["volumes"] if v["name"] == "plan")
        stored = self.server.get(CONFIG_MAP, KEY.namespace, name)
        plan = None if stored is None else plan_of(stored)
        return {"connector": "1.4.2"} if plan is None else plan.versions(pod.task)

    def _report_of(self, pod: TaskPod, connect_name: str, control: Control | None, **more: Any) -> Report:
        state, acted = _state_of(pod, control)
        values: dict[str, Any] = {
            "connector": connect_name,
            "connector_uid": UID,
            "pod_uid": pod.uid,
            "task": pod.task,
            "epoch": self.identity(pod.name).epoch,
            "incarnation": pod.incarnation,
            "state": state,
            "acted": acted,
            "since": int(self.now * 1000),
            "versions": self._versions(pod),
            "progress": "steady",
            **more,
        }
        return Report(**values)


def _state_of(pod: TaskPod, control: Control | None) -> tuple[str, int]:
    """The state that a task has by its pod and the last control record, and the generation that asked for it."""
    if control is not None and control.generation > pod.generation:
        return control.state.upper(), control.generation
    return pod.state.upper(), pod.generation
