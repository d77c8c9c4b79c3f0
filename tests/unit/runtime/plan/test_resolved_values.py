"""What a config provider returns, and what a password is, is in no validation error (Kafka Connect 4.4.0)."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from penstock import Config, ConfigError, Int, Password, PollingSource, Problem, SourceConnector, prop
from penstock_model.resources.connector import Connector
from penstock_runtime.plan import plan
from penstock_runtime.plan.worker_check import worker_from
from penstock_runtime.plugins.discovery import Plugins


class QuotingConfig(Config):
    url: str = prop("url", "", doc="The address.")
    port: Int = prop("port", 5432, doc="The port.", ge=1)
    password: Password = prop("password", Password(""), doc="The password.")


class Quoting(SourceConnector):
    """Connector that quotes parts of values in its messages, as drivers of databases do."""

    Config = QuotingConfig

    def source(self, config: QuotingConfig) -> PollingSource:
        raise AssertionError

    def validate(self, config: QuotingConfig) -> Iterable[Problem]:
        user, _, rest = config.url.partition("@")
        if rest:
            yield Problem("url", f'connection to "{rest.upper()}" failed: no route to host for user {user}')
            yield Problem("url", f"Invalid value {config.url} for configuration url: it has no scheme")
        if secret := config.password.reveal():
            yield Problem("password", f"{secret} is too short, and {secret.partition('-')[0]} is a name")


def messages(config: dict[str, str]) -> list[str]:
    document = {"metadata": {"name": "c"}, "spec": {"class": "Quoting", "config": config}}
    plugins = Plugins.of({"Quoting": Quoting}, version="1")
    with pytest.raises(ConfigError) as caught:
        plan(Connector.read(document), worker_from({}).config, plugins, None, {})
    return [str(p) for p in caught.value.problems if p.property in config]


def provided(folder: Path, value: str) -> str:
    (folder / "v.properties").write_text(f"url={value}\n")
    return f"${{file:{folder}/v.properties:url}}"


def test_no_part_of_a_value_of_a_config_provider_is_in_an_error_of_its_property(tmp_path: Path) -> None:
    reference = provided(tmp_path, "anna@db.shop.example")
    assert messages({"url": reference}) == [
        'url: connection to "[hidden].[hidden].[hidden]" failed: no route to host for user [hidden]',
        f"url: Invalid value {reference} for configuration url: it has no scheme",
    ]


@pytest.mark.parametrize("value", ["0", "x", "many"])
def test_the_reason_of_such_an_error_stays_also_for_a_value_of_one_character(tmp_path: Path, value: str) -> None:
    reference = provided(tmp_path, value)
    (message,) = messages({"port": reference})
    assert message.startswith(f"port: Invalid value {reference} for configuration port: ")
    assert message.endswith(
        ": Value must be at least 1" if value == "0" else ": Not a number of type INT; write whole digits"
    )


@pytest.mark.parametrize("value", ["abc", "abc-def", "postgres"])
@pytest.mark.parametrize("is_provided", [True, False], ids=["of a provider", "literal"])
def test_no_password_is_in_an_error_and_no_part_of_it(tmp_path: Path, value: str, is_provided: bool) -> None:
    (message,) = messages({"password": provided(tmp_path, value) if is_provided else value})
    assert message.endswith(" is a name")
    assert not any(word in message.replace(str(tmp_path), "") for word in value.split("-"))


def test_a_value_in_an_error_of_another_property_is_its_reference(tmp_path: Path) -> None:
    reference = provided(tmp_path, "hunter2")
    found = messages({"url": f"anna@{reference}", "port": "hunter2"})
    assert found[0].startswith(f"port: Invalid value {reference} for configuration port: ")
    assert not any("hunter2" in message.lower() for message in found)


def test_a_worker_configuration_is_treated_likewise(tmp_path: Path) -> None:
    reference = provided(tmp_path, "7x")
    with pytest.raises(ConfigError) as caught:
        worker_from({"offset.storage.partitions": reference, "config.providers": ""})
    assert [str(p) for p in caught.value.problems] == [
        f"offset.storage.partitions: Invalid value {reference} for configuration offset.storage.partitions: Not a number of "
        "type INT; write whole digits"
    ]
