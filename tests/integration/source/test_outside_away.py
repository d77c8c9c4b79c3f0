"""A source whose outside is away costs Kafka nothing, and goes on when it is back."""

from pathlib import Path

import pytest

from ..lab import Lab
from ..running import manifest, new_name

pytestmark = pytest.mark.slow


def takeovers(lab: Lab, name: str) -> int:
    """How often the coordinator wrote something of the connector's transactional ids: each `init_transactions` does."""
    return sum(name.encode() in (r.key or b"") for r in lab.records("__transaction_state", "read_uncommitted"))


@pytest.mark.parametrize(("polling", "what"), [(False, "plan"), (False, "read"), (True, "read")])
def test_an_unavailable_external_system_fences_nothing_and_reads_no_offsets(
    lab: Lab, tmp_path: Path, polling: bool, what: str
) -> None:
    topic, away = lab.topic(), tmp_path / what
    away.touch()
    resource = manifest(
        new_name(),
        "outside_sources:Outside",
        {"value.converter": "StringConverter"},
        journal=lab.journal.path,
        topic=topic,
        folder=tmp_path,
        polling=polling,
    )
    name, task = lab.start(resource)
    lab.journal.count("away", 1)
    before = takeovers(lab, name)
    lab.journal.count("away", 5)
    assert takeovers(lab, name) == before
    assert "the outside is away" in (task.trouble or "")
    away.unlink()
    lab.journal.count("commit", 3 if not polling else 1)
    task.stop()
    assert lab.values(topic) == ["0", "1", "2"]
