"""A group that somebody else has joined: a sink of that group writes nothing beside them."""

import pytest

from ..lab import Lab, failed
from ..running import new_name

pytestmark = pytest.mark.slow

JOINED = "has members: somebody-else at 127.0.0.1. Another client runs this connector"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_sink_whose_group_has_members_that_committed_nothing_says_who_they_are_and_writes_nothing(
    lab: Lab, protocol: str
) -> None:
    topic, name = lab.topic(), new_name("joined")
    lab.produce(topic, "a")
    resource = lab.sink_manifest(topic, name=name)
    with lab.member(f"connect-{name}", topic, protocol):
        assert f"group 'connect-{name}' {JOINED}" in failed(lab.processes.task(lab.spec(resource)))
        assert lab.journal.of("open", "put") == []
        assert lab.committed(name, topic) is None
    lab.processes.task(lab.spec(resource))  # they have left
    assert lab.journal.values(1) == ["a"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_running_sink_whose_group_somebody_joins_fails_at_its_next_commit_and_says_why(
    lab: Lab, protocol: str
) -> None:
    topic, name = lab.topic(), new_name("joined")
    lab.produce(topic, "a")
    _, task = lab.sink(topic, name=name)
    lab.wait_committed(name, topic, 1)
    with lab.member(f"connect-{name}", topic, protocol):
        lab.produce(topic, "b")
        assert f"offsets to group 'connect-{name}': the group has members, so another client runs" in failed(task)
        assert lab.committed(name, topic) == 1
