"""A job pod whose node stood still goes on when nobody waits for it any more, and shuts out the tasks that run.

Real are the operator's process, API server, broker, job pods' work and task processes; scheduler and kubelet are played.
"""

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock_model.contracts.job import Action, JobAnswer, JobRequest, Outcome

from ..journal import Journal
from ..running import Processes
from .test_connect_states import SCRIPTED, source
from .world.answers import real
from .world.real_tasks import RealTasks
from .world.site import Site, condition
from .world.watched import Json

pytestmark = pytest.mark.slow


class Late:
    """Does job pods' work, and can do that of the last one that prepared once more."""

    def __init__(self) -> None:
        self.prepared: list[JobRequest] = []

    def __call__(self, request: JobRequest) -> JobAnswer:
        if request.prepare or request.action is Action.PREPARE:
            self.prepared.append(request)
        return real(request)

    def goes_on(self, **more: str) -> JobAnswer:
        """As the process of that pod does on a node that is there again; with another request, somebody else's."""
        answer = real(self.prepared[-1].model_copy(update=more))
        assert answer.outcome is Outcome.DONE
        assert answer.epoch is not None
        return answer


@pytest.fixture
def late() -> Late:
    return Late()


@pytest.fixture
def life(make_site: Callable[..., Site], late: Late, processes: Processes, tmp_path: Path) -> Site:
    """A site whose tasks are real, and an operator."""
    made = make_site(answers=late, workers=8, node=functools.partial(RealTasks, processes=processes, folder=tmp_path))
    made.operator().start()
    return made


def running(life: Site, journal: Journal) -> Json:
    config = source(journal, f"t-{life.namespace}", [], scripts=json.dumps([[["a"]], [["b"]]]))
    life.create("orders", **SCRIPTED, tasksMax=2, config=config)
    return life.settled("orders", seconds=120)


def test_tasks_that_their_own_late_preparation_has_shut_out_run_again(life: Site, late: Late, journal: Journal) -> None:
    before = running(life, journal)
    late.goes_on()
    generation = before["status"]["operatorState"]["plan"]["epoch"]["generation"]

    def is_anew(body: Json) -> bool:
        is_newer = body["status"]["operatorState"]["plan"]["epoch"]["generation"] > generation + 1
        return is_newer and condition(body, "Ready").startswith("True Running")

    life.until("orders", is_anew, "prepared anew", 180)
    assert len(late.prepared) == 2
    life.check()


def test_tasks_that_somebody_else_has_shut_out_stay_away_until_a_person_says_so(
    life: Site, late: Late, journal: Journal
) -> None:
    running(life, journal)
    late.goes_on(owner="another-cluster")
    found = life.until("orders", lambda b: "has started a connector with" in condition(b, "Ready"), "it says so", 120)
    assert f"the name {life.namespace}.orders in Kafka" in condition(found, "Ready")
    life.until("orders", lambda b: all(t.get("losses", 0) >= 3 for t in b["status"]["tasks"]), "tried again", 180)
    assert len(late.prepared) == 1
    life.annotate("orders", restart="now")
    life.until("orders", lambda b: condition(b, "Ready").startswith("True Running"), "runs again", 180)
    life.check()
