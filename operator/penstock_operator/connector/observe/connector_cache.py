"""In-memory state of one Connector between two runs; all of it could be looked up again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock_model.contracts.task_reports import Claim
from penstock_operator.connector.model.api_failures import ApiTrouble
from penstock_operator.connector.model.refused_pods import Refusal
from penstock_operator.connector.model.verdict import Verdict

__all__ = ["CachedConnector"]


@dataclass
class CachedConnector:
    """Cached state of one Connector, so that it need not be looked up at each run.

    Attributes:
        uid: UID of the Connector: another one of the same name inherits nothing.
        trouble: refusals and missing answers of the API server.
        undecided: the last run came to no decision.
        reported_trouble: the trouble that the status reports, and the generation of the Connector at that time.
        run_by: another operator, whose pods and plans exist; empty: none, or not looked up yet.
        refusals: pods that the API server refused, by name.
        spark_secrets: whether the Secret exists that a task's pod shares with its executors, by the pod's uid.
        failed_writes: names of objects that the API server did not delete or create in the last run, without refusing them.
        pod_count: number of its pods.
        namespace_ends: the API server answered that the namespace is being deleted.
        logs: logs of job pods that ended, by uid: how an answer in a log is read depends on the current configuration.
        pod_warnings: Events about its pods, by uid, and when they were listed.
        pod_causes: reason and note of the Event that explains a pod, by uid.
        immediate_runs: how many runs in a row requested the next run immediately.
        queued: it waits for a job slot.
        has_too_many_plans: too many ConfigMaps carry the labels of its plans.
        owned_name: its uid, and the Connect name that it owned last; empty: it has owned none.
        owner_gone: the uid of a deleted Connector that claims its name, and when it was first missed.
        twin_asked: a claim of its name from another cluster with the same id, and when that cluster was queried for it.
    """

    uid: str = ""
    trouble: ApiTrouble = field(default_factory=ApiTrouble)
    undecided: bool = False
    reported_trouble: tuple[Verdict, int] | None = None
    run_by: str = ""
    refusals: dict[str, Refusal] = field(default_factory=dict)
    spark_secrets: dict[str, bool] = field(default_factory=dict)
    failed_writes: frozenset[str] = frozenset()
    pod_count: int = 0
    namespace_ends: bool = False
    logs: dict[str, str] = field(default_factory=dict)
    pod_warnings: tuple[float, Mapping[str, Sequence[Mapping[str, Any]]]] = field(default_factory=lambda: (0.0, {}))
    pod_causes: dict[str, tuple[str, str]] = field(default_factory=dict)
    immediate_runs: int = 0
    queued: bool = False
    has_too_many_plans: bool = False
    owned_name: tuple[str, str] = ("", "")
    owner_gone: tuple[str, float] = ("", 0.0)
    twin_asked: tuple[Claim, float] | None = None
