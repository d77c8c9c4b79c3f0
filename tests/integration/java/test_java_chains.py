"""Java transforms and predicates in the chains of running connectors, of Java and of Python."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from ..checking import assert_exactly_once
from ..reading import Reader, create, produce
from ..running import manifest, new_name, until
from .probe_plugin import (
    CONVERTER,
    PREDICATE,
    SINK,
    SOURCE,
    TRANSFORM,
    Probe,
    ProbeLab,
    await_jvm,
    host_jvms,
    probe,
    probe_lab,
    sink_lab,
)
from .test_java_data import SETS, json_converters, shown
from .test_java_errant_records import queue, values

__all__ = ["Probe", "probe", "probe_lab", "sink_lab"]

UPPER: Final = {"transforms.up.type": TRANSFORM, "transforms.up.does": "upper"}


def moved_to(topic: str) -> dict[str, str]:
    """A transform of Penstock that sets the topic."""
    return {
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": ".*",
        "transforms.route.replacement": topic,
    }


def test_a_python_sink_uses_a_java_transform_and_buries_what_fails_there(
    probe_lab: ProbeLab, topic: str, tmp_path: Path
) -> None:
    create(probe_lab.servers, topic)
    produce(probe_lab.servers, topic, values(20, 5, 15))
    out = tmp_path / "lines"
    config = {
        "topics": topic,
        "file": str(out),
        "value.converter": "StringConverter",
        "transforms": "check,up",
        "transforms.check.type": "ProbeTransform",
        "transforms.check.does": "throw",
        "transforms.check.on": "bad",
        **UPPER,
        "transforms.up.predicate": "even",
        "predicates": "even",
        "predicates.even.type": PREDICATE,
        "predicates.even.pattern": "[02468]$",
        **queue(topic),
    }
    plugins = ("--plugin-path", str(probe_lab.probe.folder))
    run = probe_lab.processes.run([manifest(probe_lab.name, "FileStreamSink", config)], probe_lab.servers, *plugins)
    with Reader(probe_lab.servers, f"{topic}-dlq") as reader:
        letters = reader.count(2)
    lines = [f"good {n}".upper() if n % 2 == 0 else f"good {n}" for n in range(20) if n not in (5, 15)]
    until(lambda: out.exists() and out.read_text().splitlines() == lines, what=run.last_words)
    run.stop()
    assert not run.tree()
    assert [r.value for r in letters] == [b"bad 5", b"bad 15"]
    headers = {name: value for name, value in letters[0].headers if value is not None}
    assert headers["__connect.errors.stage"] == b"TRANSFORMATION"
    assert headers["__connect.errors.class.name"] == TRANSFORM.encode()
    assert headers["__connect.errors.exception.class.name"] == b"org.apache.kafka.connect.errors.DataException"
    assert headers["__connect.errors.exception.message"] == b"this record is bad"
    assert b"at dev.penstock.probe.ProbeTransform.apply" in headers["__connect.errors.exception.stacktrace"]


@pytest.mark.slow
@pytest.mark.parametrize("connector", [SOURCE, SINK])
def test_the_java_plugins_at_a_java_connector_are_closed_when_its_task_stops(
    probe_lab: ProbeLab, topic: str, connector: str
) -> None:
    probe_lab.connector = connector
    create(probe_lab.servers, topic)
    journal = probe_lab.folder / "chain"
    spec = probe_lab.spec(
        topic,
        {
            "value.converter": CONVERTER,
            "value.converter.journal": str(journal),
            "transforms": "up",
            "transforms.up.journal": str(journal),
            **UPPER,
        },
    )
    journal.unlink(missing_ok=True)  # what the plan has closed
    task = probe_lab.processes.task(spec)
    task.await_state("RUNNING")
    until(lambda: any(line.startswith("start") for line in probe_lab.journal), what=task.last_words)
    task.stop()
    assert probe_lab.journal[-1] == "stop"
    assert sorted(line for line in journal.read_text().splitlines() if "close" in line) == ["close", "close value"]
    assert not task.tree()


@pytest.mark.slow
@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("data", SETS)
def test_every_kind_of_data_passes_through_a_java_transform(
    probe_lab: ProbeLab, topic: str, data: str, schemas: bool
) -> None:
    expected = probe_lab.expected(data, topic, schemas=schemas)
    topics = sorted({line[0] for line in expected})
    for each in topics:
        create(probe_lab.servers, each)
    chain = {"transforms": "x", "transforms.x.type": TRANSFORM, "transforms.x.does": "nothing"}
    config = {"data": data, **json_converters(schemas=schemas), **chain}
    run = probe_lab.run(topic, config, restart={"policy": "Never"})
    for each in topics:
        with probe_lab.reader(each) as reader:
            reader.count(sum(line[0] == each for line in expected), seconds=30)
            assert [shown(each, r) for r in reader.to_end()] == [line for line in expected if line[0] == each]
    run.stop()


@pytest.mark.slow
def test_a_backlog_of_a_python_source_passes_through_java_in_the_driver(probe_lab: ProbeLab, topic: str) -> None:
    """Spark's workers have no JVM of plugins."""
    create(probe_lab.servers, topic)
    lines = probe_lab.folder / "lines"
    lines.write_text("".join(f"0:{n}\n" for n in range(200_000)))
    chain = {"transforms": "x", "transforms.x.type": TRANSFORM, "transforms.x.does": "nothing"}
    config = {"file": str(lines), "topic": topic, "value.converter": "StringConverter", **chain}
    source = manifest(probe_lab.name, "FileStreamSource", config)
    plugins = ("--plugin-path", str(probe_lab.probe.folder))
    run = probe_lab.processes.run([source], probe_lab.servers, *plugins)
    with probe_lab.reader(topic) as reader:
        reader.count(200_000)
        assert len(host_jvms(run)) == 1
        run.stop()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 200_000}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kills_of_the_jvm_of_a_chain_lose_and_double_nothing(probe_lab: ProbeLab, topic: str) -> None:
    create(probe_lab.servers, topic)
    lines = probe_lab.folder / "lines"
    lines.write_text("".join(f"0:{n}\n" for n in range(100)))
    chain = {"transforms": "x", "transforms.x.type": TRANSFORM, "transforms.x.does": "nothing"}
    config = {"file": str(lines), "topic": topic, "value.converter": "StringConverter", **chain}
    restart = {"backoff": {"initial": "100ms", "max": "1s"}}
    source = manifest(probe_lab.name, "FileStreamSource", config, restart=restart)
    plugins = ("--plugin-path", str(probe_lab.probe.folder))
    run = probe_lab.processes.run([source], probe_lab.servers, *plugins)
    killed = None
    with probe_lab.reader(topic) as reader:
        for written in (100, 200, 300):
            reader.count(written)
            jvm = await_jvm(run, but=killed)
            killed = jvm.pid
            jvm.kill()
            with lines.open("a") as file:
                file.writelines(f"0:{n}\n" for n in range(written, written + 100))
        reader.count(400)
        run.stop()
        assert assert_exactly_once(reader.to_end(), 1) == {0: 400}
    assert "its JVM was killed by signal 9" in run.log_text()


@pytest.mark.slow
def test_a_java_transform_changes_topics_for_a_java_sink(sink_lab: ProbeLab, topic: str) -> None:
    create(sink_lab.servers, topic)
    produce(sink_lab.servers, topic, values(3))
    chain = {
        "transforms": "route,moved,header",
        **moved_to("routed"),
        "transforms.moved.type": TRANSFORM,
        "transforms.moved.does": "topic",
        "transforms.header.type": f"{TRANSFORM}$Value",
        "transforms.header.does": "header",
    }
    run = sink_lab.run(topic, chain)
    until(lambda: len(sink_lab.out) == 3, what=run.last_words)
    run.stop()
    assert sink_lab.committed(topic) == 3


def test_a_name_means_penstocks_own_plugin_first(probe_lab: ProbeLab, tmp_path: Path) -> None:
    """Its transforms are faster than those that some archives bring along."""
    config = {
        "topics": "t",
        "file": "f",
        "transforms": "a,b,c",
        "transforms.a.type": "ProbeTransform$Value",
        "transforms.a.does": "upper",
        "transforms.b.type": "Filter",
        "transforms.c.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.c.regex": "a",
        "transforms.c.replacement": "b",
    }
    assert validated(probe_lab, tmp_path, config) == (0, "")
    wrong = {
        "transforms": "a,b,c,short,full,kind",
        "transforms.a.most": "10",
        "transforms.c.regex": "(",
        "transforms.short.type": "ProbeTransform$Key",
        "transforms.full.type": f"{TRANSFORM}$Key",
        "transforms.kind.type": PREDICATE,
    }
    code, text = validated(probe_lab, tmp_path, {**config, **wrong})
    assert code == 2
    for name in ("ProbeTransform$Key", f"{TRANSFORM}$Key"):
        assert f"Class {name} could not be found" in text
    assert f"Class {PREDICATE} does not implement the Transform interface; it is a Predicate" in text
    assert "transforms.a.most" in text
    assert "transforms.c.regex" in text


def validated(lab: ProbeLab, folder: Path, config: dict[str, Any]) -> tuple[int, str]:
    file = folder / "manifest.yaml"
    file.write_text(json.dumps(manifest(new_name(), "FileStreamSink", config)))
    done = lab.command("validate", str(file), "--plugin-path", str(lab.probe.folder))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


def test_samples_show_what_java_transforms_make_of_records(probe_lab: ProbeLab, tmp_path: Path) -> None:
    config = {"topics": "t", "file": "f", "transforms": "check,up", **UPPER}
    config |= {"transforms.check.type": TRANSFORM, "transforms.check.does": "throw", "transforms.check.on": "bad"}
    file, samples = tmp_path / "manifest.yaml", tmp_path / "samples.jsonl"
    file.write_text(json.dumps(manifest("tried", "FileStreamSink", config)))
    samples.write_text('{"value": "good"}\n{"value": "bad"}\n')
    path = str(probe_lab.probe.folder)
    done = probe_lab.command("transform", str(file), "--records", str(samples), "--plugin-path", path)
    assert "GOOD" in done.stdout, done.stdout + done.stderr
    assert "this record is bad" in done.stdout + done.stderr


@pytest.mark.slow
def test_predicates_and_converters_may_have_other_versions_too(probe_lab: ProbeLab, topic: str, tmp_path: Path) -> None:
    for made in ("1.0.0", "2.0.0"):
        probe_lab.probe.jar(tmp_path / "plugins" / f"probe-{made}" / "probe.jar", made)
    create(probe_lab.servers, topic)
    config: dict[str, Any] = {"data": "version", "transforms": "a,b", "predicates": "old,new"}
    for alias, transform, version, on in (("old", "a", "1.0.0", "1.0.0"), ("new", "b", "[1,3)", "2.0.0")):
        config |= {
            f"predicates.{alias}.type": PREDICATE,
            f"predicates.{alias}.plugin.version": version,
            f"predicates.{alias}.version": "true",
            f"predicates.{alias}.pattern": on,
            f"transforms.{transform}.type": "org.apache.kafka.connect.transforms.InsertHeader",
            f"transforms.{transform}.header": alias,
            f"transforms.{transform}.value.literal": "held",
            f"transforms.{transform}.predicate": alias,
        }
    name = "value.converter"
    config |= {name: CONVERTER, f"{name}.plugin.version": "[2,3)", f"{name}.version": "true"}
    run = probe_lab.run(topic, config, path=tmp_path / "plugins", version="1.0.0")
    with probe_lab.reader(topic) as reader:
        (record,) = reader.count(1)
    run.stop()
    assert record.value == f"2.0.0:{topic}:1.0.0".encode()
    assert [name for name, _ in record.headers] == ["old", "new"]


@pytest.mark.slow
def test_each_place_may_have_another_version_of_a_java_plugin(probe_lab: ProbeLab, topic: str, tmp_path: Path) -> None:
    """KIP-891: a class loader for each."""
    for made in ("1.0.0", "1.5.0", "2.0.0"):
        probe_lab.probe.jar(tmp_path / "plugins" / f"probe-{made}" / "probe.jar", made)
    create(probe_lab.servers, topic)
    places: dict[str, str | None] = {"old": "1.0.0", "middle": "[1.1,2)", "latest": None}
    config: dict[str, Any] = {"data": "version", "transforms": ",".join(places)}
    # Each writes its version over the value that it expects of the one before it.
    for (place, version), on in zip(places.items(), ["1.5.0", "1.0.0", "1.5.0"], strict=True):
        config |= {
            f"transforms.{place}.type": TRANSFORM,
            f"transforms.{place}.does": "version",
            f"transforms.{place}.on": on,
        }
        if version is not None:
            config[f"transforms.{place}.plugin.version"] = version
    run = probe_lab.run(topic, config, path=tmp_path / "plugins", version="1.5.0")
    with probe_lab.reader(topic) as reader:
        assert [r.value for r in reader.count(1)] == [b"2.0.0"]
    run.stop()
