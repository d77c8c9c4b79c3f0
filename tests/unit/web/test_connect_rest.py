"""Clients of Kafka Connect's REST API get from Penstock what a worker would answer, without secrets."""

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock_model.connect.worker_config import WorkerConfig
from penstock_model.contracts.definitions import ClassDefinition, ConfigKey, Definitions

from .connect_examples import NAMESPACE, TASKS, connector
from .connect_requests import CONFIGS, READS, in_common
from .resources import Resources, Rights
from .serving import served

ANSWERS: Final[Mapping[str, Any]] = json.loads((Path(__file__).parent / "connect_answers.json").read_text())
ALICE: Final = {"Authorization": "Bearer alice"}
JSON: Final = {"Content-Type": "application/json"}
OFFSETS: Final[Mapping[str, Any]] = {
    "lines-in": [{"partition": {"filename": "in.txt"}, "offset": {"position": 6}}],
    "lines-out": [{"partition": {"kafka_partition": 0, "kafka_topic": "lines"}, "offset": {"kafka_offset": 3}}],
}


@pytest.fixture
def resources() -> Resources:
    found = Resources(*(connector(name, config, TASKS[name]) for name, config in CONFIGS.items()))
    found.lists = {(NAMESPACE, name): {"offsets": offsets} for name, offsets in OFFSETS.items()}
    return found


class Client:
    """Sends requests to the REST API of a namespace."""

    def __init__(self, port: int) -> None:
        self._port = port

    def __call__(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        try:
            connection.request(method, f"/connect/{NAMESPACE}{path}", body, dict(headers))
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        is_json = answer.headers.get_content_type() == "application/json"
        return answer.status, json.loads(text) if is_json and text else text.decode()

    def send(self, path: str, config: Mapping[str, Any]) -> tuple[int, Any]:
        return self("PUT", path, json.dumps(config).encode(), JSON)


@pytest.fixture
def rights(resources: Resources) -> Rights:
    return Rights(resources, alice=NAMESPACE, eve="elsewhere")


@pytest.fixture
def client(resources: Resources) -> Iterator[Client]:
    with served(resources) as server:
        yield Client(server.port)


@pytest.fixture
def acting(resources: Resources, rights: Rights) -> Iterator[Client]:
    """A client of a server with actions."""
    with served(resources, access=rights) as server:
        yield Client(server.port)


@pytest.mark.parametrize("path", READS)
def test_a_read_is_answered_as_by_a_worker(client: Client, path: str) -> None:
    status, body = client("GET", path)
    assert {"status": status, "body": in_common(path, body)} == ANSWERS[path]


def test_every_connector_of_a_worker_is_listed_as_a_plugin(client: Client) -> None:
    _, connectors = client("GET", "/connector-plugins")
    assert {
        "class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "type": "sink",
        "version": "0.1.0",
    } in connectors
    assert {c["type"] for c in connectors} == {"source", "sink"}
    _, plugins = client("GET", "/connector-plugins?connectorsOnly=false")
    assert {
        "class": "org.apache.kafka.connect.transforms.ReplaceField$Value",
        "type": "transformation",
        "version": "0.1.0",
    } in plugins
    assert {p["type"] for p in plugins} == {
        "source",
        "sink",
        "transformation",
        "predicate",
        "converter",
        "header_converter",
    }


def test_the_properties_of_a_plugin_include_those_of_every_connector(client: Client) -> None:
    status, keys = client("GET", "/connector-plugins/FileStreamSink/config")
    names = [key["name"] for key in keys]
    assert status == 200
    assert names[0] == "file"
    assert {"name", "connector.class", "tasks.max", "topics", "errors.tolerance"} <= set(names)
    assert client("GET", "/connector-plugins/org.apache.kafka.connect.file.FileStreamSinkConnector/config") == (
        200,
        keys,
    )


def test_an_unknown_version_of_a_plugin_is_refused(client: Client) -> None:
    status, body = client("GET", "/connector-plugins/FileStreamSink/config?version=9")
    assert status == 400
    assert "not found that matches the version range [9,9], available versions: [0.1.0]" in body["message"]


# Secrets


def test_no_value_that_could_be_a_secret_is_shown(client: Client, resources: Resources) -> None:
    config = {
        "connector.class": "FileStreamSink",
        "topics": "lines",
        "file": "/data/out.txt",
        "connection.password": "hunter2",
        "custom.setting": "hunter2",
        "producer.override.sasl.jaas.config": 'Plain required password="hunter2";',
        "errors.deadletterqueue.topic.name": "https://user:hunter2@host/",
        "reference": "${secret:db:password}",
    }
    resources.documents.append(connector("secretive", config, ["Running"]))
    for path in (
        "/connectors/secretive/config",
        "/connectors/secretive",
        "/connectors?expand=info",
        "/connectors/secretive/tasks",
    ):
        _, body = client("GET", path)
        assert "hunter2" not in json.dumps(body)
    _, shown = client("GET", "/connectors/secretive/config")
    assert shown["file"] == "/data/out.txt"
    assert shown["reference"] == "${secret:db:password}"
    assert shown["custom.setting"] == "[hidden]"


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://u:hun#ter2@host/db",
        "jdbc:oracle:thin:scott/hunter2@host:1521:orcl",
        "jdbc:mysql://host/db?user=a&password=hunter2",
        "host=db password=hunter2",
        "Password=hunter2;Server=db",
        '{"client_secret": "hunter2"}',
        "Authorization: Bearer hunter2",
        "X-Trace: 1, Bearer hunter2hunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nhunter2",
    ],
)
def test_a_known_property_is_hidden_if_its_value_holds_a_secret(
    client: Client, resources: Resources, value: str
) -> None:
    resources.documents.append(
        connector("secretive", {"connector.class": "FileStreamSink", "file": value}, ["Running"])
    )
    assert client("GET", "/connectors/secretive/config")[1]["file"] == "[hidden]"


@pytest.mark.parametrize(
    "value",
    ["/data/key.d/in.txt", "key:id,name:label", "http://registry:8081", "jdbc:postgresql://db:5432/shop?ssl=true"],
)
def test_a_known_property_without_a_secret_is_shown(client: Client, resources: Resources, value: str) -> None:
    resources.documents.append(connector("open", {"connector.class": "FileStreamSink", "file": value}, ["Running"]))
    assert client("GET", "/connectors/open/config")[1]["file"] == value


@pytest.mark.parametrize("piece", ["a", "://", "/a", "?", "pass", "basic "])
def test_a_huge_value_is_answered(client: Client, resources: Resources, piece: str) -> None:
    """With a pattern that takes quadratic time, this test does not end: the client waits 30 seconds."""
    config = {"connector.class": "FileStreamSink", "file": piece * (500_000 // len(piece))}
    resources.documents.append(connector("huge", config, ["Running"]))
    assert client("GET", "/connectors/huge/config")[0] == 200


def test_passwords_by_definition_are_hidden_and_other_properties_of_a_plugin_version_are_shown(
    client: Client, resources: Resources
) -> None:
    plugin = {
        "apiVersion": "penstock.dev/v1alpha1",
        "kind": "PluginVersion",
        "metadata": {"name": "wide-1", "namespace": NAMESPACE},
        "spec": {
            "plugin": "acme-wide",
            "version": "1.0",
            "image": "registry.example/wide@sha256:" + "a" * 64,
            "path": "/plugin",
            "classes": [{"alias": "Wide", "type": "sink"}],
        },
    }
    keys = tuple(
        ConfigKey(
            name=n, type=t, required=False, default_value=None, importance="HIGH", documentation="", display_name=n
        )
        for n, t in (("depth", "INT"), ("phrase", "PASSWORD"))
    )
    definition = ClassDefinition.model_validate({"class": "Wide", "type": "sink", "version": "1.0", "config": keys})
    resources.documents.append(plugin)
    resources.published[NAMESPACE, "wide-1"] = Definitions(classes=(definition,))
    config = {"connector.class": "Wide", "topics": "lines", "depth": "7", "phrase": "hunter2"}
    resources.documents.append(connector("wide", config, ["Running"]))
    _, shown = client("GET", "/connectors/wide/config")
    assert (shown["depth"], shown["phrase"]) == ("7", "[hidden]")
    assert {"class": "Wide", "type": "sink", "version": "1.0"} in client("GET", "/connector-plugins")[1]


def test_names_from_other_namespaces_are_not_shown(client: Client, resources: Resources) -> None:
    other = connector("theirs", CONFIGS["lines-in"], ["Running"])
    other["metadata"]["namespace"] = "elsewhere"
    resources.documents.append(other)
    assert "theirs" not in client("GET", "/connectors")[1]
    assert client("GET", "/connectors/theirs")[0] == 404


# Offsets


def test_offsets_that_were_not_listed_name_the_way_to_list_them(client: Client) -> None:
    status, body = client("GET", "/connectors/broken/offsets")
    assert status == 404
    assert "kubectl penstock offsets list broken" in body["message"]


def test_an_api_server_that_does_not_answer_is_an_error_with_its_cause(client: Client, resources: Resources) -> None:
    resources.is_reachable = False
    assert client("GET", "/connectors/lines-in/offsets") == (
        500,
        {"error_code": 500, "message": "the API server does not answer"},
    )


# Validation


def test_a_valid_configuration_has_no_errors(client: Client) -> None:
    status, body = client.send(
        "/connector-plugins/FileStreamSink/config/validate", {"name": "x", **CONFIGS["lines-out"]}
    )
    assert (status, body["name"], body["error_count"]) == (200, "FileStreamSink", 0)
    values = {c["definition"]["name"]: c["value"] for c in body["configs"]}
    assert values["topics"] == {
        "name": "topics",
        "value": "lines",
        "recommended_values": [],
        "errors": [],
        "visible": True,
    }


def test_each_error_is_reported_at_its_property(client: Client) -> None:
    config = {
        "connector.class": "FileStreamSource",
        "name": "x",
        "tasks.max": "a",
        "batch.size": "q",
        "transforms": "t",
        "transforms.t.type": "org.apache.kafka.connect.transforms.HoistField$Value",
    }
    status, body = client.send("/connector-plugins/FileStreamSource/config/validate", config)
    wrong = {c["value"]["name"] for c in body["configs"] if c["value"]["errors"]}
    assert status == 200
    assert wrong == {"tasks.max", "batch.size", "topic", "transforms.t.field"}
    assert body["error_count"] == len(wrong)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b'{"a":', 400, "not JSON"),
        (b"[1]", 400, "not a JSON object"),
        (b"[" * 100_000, 400, "not JSON"),
        (b'{"connector.class": {"a": 1}}', 400, "connector.class"),
        (b'{"name": "x"}', 400, "contains no connector type"),
        (b'{"name": "x", "connector.class": "FileStreamSource"}', 400, "does not match request type"),
        (json.dumps({f"p{n}": "" for n in range(2_001)}).encode(), 413, "more than 2000 properties"),
        (b'{"a": "' + b"x" * (2 << 20) + b'"}', 413, "larger than a Kubernetes object"),
    ],
)
def test_a_request_that_cannot_be_read_is_refused_with_the_reason(
    client: Client, body: bytes, status: int, message: str
) -> None:
    found, answer = client("PUT", "/connector-plugins/FileStreamSink/config/validate", body, JSON)
    assert found == status
    assert message in answer["message"]


def test_a_pattern_that_would_take_gigabytes_is_a_problem(client: Client) -> None:
    config = {"connector.class": "FileStreamSink", "name": "x", "topics.regex": "(?:(?:a{900}){900}){900}"}
    _, body = client.send("/connector-plugins/FileStreamSink/config/validate", config)
    problems = {c["value"]["name"]: c["value"]["errors"] for c in body["configs"]}["topics.regex"]
    assert "has more than 200,000 characters" in problems[0]


def test_a_number_of_thousands_of_digits_is_a_problem(client: Client) -> None:
    config = {"connector.class": "FileStreamSink", "name": "x", "topics": "t", "tasks.max": "9" * 5_000}
    status, body = client.send("/connector-plugins/FileStreamSink/config/validate", config)
    assert status == 200
    assert {c["value"]["name"] for c in body["configs"] if c["value"]["errors"]} == {"tasks.max"}


def test_surplus_checks_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, done = threading.Semaphore(0), threading.Event()

    def check(*_: object) -> tuple[()]:
        begun.release()
        done.wait(20)
        return ()

    monkeypatch.setattr("penstock_web.connect_rest.routes.problems_of", check)
    path, config = "/connector-plugins/FileStreamSink/config/validate", {"connector.class": "FileStreamSink"}
    with ThreadPoolExecutor(2) as pool:
        checks = [pool.submit(client.send, path, config) for _ in range(2)]
        try:
            assert all(begun.acquire(timeout=20) for _ in checks)
            assert client.send(path, config)[0] == 503
        finally:
            done.set()
        assert [c.result()[0] for c in checks] == [200, 200]
    assert client.send(path, config)[0] == 200


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD"]),
    st.lists(
        st.one_of(st.sampled_from(["connectors", "connector-plugins", "lines-in", "tasks", "config"]), st.text()),
        max_size=5,
    ),
    st.binary(max_size=50),
)
def test_no_request_fails_without_an_answer_in_kafka_connects_form(
    client: Client, method: str, parts: list[str], body: bytes
) -> None:
    path = "".join(f"/{quote(part, safe='')}" for part in parts)
    status, answer = client(method, path, body)
    assert status < 500
    assert status == 200 or method == "HEAD" or isinstance(answer, str) or answer["error_code"] == status


# Actions


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/connectors"), ("PUT", "/connectors/lines-in/config"), ("DELETE", "/connectors/lines-in")],
)
def test_connectors_are_never_created_changed_or_deleted(
    acting: Client, rights: Rights, method: str, path: str
) -> None:
    status, body = acting(method, path, b"{}", ALICE)
    assert status == 405
    assert "kubectl apply" in body["message"]
    assert rights.patches == []


def test_without_actions_nothing_can_be_changed(client: Client) -> None:
    status, body = client("PUT", "/connectors/lines-in/pause", headers=ALICE)
    assert status == 403
    assert "actions are disabled" in body["message"]


@pytest.mark.parametrize(
    ("method", "path", "status", "patch"),
    [
        ("PUT", "/connectors/lines-in/pause", 202, {"spec": {"state": "Paused"}}),
        ("PUT", "/connectors/lines-in/resume", 202, {"spec": {"state": "Running"}}),
        ("PUT", "/connectors/lines-in/stop", 204, {"spec": {"state": "Stopped"}}),
        ("POST", "/connectors/lines-in/restart", 204, "restart-failed"),
        ("POST", "/connectors/lines-in/restart?includeTasks=true", 202, "restart"),
        ("POST", "/connectors/lines-in/restart?includeTasks=true&onlyFailed=true", 202, "restart-failed"),
        ("POST", "/connectors/lines-in/tasks/0/restart", 204, "restart-tasks"),
        ("PUT", "/connectors/lines-in/topics/reset", 202, "reset-topics"),
    ],
)
def test_an_action_is_a_patch_with_the_rights_of_the_user(
    acting: Client, rights: Rights, method: str, path: str, status: int, patch: Any
) -> None:
    assert acting(method, path, headers=ALICE)[0] == status
    [(user, name, found)] = rights.patches
    assert (user, name) == ("alice", "lines-in")
    if isinstance(patch, str):
        assert list(found["metadata"]["annotations"]) == [f"penstock.dev/{patch}"]
    else:
        assert found == patch


@pytest.mark.parametrize("path", ["/connectors/lines-in/pause", "/connectors/none/pause"])
def test_users_without_the_right_are_refused(acting: Client, rights: Rights, path: str) -> None:
    assert acting("PUT", path)[0] == 401
    assert acting("PUT", path, headers={"Authorization": "Bearer eve"})[0] in (403, 404)
    assert rights.patches == []


def test_another_site_cannot_use_the_credentials_of_a_browser(acting: Client, rights: Rights) -> None:
    headers = {**ALICE, "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    assert acting("PUT", "/connectors/lines-in/pause", headers=headers)[0] == 403
    assert rights.patches == []


def test_unknown_connectors_and_tasks_are_named_as_by_a_worker(acting: Client) -> None:
    assert acting("PUT", "/connectors/none/stop", headers=ALICE)[1]["message"] == "Unknown connector none"
    assert acting("POST", "/connectors/none/restart", headers=ALICE)[1]["message"] == "Unknown connector: none"
    assert (
        acting("POST", "/connectors/lines-in/tasks/9/restart", headers=ALICE)[1]["message"]
        == "Unknown task: lines-in-9"
    )


class Slow(Resources):
    """Resources whose answers with all connectors take until `go`."""

    def __init__(self, *documents: dict[str, Any]) -> None:
        super().__init__(*documents)
        self.go = threading.Event()
        self.at_a_time: list[int] = []
        self._lock = threading.Lock()
        self._running = 0

    def worker(self) -> WorkerConfig:
        with self._lock:
            self._running += 1
            self.at_a_time.append(self._running)
        assert self.go.wait(60)
        with self._lock:
            self._running -= 1
        return super().worker()


def test_large_answers_are_made_two_at_a_time_and_all_are_given() -> None:
    resources = Slow(*(connector(name, config, TASKS[name]) for name, config in CONFIGS.items()))
    with served(resources) as server:
        client = Client(server.port)
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(client, "GET", "/connectors?expand=info&expand=status") for _ in range(8)]
            while len(resources.at_a_time) < 2:
                assert client("GET", "/connectors")[0] == 200  # others are answered meanwhile
            resources.go.set()
            found = [a.result() for a in answers]
    assert max(resources.at_a_time) == 2
    assert [status for status, _ in found] == [200] * 8
    assert {name for _, body in found for name in body} == set(CONFIGS)
