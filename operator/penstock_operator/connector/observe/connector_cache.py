"""What the operator keeps in memory of one Connector between two runs; all of it could be looked up again."""

from dataclasses import dataclass, field

from penstock_model.contracts.task_reports import Claim
from penstock_operator.connector.decide.api_failures import ApiTrouble
from penstock_operator.connector.decide.refused_pods import Refusal
from penstock_operator.connector.render.conditions import Verdict

__all__ = ["Remembered"]


@dataclass
class Remembered:
    """What is kept of one Connector, so that it need not be looked up at each run.

    Attributes:
        uid: of the Connector: another one of the same name inherits nothing.
        trouble: what the API server refuses it, or does not answer.
        looking: the last run came to no decision.
        reported: the trouble that the status reports, and the generation of the Connector at that time.
        run_by: another operator, whose pods and plans are there; empty: none, or not looked up yet.
        refusals: pods that the API server refused, by name.
        failing: names of objects that the API server did not delete or create in the last run, without refusing them.
        living: how many of its pods there are.
        namespace_ends: the API server answered that the namespace is being deleted.
        logs: of job pods that ended, by uid: what an answer in a log comes to depends on the configuration now.
        restless: how many runs in a row asked for the next run at once.
        queued: it waits for a job slot.
        crowded: too many ConfigMaps carry the labels of its plans.
        own: its uid, and the Connect name that it owned last; empty: it has owned none.
        owner_gone: the uid of a Connector that claims its name and is gone, and when it was first missed.
        asked: a claim of its name from another cluster with the same id, and when that cluster was asked whether it lives.
    """

    uid: str = ""
    trouble: ApiTrouble = field(default_factory=ApiTrouble)
    looking: bool = False
    reported: tuple[Verdict, int] | None = None
    run_by: str = ""
    refusals: dict[str, Refusal] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()
    living: int = 0
    namespace_ends: bool = False
    logs: dict[str, str] = field(default_factory=dict)
    restless: int = 0
    queued: bool = False
    crowded: bool = False
    own: tuple[str, str] = ("", "")
    owner_gone: tuple[str, float] = ("", 0.0)
    asked: tuple[Claim, float] | None = None
