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

from ...command import Done
from ...command import penstock as command

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
        ((), "FILE: give files, or --connect-url URL, and not both"),
        (("FILE", "--connect-url", "http://x"), "FILE: give files, or --connect-url URL, and not both"),
        (("--connect-url", "ftp://u:hunter22@x"), "--connect-url: is no URL"),
        (("--connect-url", "http://u:12/hunter22@x"), "--connect-url: is no URL"),
        (("--connect-url", "http://u:hunter22#x@y"), "--connect-url: is no URL"),
        (("--connect-url", "http://u:hunter22@[::1"), "--connect-url: is no URL"),
        (("FILE", "--bootstrap-servers", "k:1"), "--connect-group-id: is missing"),
        (("gone.json",), "gone.json: cannot be read: No such file"),
        (("FILE", "--connector", "c"), "--connector: there is no connector c"),
        (("FILE", "FILE"), "in: is there twice"),
        (("FILE", "--image", "connect:1"), "--image: connect:1 has no digest; write <repository>:<tag>@sha256:"),
        (("FILE", "--worker", "gone.properties"), "gone.properties: cannot be read"),
    ],
)
def test_wrong_options_are_told(file: Path, arguments: tuple[str, ...], told: str) -> None:
    done = penstock(*(str(file) if word == "FILE" else word for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "hunter22" not in done.stderr


def test_every_text_is_quoted_for_go_reads_yaml_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"name": "1e3", "config": {"connector.class": "X", "y": "Y", "a": "0o10", "b": "l\n1"}}))
    done = penstock(file)
    assert done.returncode == 0, done.stderr
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
    assert "it holds another secret under that name, which is not overwritten" in done.stderr


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


def test_another_connector_that_is_wrong_does_not_hinder_the_one_that_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    file.write_text(json.dumps([CONNECTOR, {"name": "b", "config": {"topic": "t"}}]))
    assert penstock(file, "--connector", "in").returncode == 0
    assert penstock(file).returncode == 2


def test_a_worker_file_that_penstock_would_refuse_is_read_for_its_converters_and_the_rest_is_told(
    file: Path, tmp_path: Path
) -> None:
    worker = tmp_path / "w.properties"
    worker.write_text(
        "config.providers=vault\nkey.converter=X\nproducer.compression.type=zstd\nssl.keystore.type=JKS\n"
    )
    done = penstock(file, "--connector", "in", "--connect-worker", worker)
    assert done.returncode == 0, done.stderr
    assert yaml.safe_load(done.stdout)["spec"]["config"]["key.converter"] == "X"
    assert "producer.compression.type: set for all its connectors" in done.stderr


def test_two_that_come_to_one_name_of_a_resource_are_told(tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps([{**CONNECTOR, "name": "Orders_In"}, {**CONNECTOR, "name": "orders-in"}]))
    done = penstock(file)
    assert done.returncode == 2
    assert "orders-in: and Orders_In come to one metadata.name, orders-in" in done.stderr


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


def test_a_worker_is_asked_with_the_user_of_the_url_who_is_told_nowhere() -> None:
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
    [(401, {}, "refuses with 401 Unauthorized"), (200, b"<html>", "does not answer as it should"), (200, {}, "")],
)
def test_a_worker_that_refuses_or_is_none_is_told_without_its_user(code: int, answer: Any, told: str) -> None:
    with worker(code, answer) as (at, _):
        done = penstock("--connect-url", f"http://bob:hunter22@{at}")
    assert told in done.stderr
    assert done.returncode == (5 if told else 0), done.stderr
    assert "hunter22" not in done.stderr


def test_a_redirect_is_not_followed_with_the_password_of_the_worker() -> None:
    with worker(200, {}) as (other, asked), worker(302, {}, Location=f"http://{other}/") as (at, _):
        done = penstock("--connect-url", f"http://bob:hunter22@{at}")
    assert (done.returncode, asked) == (5, [])
    assert "refuses with 302" in done.stderr


def test_a_worker_that_is_away_is_told() -> None:
    done = penstock("--connect-url", "http://127.0.0.1:1")
    assert done.returncode == 5
    assert (
        "Kafka Connect at http://127.0.0.1:1 does not answer as it should: [Errno 111] Connection refused"
        in done.stderr
    )
