"""`penstock import` as a command: its options, its files, and the REST API of a worker."""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.errors import ConfigError
from penstock_cli.migration.manifest import Imported
from penstock_cli.migration.secret_files import keep_secrets

from ..command import Done
from ..command import penstock as command

CONNECTOR = {"name": "in", "config": {"connector.class": "Datagen", "topic": "t", "db.password": "hunter22"}}


def penstock(*arguments: str | Path) -> Done:
    return command("import", *arguments)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "connectors.json"
    made.write_text(json.dumps([CONNECTOR, {**CONNECTOR, "name": "b"}]))
    return made


def test_manifests_go_to_standard_output_and_the_report_to_standard_error_and_secrets_to_files(
    file: Path, tmp_path: Path
) -> None:
    done = penstock(file, "--connector", "in", "--namespace", "shop", "--secrets-to", tmp_path / "s")
    assert done.returncode == 0, done.stderr
    (manifest,) = yaml.safe_load_all(done.stdout)
    assert (manifest["metadata"], manifest["spec"]["connectName"]) == ({"name": "in", "namespace": "shop"}, "in")
    assert "in: Connector in, Datagen, Stopped" in done.stderr
    assert (
        f"kubectl create secret generic in-imported --namespace shop --from-file={tmp_path / 's' / 'in-imported'}"
        in (done.stderr)
    )
    assert "hunter22" not in done.stdout + done.stderr
    secret = tmp_path / "s" / "in-imported" / "db.password"
    assert (secret.read_text(), secret.stat().st_mode & 0o777) == ("hunter22", 0o600)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "FILE: specify either files or --connect-url URL"),
        (("FILE", "--connect-url", "http://x"), "FILE: specify either files or --connect-url URL"),
        (("--connect-url", "ftp://u:hunter22@x"), "--connect-url: is not a URL"),
        (("--connect-url", "http://u:12/hunter22@x"), "--connect-url: is not a URL"),
        (("--connect-url", "http://u:hunter22#x@y"), "--connect-url: is not a URL"),
        (("--connect-url", "http://u:hunter22@[::1"), "--connect-url: is not a URL"),
        (("FILE", "--bootstrap-servers", "k:1"), "--connect-group-id: is missing"),
        (("gone.json",), "gone.json: cannot be read: No such file"),
        (("FILE", "--connector", "c"), "--connector: there is no connector c"),
        (("FILE", "--kafka-connect", "x"), "--kafka-connect: there is no KafkaConnect x; available: none"),
        (("FILE", "--image", "connect:1"), "--image: connect:1 has no digest; write <repository>:<tag>@sha256:"),
        (
            ("FILE", "--image", f"connect:1@sha256:{'0' * 64}"),
            "--image: no KafkaConnect has the image connect:1; available: none",
        ),
        (("FILE", "--worker", "gone.properties"), "gone.properties: cannot be read"),
    ],
)
def test_wrong_options_are_reported(file: Path, arguments: tuple[str, ...], told: str) -> None:
    done = penstock(*(str(file) if word == "FILE" else word for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "hunter22" not in done.stderr


def test_every_text_is_quoted_for_go_reads_yaml_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "1e3", "config": {"connector.class": "X", "y": "Y", "a": "0o10", "b": "l\n1"}}))
    done = penstock(file)
    assert done.returncode == 1, done.stderr
    for line in ('name: "1e3"', 'connectName: "1e3"', '"y": "Y"', '"a": "0o10"', '"b": "l\\n1"'):
        assert line in done.stdout


def test_a_secret_that_is_kept_already_is_not_overwritten_by_another_one(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    kept = folder / "in-imported" / "db.password"
    assert penstock(file, "--secrets-to", folder).returncode == 0
    kept.chmod(0o644)
    assert penstock(file, "--secrets-to", folder).returncode == 0
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("another")
    done = penstock(file, "--secrets-to", folder)
    assert (done.returncode, done.stdout, kept.read_text()) == (2, "", "another")
    assert f"cannot write secret {kept}: the file exists with other content; choose another folder" in done.stderr


def test_two_connectors_of_different_namespaces_do_not_share_a_secret_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        keep_secrets(tmp_path, [*(Imported(n, {}, "", 1, secrets={"db": {"password": n}}) for n in ("one", "two"))])
    assert f"cannot write secret {tmp_path / 'db' / 'password'}: a connector of another namespace has" in str(
        refused.value
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["symlink", "file"])
def test_secrets_go_to_plain_files_in_a_folder_only(file: Path, tmp_path: Path, what: str) -> None:
    folder, other = tmp_path / "s", tmp_path / "other"
    other.write_text("mine")
    if what == "file":
        folder.write_text("mine")
    else:
        (folder / "in-imported").mkdir(parents=True)
        (folder / "in-imported" / "db.password").symlink_to(other)
    done = penstock(file, "--secrets-to", folder)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert other.read_text() == "mine"
    if what == "symlink":
        link = folder / "in-imported" / "db.password"
        assert f"cannot write secret {link}: it is not a regular file; remove it, or choose another" in done.stderr


def test_invalid_connector_does_not_prevent_the_import_of_another_one(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps([CONNECTOR, {"name": "b", "config": {"topic": "t"}}]))
    assert penstock(file, "--connector", "in").returncode == 0
    assert penstock(file).returncode == 2


def test_a_worker_file_that_penstock_would_refuse_is_read_for_its_converters_and_the_rest_is_reported(
    file: Path, tmp_path: Path
) -> None:
    worker = tmp_path / "w.properties"
    worker.write_text(
        "config.providers=vault\nkey.converter=X\nproducer.compression.type=zstd\nssl.keystore.type=JKS\n"
    )
    done = penstock(file, "--connector", "in", "--connect-worker", worker)
    assert done.returncode == 1, done.stderr
    assert yaml.safe_load(done.stdout)["spec"]["config"]["key.converter"] == "X"
    assert "producer.compression.type: set for all its connectors" in done.stderr


def test_two_that_come_to_one_name_of_a_resource_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps([{**CONNECTOR, "name": "Orders_In"}, {**CONNECTOR, "name": "orders-in"}]))
    done = penstock(file)
    assert done.returncode == 2
    assert (
        "orders-in: has no manifest: has the metadata.name of Orders_In, orders-in; import it separately" in done.stderr
    )


@contextmanager
def worker(code: int, answer: Any, **headers: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A worker's REST API that gives one answer; its address, and what it was asked with which authorization."""
    asked: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append((self.path, self.headers.get("Authorization", "")))
            self.send_response(code)
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            found = answer if self.path.startswith("/connectors?") else []
            self.wfile.write(found if isinstance(found, bytes) else json.dumps(found).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def test_a_worker_is_asked_with_the_user_of_the_url_who_is_reported_nowhere() -> None:
    with worker(200, {"in": {"info": CONNECTOR, "status": {"connector": {"state": "STOPPED"}, "tasks": []}}}) as (
        at,
        asked,
    ):
        done = penstock("--connect-url", f"http://bob:hunter%2F22@{at}/")
    user = f"Basic {base64.b64encode(b'bob:hunter/22').decode()}"
    assert asked == [
        ("/connectors?expand=info&expand=status", user),
        ("/connector-plugins?connectorsOnly=false", user),
    ]
    assert yaml.safe_load(done.stdout)["spec"]["state"] == "Stopped"
    assert "bob" not in done.stderr


@pytest.mark.parametrize(
    ("code", "answer", "told"),
    [
        (401, {}, "it responds 401 Unauthorized"),
        (200, b"<html>", "unexpected response"),
        (200, {}, "the input contains no connectors"),
    ],
)
def test_a_worker_that_refuses_or_is_none_is_reported_without_its_user(code: int, answer: Any, told: str) -> None:
    with worker(code, answer) as (at, _):
        done = penstock("--connect-url", f"http://bob:hunter22@{at}")
    assert told in done.stderr
    assert done.returncode == (2 if code == 200 and answer == {} else 5), done.stderr
    assert "hunter22" not in done.stderr


def test_a_redirect_is_not_followed_with_the_password_of_the_worker() -> None:
    with worker(200, {}) as (other, asked), worker(302, {}, Location=f"http://{other}/") as (at, _):
        done = penstock("--connect-url", f"http://bob:hunter22@{at}")
    assert (done.returncode, asked) == (5, [])
    assert "it responds 302" in done.stderr


def test_a_worker_that_is_unavailable_is_reported() -> None:
    done = penstock("--connect-url", "http://127.0.0.1:1")
    assert done.returncode == 5
    assert "cannot reach Kafka Connect at http://127.0.0.1:1: [Errno 111] Connection refused" in done.stderr


def test_connectors_of_one_name_have_one_manifest(file: Path) -> None:
    done = penstock(file, file)
    assert done.returncode == 2
    assert [m["metadata"]["name"] for m in yaml.safe_load_all(done.stdout)] == ["in", "b"]
    assert " has another connector of this name; import the one in " in done.stderr


def test_connectors_of_one_name_in_two_namespaces_are_shown_with_them_and_need_two_releases(tmp_path: Path) -> None:
    kind = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector"}
    spec = {"class": SOURCE["connector.class"], "config": {"file": "/in", "topic": "t"}}
    found = [{**kind, "metadata": {"name": "in", "namespace": n}, "spec": spec} for n in ("a", "b")]
    (tmp_path / "both.yaml").write_text(yaml.safe_dump_all(found))
    done = penstock(tmp_path / "both.yaml")
    assert [m["metadata"]["namespace"] for m in yaml.safe_load_all(done.stdout)] == ["a", "b"]
    assert "spec.connectName: connectors in several namespaces, so in several Kafka Connects, have the" in done.stderr
    assert [line.split()[:2] for line in done.stderr.splitlines() if line.startswith(("a/in ", "b/in "))] == [
        ["a/in", "yes"],
        ["b/in", "yes"],
    ]


SOURCE = {"connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector", "file": "/in", "topic": "t"}


def test_a_folder_of_files_in_all_forms_is_read_and_what_is_no_connector_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "a.properties").write_text("name=a\n" + "".join(f"{n}={t}\n" for n, t in SOURCE.items()))
    (folder / "b.json").write_text(json.dumps({"name": "b", "config": SOURCE}))
    (folder / "put.json").write_text(json.dumps(SOURCE))
    resources: list[dict[str, Any]] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaConnector",
            "metadata": {"name": "c"},
            "spec": {"class": SOURCE["connector.class"], "config": {"file": "/in", "topic": "t"}},
        },
    ]
    (folder / "stream.yaml").write_text(yaml.safe_dump_all(resources))
    (folder / "package.json").write_text("{}")
    (folder / "README.md").write_text("# Connectors")
    done = penstock(folder)
    assert [m["metadata"]["name"] for m in yaml.safe_load_all(done.stdout)] == ["a", "b", "c"]
    assert done.returncode == 2
    assert "put.json, document 1: has no manifest: metadata.name: is missing; import only this" in done.stderr
    assert "Skipped: 1 document that is not a connector (" in done.stderr
    named = penstock(folder / "put.json", "--name", "orders")
    assert yaml.safe_load(named.stdout)["metadata"]["name"] == "orders"
    assert named.returncode == 0, named.stderr


def test_a_broken_connector_in_a_folder_is_reported_and_hinders_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "good.json").write_text(json.dumps({"name": "good", "config": SOURCE}))
    (folder / "package.json").write_text("{}")
    (folder / "syntax.yaml").write_text("name: syntax\nconfig: {connector.class: X\n---\na: 1\n")
    (folder / "twice.yaml").write_text("name: twice\nconfig: {connector.class: X, topic: a, topic: b}\n")
    (folder / "latin.properties").write_bytes("name=é\nconnector.class=X\n".encode("latin-1"))
    strimzi = {"apiVersion": "kafka.strimzi.io/v1", "kind": "KafkaConnector", "metadata": {"name": "c"}}
    (folder / "half.yaml").write_text(yaml.safe_dump(strimzi))
    done = penstock(folder)
    assert [m["metadata"]["name"] for m in yaml.safe_load_all(done.stdout)] == ["good"]
    assert done.returncode == 2
    for told in (
        "syntax.yaml: line ",
        "twice.yaml: line 2: the key topic occurs here a second time",
        "latin.properties: is not UTF-8 text",
        "half.yaml, document 1: has no metadata or no spec",
        "Skipped: 1 document that is not a connector (",
    ):
        assert told in done.stderr
    (folder / "good.json").unlink()
    assert (penstock(folder).returncode, penstock(folder).stdout) == (2, "")


def test_remarks_that_hold_for_several_connectors_are_made_once(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps([{"name": n, "config": SOURCE} for n in ("a", "b", "c")]))
    done = penstock(file)
    assert done.stderr.count("is not in the input; it is Stopped in the manifest") == 1
    assert "all connectors:\n  - state: is not in the input" in done.stderr


def test_a_table_says_what_runs_and_what_needs_which_plugin_and_what_was_changed(tmp_path: Path) -> None:
    postgres = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.password": "hunter22",
    }
    unwrap = {"transforms": "u", "transforms.u.type": "io.debezium.transforms.outbox.EventRouter"}
    replace = {"transforms": "r", "transforms.r.type": "org.apache.kafka.connect.transforms.ReplaceField$Value"}
    configs = {
        "lines": SOURCE,
        "rows": {**SOURCE, **unwrap, "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState"},
        "orders": {**postgres, **unwrap},
        "old": {**SOURCE, **replace, "transforms.r.whitelist": "id"},
        "wrong": {**SOURCE, "batch.size": "many"},
        "classless": {"topic": "t"},
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps([{"name": n, "config": c} for n, c in configs.items()]))
    done = penstock(file)
    assert done.returncode == 2
    header, *rows, total = done.stderr.splitlines()[-8:]
    assert header.split() == ["CONNECTOR", "RUNS", "NEEDS", "OR", "LACKS", "CHANGED"]
    assert [r.split() for r in rows] == [
        ["lines", "yes"],
        ["rows", "yes"],
        ["orders", "plugin", "Debezium", "for", "PostgreSQL", "1", "secret"],
        ["old", "yes", "transforms.r.whitelist"],
        ["wrong", "no", "batch.size"],
        ["classless", "none", "spec.class:", "is", "missing;", "`penstock", "plugins`", "..."],
    ]
    assert total == ("6 connectors: 3 can run, 1 need a plugin first, 1 cannot run as they are, 1 have no manifest")


@pytest.mark.parametrize(("name", "code"), [("lines", 0), ("orders", 1), ("wrong", 1)])
def test_the_exit_code_says_whether_every_manifest_can_run(tmp_path: Path, name: str, code: int) -> None:
    configs = {
        "lines": SOURCE,
        "orders": {"connector.class": "com.acme.Sink"},
        "wrong": {**SOURCE, "batch.size": "many"},
    }
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": name, "config": configs[name]}))
    assert penstock(file).returncode == code


def test_commands_of_the_report_can_be_pasted(file: Path) -> None:
    done = penstock(file, "--connector", "in", "--namespace", "my shop")
    base = f"penstock import {file} --connector in --namespace 'my shop'"
    assert f"     {base} --secrets-to secrets > connectors.yaml\n" in done.stderr
    assert f"     {base} --worker FILE > connectors.yaml\n" in done.stderr
    assert "--from-file=secrets/in-imported\n" in done.stderr


def kafka_connect(name: str, topic: str) -> list[dict[str, Any]]:
    metadata = {"name": name, "namespace": "shop"}
    return [
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaConnect",
            "metadata": metadata,
            "spec": {"bootstrapServers": "kafka:9092", "offsetStorageTopic": topic},
        },
        {
            "apiVersion": "kafka.strimzi.io/v1",
            "kind": "KafkaConnector",
            "metadata": {"name": f"of-{name}", "namespace": "shop", "labels": {"strimzi.io/cluster": name}},
            "spec": {"class": SOURCE["connector.class"], "config": {"file": "/in", "topic": "t"}},
        },
    ]


def test_kafka_connects_with_different_offset_topics_are_imported_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump_all([*kafka_connect("one", "offsets-1"), *kafka_connect("two", "offsets-2")]))
    both = penstock(file)
    assert (both.returncode, both.stdout) == (2, "")
    assert "KafkaConnects shop/one, shop/two keep positions in different topics" in both.stderr
    only = penstock(file, "--kafka-connect", "shop/two")
    assert (only.returncode, yaml.safe_load(only.stdout)["metadata"]["name"]) == (0, "of-two")
    file.write_text(yaml.safe_dump_all([*kafka_connect("one", "offsets"), *kafka_connect("two", "offsets")]))
    assert penstock(file).returncode == 0


def test_a_release_with_another_offset_topic_is_refused(tmp_path: Path) -> None:
    file, worker = tmp_path / "c.yaml", tmp_path / "worker.properties"
    file.write_text(yaml.safe_dump_all(kafka_connect("one", "offsets-1")))
    worker.write_text("bootstrap.servers=k:1\noffset.storage.topic=others\n")
    done = penstock(file, "--worker", worker)
    assert done.returncode == 2
    assert (
        "--worker: offset.storage.topic is others, but the connectors have their positions in offsets-1" in done.stderr
    )


def test_a_kafka_connector_whose_kafka_connect_is_not_there_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump_all(kafka_connect("one", "offsets-1")[1:]))
    assert "KafkaConnect one is not in the input; add it to the file" in penstock(file).stderr
