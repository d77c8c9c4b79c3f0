"""Pods of a Connector, as they are observed. Frozen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock_model.contracts.job import JobAnswer
from penstock_operator.connector.model.pod_status import ExecutorPod, JobPod, TaskPod
from penstock_operator.connector.model.refused_pods import Refusal

__all__ = ["ObservedPods"]


@dataclass(frozen=True, slots=True)
class ObservedPods:
    """Pods of a Connector that this operator made, with their answers and refusals.

    Attributes:
        tasks: pods of tasks.
        jobs: job pods that plan, prepare, or reset offsets for the deletion of the Connector.
        offsets_jobs: job pods that work on offsets as annotations request.
        executors: pods of the Spark executors of its tasks.
        spark_secrets: whether the Secret exists that a task's pod shares with its executors, by the pod's uid; absent: that
            is not known, since the operator does not read it.
        foreign: names of pods of a deleted Connector that had the same name.
        answers: answers of job pods that ended, by pod name; None: none could be read.
        unready_causes: why pods of tasks fail their readiness probe after it has passed, by uid.
        refusals: pods and other objects that the API server refused, by name.
        other_operator: another operator, whose pods and plans exist; empty: none.
        without_room: pod of another Connector for which executors of the namespace make room in a quota; empty: none.
        gives_room: whether it is the executors of this Connector that make room for it.
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
