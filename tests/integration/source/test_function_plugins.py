"""Plugins that are functions, in tasks on a real Kafka."""

from pathlib import Path

import pytest

from ..lab import STRING, Lab
from ..running import manifest, new_name, next_life, specs, until

pytestmark = pytest.mark.slow

COUNT = 40_000


def test_a_function_reads_its_streams_exactly_once_though_its_tasks_are_killed_and_a_function_writes_them(
    lab: Lab, tmp_path: Path
) -> None:
    topic, name = lab.topic(), new_name()
    config = {
        **STRING,
        "streams": "a,b,c",
        "count": str(COUNT),
        "topic": topic,
        "transforms": "named",
        "transforms.named.type": "function_plugins:with_connector",
        "batch.max.records": "900",  # many transactions, so that the kill meets one
    }
    source = manifest(name, "function_plugins:streams", config, tasks_max=2)
    tasks = specs(source, lab.servers)
    assert len(tasks) == 2
    running = [lab.processes.task(spec) for spec in tasks]
    until(lambda: lab.records(topic, "read_uncommitted") or None, what=running[0].last_words)
    for task in running:
        task.kill()
    begun = len(lab.records(topic))
    assert begun < 3 * COUNT, "it was done before it was killed"
    for spec in tasks:
        lab.processes.task(next_life(spec))
    sink, _ = lab.start(
        manifest(new_name(), "function_plugins:lines", {**STRING, "topics": topic, "folder": str(tmp_path)})
    )
    out = tmp_path / f"{sink}-0"
    wanted = {f"{stream} {name} {number}" for stream in "abc" for number in range(COUNT)}
    until(
        lambda: out.exists() and wanted <= set(out.read_text().splitlines()),
        seconds=120,
        what=lambda: f"{len(out.read_text().splitlines()) if out.exists() else 'no'} lines",
    )
    records = lab.records(topic)
    for stream in "abc":
        values = [record.value for record in records if record.key == stream.encode()]
        assert values == [f"{name} {number}".encode() for number in range(COUNT)]
