"""In-memory state of one Connector between runs, all of which can be looked up again."""

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
    """Cached state of one Connector, which need not be looked up at each run.

    Attributes:
        uid: UID of the Connector; the state is not used for another one of the same name.
        trouble: refusals and missing answers of the API server.
        undecided: whether the last run ended without a decision.
        reported_trouble: trouble in the status, and the generation of the Connector at that time; None: none.
        run_by: another operator that has pods or plans of this Connector; empty: none, or not looked up yet.
        refusals: by name, refusals of pods by the API server.
        spark_secrets: by task pod uid, whether the Secret that the pod shares with its executors exists.
        failed_writes: names of objects whose deletion or creation failed in the last run without a refusal.
        pod_count: number of its pods.
        namespace_ends: whether the API server reported that the namespace is being deleted.
        logs: by uid, logs of ended job pods, not parsed, since the parsing depends on the current configuration.
        pod_warnings: when Events about its pods were listed, and these Events by pod uid.
        pod_causes: by pod uid, reason and note of the Event that explains the pod's state.
        immediate_runs: number of consecutive runs that requested the next run immediately.
        queued: whether it waits for a job slot.
        has_too_many_plans: whether too many ConfigMaps have the labels of its plans.
        owned_name: its uid, and the Connect name that it owned last; empty: it has owned none.
        owner_gone: uid of a deleted Connector that claims its name, and when it was first found missing.
        twin_asked: claim of its name from another cluster with the same id, and when that cluster was queried.
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
