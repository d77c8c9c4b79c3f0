"""Variables in properties, and how their values stay secret."""

import base64
import json
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock import ConfigError, Problem
from penstock_model.connect.redaction import Redactor, client_secrets
from penstock_model.connect.variables import Secret, resolve
from penstock_runtime.plan.unresolve import put_back

ENVIRONMENT = {"USER_NAME": "anna", "EMPTY": ""}


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    folder = tmp_path / "secrets" / "orders-db"
    folder.mkdir(parents=True)
    (folder / "password").write_text("hunter2\n")
    (folder / "pem").write_text("-----BEGIN KEY-----\nabc\n-----END KEY-----\n")
    (folder / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "a.properties").write_text("user=anna\npass\\ word=b\\u00e9\n")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${secret:orders-db:password}", "hunter2"),
        ("${secret:orders-db:pem}", "-----BEGIN KEY-----\nabc\n-----END KEY-----"),
        ("${env:USER_NAME}", "anna"),
        ("${env::USER_NAME}", "anna"),
        ("${env:EMPTY}", ""),
        ("${file:%/a.properties:user}", "anna"),
        ("${file:%/a.properties:pass word}", "bé"),
        ("${dir:%/secrets/orders-db:password}", "hunter2"),
        ("${directory:%/secrets/orders-db:password}", "hunter2"),
        ("jdbc:x?user=${env:USER_NAME}&password=${secret:orders-db:password}", "jdbc:x?user=anna&password=hunter2"),
        ("${name} $env:X ${} {env:X}", "${name} $env:X ${} {env:X}"),
        ("no variable", "no variable"),
    ],
)
def test_a_variable_is_replaced_anywhere_in_a_value(secrets: Path, text: str, value: str) -> None:
    resolved = resolve({"p": text.replace("%", str(secrets))}, secrets / "secrets", ENVIRONMENT)
    assert resolved.problems == ()
    assert resolved.values == {"p": value}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("${secret:orders:password}", "there is no secret orders in"),
        ("${secret:orders-db:user}", "secret orders-db has no key user"),
        ("${secret:orders-db}", "write ${secret:<name>:<key>}"),
        ("${secret:..:password}", ".. is not a valid file name"),
        ("${secret:orders-db:../x}", "../x is not a valid file name"),
        ("${secret:orders-db:binary}", "is not UTF-8 text"),
        ("${env:NOPE}", "the environment variable NOPE is not set"),
        ("${file:/no/such/file:a}", "/no/such/file: there is no such file"),
        ("${file:%/a.properties:nope}", "has no key nope"),
        ("${dir:%/secrets:nope}", "has no file nope"),
        ("${vault:a:b}", "there is no provider vault; available: secret, env, file, dir, directory"),
    ],
)
def test_a_variable_that_cannot_be_resolved_is_a_problem(secrets: Path, text: str, why: str) -> None:
    text = text.replace("%", str(secrets))
    resolved = resolve({"p": f"x{text}"}, secrets / "secrets", ENVIRONMENT)
    (problem,) = resolved.problems
    assert problem.property == "p"
    assert problem.message.startswith(f"{text} cannot be resolved: ")
    assert why in problem.message
    with pytest.raises(ConfigError):
        resolved.checked()


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("${secrets:orders-db:password}", "did you mean secret?"),
        ("${secret:order-db:password}", "did you mean orders-db?"),
        ("${secret:orders-db:pasword}", "did you mean password?"),
        ("${env:USERNAME}", "did you mean USER_NAME?"),
    ],
)
def test_a_misspelled_variable_is_reported_with_what_was_probably_meant(secrets: Path, text: str, hint: str) -> None:
    (problem,) = resolve({"p": text}, secrets / "secrets", ENVIRONMENT).problems
    assert problem.message.endswith(f"; {hint}")


def test_what_a_file_holds_is_not_listed_as_its_keys(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    (problem,) = resolve({"p": f"${{file:{tmp_path / 'password'}:hunter}}"}, None, {}).problems
    assert "hunter2" not in problem.message


def test_without_a_directory_of_secrets_the_message_says_so() -> None:
    (problem,) = resolve({"p": "${secret:a:b}"}, None, {}).problems
    assert "--secrets" in problem.message


def test_every_unresolved_variable_is_reported(secrets: Path) -> None:
    resolved = resolve({"a": "${env:A}${env:B}", "b": "${env:C}"}, secrets, {})
    assert [p.property for p in resolved.problems] == ["a", "a", "b"]


def test_secrets_do_not_show_when_printed() -> None:
    resolved = resolve({"p": "${env:X}"}, None, {"X": "hunter2"})
    assert "hunter2" not in f"{resolved} {resolved.secrets!r} {resolved.secrets[0]}"


PASSWORD = Secret("${secret:db:password}", 'hu"n\\ter/2 é')


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(PASSWORD.value, id="as it is"),
        pytest.param(f"password={PASSWORD.value};", id="inside"),
        pytest.param(json.dumps({"p": PASSWORD.value}), id="JSON"),
        pytest.param(json.dumps({"p": PASSWORD.value}, ensure_ascii=False), id="JSON with umlauts"),
        pytest.param(repr([PASSWORD.value]), id="Python's repr"),
        pytest.param("http://u:" + urllib.parse.quote(PASSWORD.value, safe="") + "@h", id="URL"),
        pytest.param("?p=" + urllib.parse.quote_plus(PASSWORD.value), id="form"),
        pytest.param(base64.b64encode(PASSWORD.value.encode()).decode(), id="Base64"),
        pytest.param(base64.urlsafe_b64encode(PASSWORD.value.encode()).decode(), id="Base64 for URLs"),
        pytest.param(base64.b64encode(b"u:" + PASSWORD.value.encode()).decode(), id="basic authentication"),
        pytest.param(base64.b64encode(b"anna:" + PASSWORD.value.encode() + b"!").decode(), id="inside Base64"),
    ],
)
def test_a_secret_is_replaced_in_every_form(text: str) -> None:
    shown = Redactor([PASSWORD])(text)
    assert PASSWORD.reference in shown
    assert PASSWORD.value not in shown


def test_the_longer_of_two_secrets_goes_first() -> None:
    redactor = Redactor([Secret("${env:A}", "hunter"), Secret("${env:B}", "hunter2")])
    assert redactor("hunter2 hunter") == "${env:B} ${env:A}"


def test_a_short_secret_is_replaced_as_a_whole_only() -> None:
    redactor = Redactor([Secret("${secret:db:pin}", "12")])
    assert redactor("12") == "${secret:db:pin}"
    assert redactor("at 12 o'clock") == "at 12 o'clock"
    wrong = Problem("pin", "Invalid value 12 for configuration pin: too short")
    assert "12" not in redactor.problem(wrong).message


def test_lines_of_a_key_are_replaced_one_by_one() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQE\n-----END KEY-----"
    shown = Redactor([Secret("${secret:tls:key}", key)])("line 2: MIIEvQIBADANBgkqhkiG9w0BAQE")
    assert shown == "line 2: ${secret:tls:key}"


def test_an_empty_value_hides_nothing() -> None:
    assert Redactor([Secret("${env:E}", "")])("text") == "text"


def test_literal_passwords_of_clients_are_hidden() -> None:
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";'
    redactor = Redactor(client_secrets({"producer.override.sasl.jaas.config": jaas, "ssl.key.password": "s3cret"}))
    assert redactor("login u/hunter2 failed, s3cret") == "login u/[hidden] failed, [hidden]"


ORIGINAL = {"password": "${secret:db:password}", "url": "x://${env:USER}@h", "table": "t"}
KNOWN = (Secret("${secret:db:password}", "hunter2"), Secret("${env:USER}", "anna"), Secret("${secret:db:pin}", "12"))
VALUES = {"password": "hunter2", "url": "x://anna@h", "table": "t"}


@pytest.mark.parametrize(
    ("task", "kept"),
    [
        pytest.param(VALUES, ORIGINAL, id="unchanged"),
        pytest.param({"pw": "hunter2"}, {"pw": "${secret:db:password}"}, id="under another name"),
        pytest.param({"u": "anna:hunter2"}, {"u": "${env:USER}:${secret:db:password}"}, id="inside a longer text"),
        pytest.param({"pin": "12"}, {"pin": "${secret:db:pin}"}, id="short, as a whole"),
        pytest.param({"table": "u"}, {"table": "u"}, id="nothing secret"),
    ],
)
def test_references_come_back_into_task_configurations(task: dict[str, str], kept: dict[str, str]) -> None:
    assert put_back(task, ORIGINAL, VALUES, KNOWN) == kept


@pytest.mark.parametrize(
    "text", [base64.b64encode(b"anna:hunter2").decode(), "a12b"], ids=["encoded", "a short one inside"]
)
def test_a_secret_that_cannot_become_a_reference_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        put_back({"auth": text}, ORIGINAL, VALUES, KNOWN)
    assert [p.property for p in caught.value.problems] == ["auth"]
    assert text not in str(caught.value)


def test_a_config_provider_is_asked_once_for_all_keys_of_a_path() -> None:
    """As Kafka Connect asks: a path ends at the first colon, and may be left out."""
    asked = []

    def vault(path: str, keys: Sequence[str]) -> dict[str, str]:
        asked.append((path, [*keys]))
        return {key: f"<{path}|{key}>" for key in keys if key != "none"}

    given = {
        "a": "${vault:db/orders:user}:${vault:db/orders:password}",
        "b": "${vault:db/orders:user} ${vault:db:a:b} ${vault:alone}",
        "c": "${vault:db/orders:none}",
        "d": "${valt:x:y}",
    }
    resolved = resolve(given, None, {}, [Secret("${vault:alone}", "known")], {"vault": vault})
    assert resolved.values["a"] == "<db/orders|user>:<db/orders|password>"
    assert resolved.values["b"] == "<db/orders|user> <db|a:b> known"
    assert asked == [("db/orders", ["user", "password", "none"]), ("db", ["a:b"])]
    assert [str(p) for p in resolved.problems] == [
        "c: ${vault:db/orders:none} cannot be resolved: vault has no key none in db/orders",
        "d: ${valt:x:y} cannot be resolved: there is no provider valt; did you mean vault?",
    ]


def test_parameters_of_config_providers_that_are_secrets_by_their_names_are_hidden() -> None:
    given = {
        "config.providers.vault.param.vault.token": "s.1234567",
        "config.providers.vault.param.vault.address": "https://vault:8200",
    }
    redact = Redactor(client_secrets(given))
    assert redact("https://vault:8200 refuses s.1234567") == "https://vault:8200 refuses [hidden]"


def test_nothing_is_hidden_inside_the_names_of_classes_and_properties() -> None:
    name = "io.debezium.connector.postgresql.PostgresConnector"
    hide = Redactor([Secret("[hidden]", "postgres")], [name, "database.password"])
    assert hide(f"Class {name} could not be found") == f"Class {name} could not be found"
    assert hide("jdbc:postgresql://db as postgres: refused") == "jdbc:postgresql://db as [hidden]: refused"
    assert hide("mypostgresqlx") == "my[hidden]qlx"
    assert hide.with_secrets([Secret("[s]", "word")])(f"database.password of {name}: word") == (
        f"database.password of {name}: [s]"
    )


def test_a_secret_that_begins_with_a_part_of_a_name_is_hidden_as_a_whole() -> None:
    name = "io.debezium.connector.postgresql.PostgresConnector"
    secrets = [Secret("[r1]", "postgres"), Secret("[r2]", "postgresql-prod-Xy12"), Secret("[r3]", f"{name}-9")]
    hide = Redactor(secrets, [name])
    assert hide("postgresql-prod-Xy12 is refused") == "[r2] is refused"
    assert hide(f"{name}: {name}-9, postgresql, postgres") == f"{name}: [r3], postgresql, [r1]"


def test_a_secret_that_equals_a_part_of_a_name_is_hidden_outside_the_name() -> None:
    hide = Redactor([Secret("[r1]", "postgresql"), Secret("[r2]", "gres")], ["com.postgresql.Sink"])
    assert hide("com.postgresql.Sink: postgresql") == "com.postgresql.Sink: [r1]"


def test_a_secret_that_is_a_part_of_a_name_is_hidden_where_it_is_a_separate_word() -> None:
    hide = Redactor([Secret("[hidden]", "hunter2")], ["com.acme.hunter2.Sink"])
    assert hide("com.acme.hunter2.Sink with hunter2") == "com.acme.hunter2.Sink with [hidden]"
