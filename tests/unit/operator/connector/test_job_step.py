"""What is told of a short pod that did not answer."""

import pytest

from penstock.job import Action
from penstock_operator.connector.job_step import JobFacts, step
from penstock_operator.connector.memory import JobMemory
from penstock_operator.connector.pod_facts import Ended, JobPod, Phase


@pytest.mark.parametrize(
    ("started", "hindrance", "told"),
    [
        (None, None, "the short pod's container had not started in time; where an image takes long to be pulled, raise"),
        (
            None, ("ErrImagePull", "no such host"),
            "the short pod's container had not started in time: ErrImagePull: no such host; where an image",
        ),
        (1_005.0, None, "the short pod did not end in time; a plugin's validation may wait for a system that is away"),
    ],
)  # fmt: skip
def test_a_short_pod_that_ran_out_of_time_is_told_by_whether_it_ever_started(
    started: float | None, hindrance: tuple[str, str] | None, told: str
) -> None:
    ended = Ended(
        code=None, reason="DeadlineExceeded", message="Pod was active on the node too long", word=None, at=1_120.0
    )
    pod = JobPod(
        name="in-plan-1", uid="u", owner="o", role="job", phase=Phase.ENDED, created=1_000.0, started=started, ended=ended,
        action="Plan", key="1", hindrance=hindrance,
    )  # fmt: skip
    facts = JobFacts(
        action=Action.PLAN, key="1", name="in-plan-1", pods=(pod,), answers={}, memory=JobMemory("1"), slot=True,
        refusal=None, now=1_121.0,
    )  # fmt: skip
    found = step(facts)
    assert (found.reason, found.delete) == ("DeadlineExceeded", (pod,))
    assert found.message.startswith(told)
