"""Observed pods of a Connector. Immutable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock_model.contracts.job import JobAnswer
from penstock_operator.connector.model.pod_status import ExecutorPod, JobPod, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal

__all__ = ["ObservedPods"]


@dataclass(frozen=True, slots=True)
class ObservedPods:
    """Pods of a Connector that this operator created, with their answers and refusals.

    Attributes:
        tasks: task pods.
        jobs: job pods for planning, preparing, and resetting offsets when the Connector is deleted.
        offsets_jobs: job pods for offsets actions that annotations request.
        executors: pods of the Spark executors of its tasks.
        spark_secrets: by task pod uid, whether the Secret that the pod shares with its executors exists; absent: unknown,
            since the operator does not read it.
        foreign: names of pods of a deleted Connector with the same name.
        answers: by pod name, answers of ended job pods; None: no answer could be read.
        unready_causes: by task pod uid, why its readiness probe fails again after it has succeeded.
        refusals: by name, refusals of pods and other objects by the API server.
        other_operator: name of another operator that has pods or plans of this Connector; empty: none.
        without_room: pod of another Connector for which executors of the namespace make room in a quota; empty: none.
        gives_room: whether executors of this Connector make room for it.
    """

    tasks: Sequence[TaskPod] = ()
    jobs: Sequence[JobPod] = ()
    offsets_jobs: Sequence[JobPod] = ()
    executors: Sequence[ExecutorPod] = ()
    spark_secrets: Mapping[str, bool] = field(default_factory=dict)
    foreign: Sequence[str] = ()
    answers: Mapping[str, JobAnswer | None] = field(default_factory=dict)
    unready_causes: Mapping[str, str] = field(default_factory=dict)
    refusals: Mapping[str, Refusal] = field(default_factory=dict)
    other_operator: str = ""
    without_room: str = ""
    gives_room: bool = False
