"""Scenarios of area config: what is refused before anything starts, and what variables become."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError
from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.resources.plugin_offers import offered
from penstock_model.resources.version_selection import resolve_plugins

from ..lab import Lab
from ..running import Processes


def problems(lab: Lab, resource: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ConfigError) as e:
        lab.spec(resource)
    return [(p.property, p.message) for p in e.value.problems]


@pytest.mark.scenario("config-negate-alone")
def test_negate_needs_a_predicate(lab: Lab) -> None:
    chain = {"transforms": "a", "transforms.a.type": "Filter", "transforms.a.negate": "true"}
    ((_, message),) = problems(lab, lab.source_manifest([], "t", **chain))
    assert message == (
        "Config 'transforms.a.negate' was provided but there is no config 'transforms.a.predicate' defining a predicate to "
        "be negated."
    )


@pytest.mark.scenario("config-unknown-predicate")
def test_an_unknown_predicate_is_refused_where_it_is_named(lab: Lab) -> None:
    chain = {"transforms": "f", "transforms.f.type": "Filter", "transforms.f.predicate": "nope"}
    ((name, message),) = problems(lab, lab.source_manifest([], "t", **chain))
    assert name == "transforms.f.predicate"
    assert "there is no predicate nope" in message


@pytest.mark.scenario("config-sink-topics-rules")
@pytest.mark.parametrize(
    ("config", "message", "names"),
    [
        ({}, "Must configure one of topics or topics.regex", ["topics", "topics.regex"]),
        (
            {"topics": "a", "topics.regex": "b"},
            "topics and topics.regex are mutually exclusive options, but both are set.",
            ["topics", "topics.regex"],
        ),
        (
            {"topics": "a, dlq", "errors.deadletterqueue.topic.name": "dlq"},
            "The DLQ topic 'dlq' may not be included in the list of topics ('topics=[a, dlq]') consumed by the connector",
            ["topics"],
        ),
        ({"topics.regex": "d("}, "Invalid value d( for configuration topics.regex: Invalid regex: ", ["topics.regex"]),
    ],
)
def test_a_sink_says_what_it_reads_in_exactly_one_way(
    lab: Lab, config: dict[str, str], message: str, names: list[str]
) -> None:
    resource = lab.sink_manifest("a")
    del resource["spec"]["config"]["topics"]
    resource["spec"]["config"].update(config)
    found = problems(lab, resource)
    assert sorted(n for n, _ in found) == names
    assert all(m.startswith(message) for _, m in found)


@pytest.mark.scenario("config-providers")
def test_a_plugin_sees_values_and_nobody_else_does(
    lab: Lab, processes: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_ENV", "from-the-environment")
    file = tmp_path / "secrets.properties"
    file.write_text("pw=hunter2\nuser=bob\n")
    variables = {"pw": f"${{file:{file}:pw}}", "x.env": "${env:SECRET_ENV}", "x.two": f"a-${{file:{file}:user}}-b"}
    resource = lab.source_manifest([["v"], {"raise": "fatal", "message": "{pw} is wrong"}], lab.topic(), **variables)
    spec = lab.spec(resource)
    assert {k: spec.config[k] for k in variables} == variables
    task = processes.task(spec)
    (start,) = lab.journal.count("start")
    assert start["configured"] == ["hunter2", "from-the-environment", "a-bob-b"]
    assert task.await_exit() == 1
    (status,) = [s for s in lab.status(f"status-task-{spec.id}") if s["state"] == "FAILED"]
    for told in (task.log_text(), json.dumps(task.events), status["trace"], spec.to_json()):
        assert "hunter2" not in told
    assert f"{variables['pw']} is wrong" in status["trace"]


@pytest.mark.scenario("config-providers")
def test_what_cannot_be_resolved_is_refused_and_not_taken_for_text(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "secrets.properties"
    file.write_text("pw=hunter2\n")
    found = problems(lab, lab.source_manifest([], "t", pw=f"${{file:{file}:zzz}}", **{"x.env": "${nope:a:b}"}))
    assert [n for n, _ in found] == ["pw", "x.env"]
    assert f"${{file:{file}:zzz}} cannot be resolved" in found[0][1]
    assert "there is no provider nope" in found[1][1]


@pytest.mark.scenario("config-version-range")
@pytest.mark.parametrize(
    ("wanted", "runs"),
    [("[1.0,2.0)", "1.1.0"), ("1.0", "1.0.0"), ("[1.0.0],[2.0.0]", "2.0.0"), ("3.0", None)],
)
def test_the_newest_version_in_the_range_is_chosen(wanted: str, runs: str | None) -> None:
    """Kafka Connect tells the problem of the class, too; here it is told once, of the version."""
    image, classes = f"r.example/x@sha256:{'0' * 64}", [{"alias": "Clock", "type": "source"}]
    versions = offered(
        {"metadata": {"name": v}, "spec": {"plugin": "acme", "version": v, "image": image, "classes": classes}}
        for v in ("1.0.0", "1.1.0", "2.0.0")
    )
    found = resolve_plugins(asked_plugins("Clock", wanted, {}, {}), versions)
    assert [m.version for m in found.mounts] == ([] if runs is None else [runs])
    assert [str(p) for p in found.problems] == (
        [
            "spec.version: Plugin Clock not found that matches the version range [3.0,3.0], available versions: "
            "[1.0.0, 1.1.0, 2.0.0] (default: 2.0.0; recommended: 2.0.0, 1.1.0, 1.0.0)"
        ]
        if runs is None
        else []
    )
