"""Java config providers (KIP-297): their values replace variables, and nobody but the plugin sees them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from penstock.errors import ConfigError, ConnectError
from penstock_model.connect.variables import Resolved, resolve
from penstock_runtime.java_plugins.config_provider import JavaConfigProvider
from penstock_runtime.java_plugins.hosts import close_host
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.config_providers import ConfigProviders
from penstock_runtime.plugins.plugin_path import use_plugin_path

from ..reading import create
from ..running import manifest, until
from .probe_plugin import PROVIDER, TRANSFORM, Probe, ProbeLab, host_jvms, probe, probe_lab

__all__ = ["Probe", "probe", "probe_lab"]

VARIABLE: Final = "${vault:db/orders:password}"
VALUE: Final = "hunter2-of-the-vault"
ONE_BROKER: Final = {f"{topic}.storage.replication.factor": "1" for topic in ("offset", "status")}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    file = tmp_path / "vault.properties"
    file.write_text(f"db/orders/password={VALUE}\ndb/orders/user=anna\n/alone=no path\n")
    return file


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "provider-journal"


@pytest.fixture
def path(probe: Probe) -> Iterator[None]:
    """The probe on the plugin path of this process."""
    use_plugin_path([str(probe.folder)])
    yield
    use_plugin_path([])
    close_host()


def worker(vault: Path, class_name: str = PROVIDER, **parameters: Any) -> dict[str, str]:
    """A worker configuration; names of parameters have underscores for dots."""
    prefix = "config.providers.vault"
    given = {f"{prefix}.param.{n.replace('_', '.')}": str(v) for n, v in {"vault": vault, **parameters}.items()}
    return {"config.providers": "vault", f"{prefix}.class": class_name, **given}


def resolved(of: Mapping[str, str], *texts: str) -> Resolved:
    with ConfigProviders(of) as providers:
        return resolve({f"p{n}": text for n, text in enumerate(texts)}, None, {}, providers=providers.table)


@pytest.mark.usefixtures("path")
def test_a_provider_is_loaded_as_a_plugin_asked_once_for_a_path_and_closed(vault: Path, journal: Path) -> None:
    found = resolved(
        worker(vault, journal=journal), f"${{vault:db/orders:user}}:{VARIABLE}", "${vault:alone}", VARIABLE
    )
    assert found.values == {"p0": f"anna:{VALUE}", "p1": "no path", "p2": VALUE}
    assert journal.read_text().splitlines() == [
        "configure PluginClassLoader",
        "get db/orders [password, user]",
        "get  [alone]",
        "close",
    ]


@pytest.mark.usefixtures("path")
def test_a_provider_that_no_variable_names_is_not_asked(vault: Path, journal: Path) -> None:
    assert resolved(worker(vault, journal=journal), "text", "${env:HOME}").problems
    assert not journal.exists()


@pytest.mark.usefixtures("path")
def test_a_key_that_the_provider_does_not_have_is_refused(vault: Path) -> None:
    found = resolved(worker(vault), "${vault:db/orders:pasword}")
    assert [p.message for p in found.problems] == [
        "${vault:db/orders:pasword} cannot be resolved: vault has no key pasword in db/orders",
    ]


@pytest.mark.usefixtures("path")
def test_parameters_may_be_secrets_themselves(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULT_FILE", str(vault))
    assert resolved({**worker(vault), "config.providers.vault.param.vault": "${env:VAULT_FILE}"}, VARIABLE).values == {
        "p0": VALUE
    }


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("class_name", "message"),
    [
        (
            "com.example.Vault",
            "class com.example.Vault is not on the plugin path; pass its jar or folder with --plugin-path",
        ),
        (TRANSFORM, f"{TRANSFORM} is a transform, not a ConfigProvider"),
    ],
)
def test_a_class_that_is_no_provider_here_is_named_once(vault: Path, class_name: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        worker_from({**worker(vault, class_name), "group.id": VARIABLE, "offset.storage.topic": VARIABLE})
    (problem,) = raised.value.problems
    assert problem.property == "config.providers.vault.class"
    assert message in problem.message


@pytest.mark.usefixtures("path")
def test_parameters_that_the_provider_refuses_are_an_error_without_their_secrets(vault: Path) -> None:
    given = worker(vault, configure_action="leak", password="s.1234567")
    with pytest.raises(ConfigError) as raised:
        worker_from({**given, "group.id": VARIABLE})
    (problem,) = raised.value.problems
    assert problem.property == "config.providers.vault.class"
    assert problem.message == f"cannot configure {PROVIDER}: ConnectException: cannot log in with [hidden]"


@pytest.mark.usefixtures("path")
def test_a_provider_that_fails_is_asked_once(vault: Path, journal: Path) -> None:
    """It may work a minute later: that is no fault of the configuration."""
    with ConfigProviders(worker(vault, journal=journal, get_action="throw")) as providers:
        for _ in range(2):
            with pytest.raises(ConnectError) as raised:
                resolve({"p": VARIABLE}, None, {}, providers=providers.table)
            assert not isinstance(raised.value, ConfigError)
            assert f"cannot get values from {PROVIDER}: ConnectException: the slot is gone" in str(raised.value)
    assert [line.partition(" ")[0] for line in journal.read_text().splitlines()] == ["configure", "get", "close"]


@pytest.mark.usefixtures("path")
def test_a_provider_that_hangs_is_given_up(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JavaConfigProvider, "longest", 1.0)
    with pytest.raises(ConnectError, match=r"get_config\(\) has not returned within 1 s, so its JVM was killed"):
        resolved(worker(vault, get_action="block"), VARIABLE)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("action", ["leak", "exit 7"])
def test_a_provider_that_cannot_be_closed_is_a_warning(
    vault: Path, caplog: pytest.LogCaptureFixture, action: str
) -> None:
    given = worker(vault, close_action=action, password="s.1234567")
    assert resolved(given, VARIABLE).values == {"p0": VALUE}
    assert "Cannot close the config provider vault: " in caplog.text
    assert "s.1234567" not in caplog.text


@pytest.mark.usefixtures("path")
def test_a_time_to_live_is_ignored_with_a_warning(vault: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert resolved(worker(vault, ttl=60_000), VARIABLE).values == {"p0": VALUE}
    assert "The config provider vault sets a ttl of 60000 ms for values of db/orders, which is ignored" in caplog.text
    assert VALUE not in caplog.text


@pytest.mark.parametrize(
    "place", ["start", *(pytest.param(each, marks=pytest.mark.slow) for each in ("validate", "taskConfigs"))]
)
def test_plugins_get_values_and_nothing_shows_them(probe_lab: ProbeLab, topic: str, vault: Path, place: str) -> None:
    config = {"password": VARIABLE, f"{place}.action": "leak"}
    create(probe_lab.servers, topic)
    log = probe_lab.fails(topic, config, worker={**worker(vault), **ONE_BROKER})
    assert VALUE not in log
    assert f"cannot log in with {VARIABLE}" in log
    assert f"out {VARIABLE}" in log


def test_a_task_of_python_has_no_jvm_once_it_has_its_values(
    probe_lab: ProbeLab, topic: str, vault: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a\n")
    vault.write_text(f"files/in={lines}\n")
    create(probe_lab.servers, topic)
    config = {"topic": topic, "file": "${vault:files:in}", "value.converter": "StringConverter"}
    run = probe_lab.processes.run(
        [manifest(probe_lab.name, "FileStreamSource", config)],
        probe_lab.servers,
        *("--plugin-path", str(probe_lab.probe.folder)),
        worker={**worker(vault), **ONE_BROKER},
    )
    with probe_lab.reader(topic) as reader:
        assert [r.value for r in reader.count(1)] == [b"a"]
    until(lambda: [not host_jvms(run)] if not host_jvms(run) else [], what=run.last_words)
    run.stop()


def test_samples_are_transformed_with_values(vault: Path, probe: Probe, tmp_path: Path) -> None:
    vault.write_text("where/name=prefixed\n")
    chain = {
        "topics": "t",
        "file": "f",
        "transforms": "r",
        "transforms.r.type": "RegexRouter",
        "transforms.r.regex": "(.*)",
        "transforms.r.replacement": "${vault:where:name}-$1",
    }
    file, samples, properties = tmp_path / "manifest.json", tmp_path / "samples.jsonl", tmp_path / "worker.properties"
    file.write_text(json.dumps(manifest("tried", "FileStreamSink", chain)))
    samples.write_text('{"value": "x"}\n')
    properties.write_text("".join(f"{name}={text}\n" for name, text in worker(vault).items()))
    command = [sys.executable, "-m", "penstock_cli", "transform", str(file), "--records", str(samples)]
    options = ["--worker", str(properties), "--plugin-path", str(probe.folder), "--output", "json"]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PENSTOCK_JAVA_HEAP": "128m"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "${vault:where:name}-t" in done.stdout
