"""Manifests: the YAML that kubectl takes, and what is said of one that is wrong."""

import io
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock import ConfigError
from penstock_cli.manifests.reader import Manifest, read_manifests
from penstock_model.resources.connector import Connector

HEAD = "apiVersion: penstock.dev/v1alpha1\nkind: Connector\n"
GOOD = HEAD + "metadata: {name: a}\nspec:\n  class: FileStreamSource\n"


def connector(**spec: Any) -> Connector:
    return Connector.read({"kind": "Connector", "metadata": {"name": "a"}, "spec": {"class": "X", **spec}})


def read(text: str) -> list[Connector]:
    return [m.connector for m in read_manifests(["-"], io.StringIO(text)).connectors]


def reported(manifests: Iterable[Manifest]) -> list[str]:
    """What is wrong with each of these, as the commands show it."""
    found = []
    for manifest in manifests:
        flaws = manifest.read.problems if isinstance(manifest.read, ConfigError) else manifest.read.reading.problems
        found += [f"{manifest.where}: {flaw}" for flaw in flaws]
    return found


def problems(text: str) -> list[str]:
    return reported(read_manifests(["-"], io.StringIO(text)).connectors)


@pytest.mark.parametrize(
    ("yaml", "text"),
    [
        ("x", "x"),
        ('""', ""),
        ("1", "1"),
        ("-7", "-7"),
        ("9007199254740992", "9007199254740992"),
        ("0x1F", "31"),
        ("010", "8"),
        ("1_000", "1000"),
        ("true", "true"),
        ("on", "true"),
        ("No", "false"),
        ("12:30", "12:30"),
        ("2024-01-01", "2024-01-01"),
        ("1.2.3", "1.2.3"),
        ("'1.0'", "1.0"),
        ("'99999999999999999999'", "99999999999999999999"),
    ],
)
def test_a_value_is_the_text_that_kubernetes_makes_of_it(yaml: str, text: str) -> None:
    (found,) = read(f"{GOOD}  config: {{p: {yaml}}}\n")
    assert found.spec.config == {"p": text}


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("null", "null is not allowed"),
        ("", "null is not allowed"),
        ("[a, b]", "not a list; write lists as a,b,c"),
        ("{a: b}", "is a mapping, but properties are flat; write p.a: ... instead of the nested a: ..."),
        (".nan", "must be a finite number"),
        ("1.10", "write it in quotes, because the API server changes numbers with a fraction or an exponent"),
        ("1e3", "write it in quotes, because the API server changes numbers with a fraction or an exponent"),
        ("12345678901234567890", "write it in quotes, because the API server changes integers beyond 2^53"),
        ("-9007199254740993", "write it in quotes, because the API server changes integers beyond 2^53"),
    ],
)
def test_a_value_that_is_no_text_is_refused_by_name(yaml: str, message: str) -> None:
    (problem,) = problems(f"{GOOD}  config:\n    p: {yaml}\n")
    assert "spec.config.p: " in problem
    assert message in problem


def test_the_defaults_are_those_of_the_design() -> None:
    spec = connector().spec
    assert (spec.tasks_max, spec.state, spec.config, spec.on_secret_change) == (1, "Running", {}, "Restart")
    assert (spec.restart.policy, spec.restart.max_restarts) == ("OnFailure", 10)
    assert spec.restart.backoff.initial == timedelta(seconds=10)
    assert spec.restart.backoff.max == timedelta(minutes=10)
    assert spec.restart.reset_after == timedelta(minutes=30)
    assert (spec.rollout.canary_tasks, spec.deletion.offsets) == (1, "Keep")
    assert spec.spark.start == "OnDemand"


@pytest.mark.parametrize(
    ("text", "seconds"), [("10s", 10), ("5m", 300), ("1h", 3600), ("500ms", 0.5), ("1h30m", 5400), ("1.5s", 1.5)]
)
def test_a_duration_is_written_as_go_writes_it(text: str, seconds: float) -> None:
    assert connector(restart={"resetAfter": text}).spec.restart.reset_after.total_seconds() == seconds


@pytest.mark.parametrize(
    ("metadata", "spec", "name"),
    [
        ({"name": "a"}, {}, "a"),
        ({"name": "a", "namespace": "shop"}, {}, "shop.a"),
        ({"name": "a", "namespace": "shop"}, {"connectName": "Old Name/1"}, "Old Name/1"),
    ],
)
def test_the_name_in_kafka(metadata: dict[str, str], spec: dict[str, str], name: str) -> None:
    found = Connector.read({"kind": "Connector", "metadata": metadata, "spec": {"class": "X", **spec}})
    assert found.connect_name == name


@pytest.mark.parametrize(
    ("spec", "where", "message"),
    [
        ("  clas: X\n", "spec.clas", "is not a field; did you mean class?"),
        ("  tasks.max: 2\n", "spec.tasks.max", "is not a field; did you mean tasksMax?"),
        ("  tasksMax: 0\n", "spec.tasksMax", "must be at least 1, not 0"),
        ("  state: Runing\n", "spec.state", "must be 'Running', 'Paused' or 'Stopped', not 'Runing'"),
        ("  version: 1.0\n", "spec.version", 'write "1.0" in quotes'),
        ("  restart: {backof: {}}\n", "spec.restart.backof", "did you mean backoff?"),
        ("  restart: {resetAfter: 10}\n", "spec.restart.resetAfter", "must be a duration such as"),
        ("  spark: {start: Later}\n", "spec.spark.start", "must be 'Eager' or 'OnDemand'"),
        ("  config: {connector.class: X}\n", "spec.config.connector.class", "belongs to spec.class"),
        ("  config: {tasks.max: 2}\n", "spec.config.tasks.max", "belongs to spec.tasksMax"),
        ("  config: {name: x}\n", "spec.config.name", "belongs to metadata.name"),
        (
            "  config: {connector.plugin.version: x}\n",
            "spec.config.connector.plugin.version",
            "belongs to spec.version",
        ),
    ],
)
def test_a_wrong_field_is_named_with_its_place(spec: str, where: str, message: str) -> None:
    (problem,) = problems(GOOD + spec)
    assert problem.startswith(f"standard input, document 1 (line 1), Connector a: {where}: ")
    assert message in problem


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a.b", "a" * 46, ""])
def test_a_name_must_fit_into_the_names_of_pods(name: str) -> None:
    (problem,) = problems(GOOD.replace("name: a", f'name: "{name}"'))
    assert "metadata.name: " in problem


def test_every_problem_of_every_file_is_reported_together(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(f"{GOOD}  tasksMax: x\n---\n{HEAD}metadata: {{name: b}}\nspec: {{}}\n")
    two.write_text("kind: Conector\n---\n- a\n---\na: [\n---\n" + GOOD.replace("name: a", "name: d") + "  state: On\n")
    found = reported(read_manifests([one, two, tmp_path / "none.yaml"]).connectors)
    assert [f.split(": ")[:2] for f in found] == [
        [f"{one}, document 1 (line 1), Connector a", "spec.tasksMax"],
        [f"{one}, document 2 (line 8), Connector b", "spec.class"],
        [f"{two}, document 1 (line 1), Conector without a name", "kind"],
        [f"{two}", "document 2 (line 3)"],
        [f"{two}", "line 5"],
        [f"{two}, document 4 (line 7), Connector d", "spec.state"],
        ["command line", f"{tmp_path / 'none.yaml'}"],
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: Conector\n", "Conector is unknown; did you mean Connector?"),
        ("kind: 1\n", "1 is unknown; write kind: Connector"),
        (
            "apiVersion: kafka.strimzi.io/v1\nkind: KafkaConnector\n",
            "KafkaConnector is a resource of kafka.strimzi.io; `penstock import FILE` converts it to a Connector",
        ),
        (
            "apiVersion: eventstreams.ibm.com/v1beta2\nkind: KafkaConnector\n",
            "KafkaConnector is a resource of eventstreams.ibm.com; `penstock import FILE`",
        ),
        (
            "apiVersion: platform.confluent.io/v1beta1\nkind: Connector\n",
            "Connector is a resource of platform.confluent.io; `penstock import FILE` converts it to a Connector",
        ),
        ("apiVersion: x\n", "kind: is missing"),
        ("kind: Connector\nmetadata: {name: a}\n", "apiVersion: is missing; write apiVersion: penstock.dev/v1alpha1"),
        ("a:\n\tb: 1\n", "line 2: is indented by a tab, which YAML does not allow; use spaces"),
        ("kind: Connector\nkind: Connector\n", "line 2: the key kind occurs here a second time; remove one of them"),
        ("a: {\n", "line 1: is not YAML: a bracket is not closed"),
        ("a: !!python/object:os.system x\n", "line 1: is not YAML: a '!' begins a tag"),
    ],
)
def test_what_is_no_connector_is_reported(text: str, message: str) -> None:
    assert message in problems(text)[0]


@pytest.mark.parametrize("kind", ["KafkaConnector", "CONNECTOR", "Conector", "TopicCreatonPolicy"])
def test_an_unknown_kind_of_penstock_is_reported_and_not_skipped(kind: str) -> None:
    text = f"apiVersion: penstock.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: b}}\n---\n{GOOD}"
    assert f"{kind} is unknown" in problems(text)[0]


def test_resources_of_other_kinds_are_skipped_and_counted() -> None:
    others = "kind: Namespace\n---\nkind: PluginVersion\n---\nkind: List\nitems: [{kind: Namespace}]\n---\n"
    found = read_manifests(["-"], io.StringIO(others + GOOD))
    assert [m.connector.metadata.name for m in found.connectors] == ["a"]
    assert found.note == "skipped 3 resources of other kinds: 2 Namespace, 1 PluginVersion"
    assert read_manifests(["-"], io.StringIO(GOOD)).note is None
    with pytest.raises(
        ConfigError, match=r"cannot find a Connector; .* \(skipped 1 resource of other kinds: 1 Namespace\)"
    ):
        read("kind: Namespace\n")


def test_flaw_in_a_document_of_another_kind_is_the_only_problem_reported_there() -> None:
    other = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  replicas: 2\n"
    assert problems(f"{GOOD}---\n{other}") == [
        "standard input, document 2 (line 7), Deployment web: line 12: the key replicas occurs here a second time; remove "
        "one of them"
    ]


def test_files_without_a_connector_are_refused() -> None:
    with pytest.raises(ConfigError, match="cannot find a Connector"):
        read("# nothing\n---\n")


def test_two_connectors_of_one_name_in_kafka_are_refused() -> None:
    (problem,) = problems(f"{GOOD}---\n{GOOD.replace('name: a', 'name: b')}  connectName: a\n")
    assert "document 2" in problem
    assert "has the same name in Kafka (a) as standard input, document 1" in problem


def test_several_documents_anchors_and_lists_are_read() -> None:
    item = "{apiVersion: penstock.dev/v1alpha1, kind: Connector, metadata: {name: %s}, spec: {class: X, config: %s}}"
    text = (
        f"---\n# nothing\n---\nkind: List\nitems:\n- {item % ('a', '&c {x: 1}')}\n- {item % ('b', '{<<: *c, y: 2}')}\n"
    )
    assert [c.spec.config for c in read(text)] == [{"x": "1"}, {"x": "1", "y": "2"}]


def test_metadata_and_status_of_kubernetes_are_left_untouched() -> None:
    text = (
        GOOD.replace("{name: a}", "{name: a, resourceVersion: '1', managedFields: []}") + "status: {state: Running}\n"
    )
    assert read(text)[0].metadata.name == "a"
