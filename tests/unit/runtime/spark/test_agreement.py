"""Executors must agree with the driver before they deliver a record."""

import json
from importlib.metadata import version

import msgspec
import pytest

from penstock.errors import ConfigError, ConnectError, RetriableError
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.spark.agreement import agreement, differences, where_agreed
from penstock_runtime.spark.worker import Answer, failure, part

HERE = PluginReference(reference="penstock_sql.source:SqlSource", alias="SqlSource", version=version("penstock-sql"))
ABSENT = PluginReference(reference="not_installed_anywhere:Plugin", alias="Plugin", version="1.0")
ANSWER = msgspec.msgpack.encode(Answer())
BUILT_IN = PluginReference(reference="penstock_plugins.transforms.cast:Cast", alias="Cast", version="0")


def test_agreeing_worker_does_the_work() -> None:
    wanted = agreement({"connector": HERE})
    assert differences(wanted) == ""
    assert where_agreed(wanted, lambda payload: payload, ANSWER) == ANSWER


def test_config_error_in_a_worker_loses_the_part_and_names_the_host() -> None:
    failed = msgspec.msgpack.encode(failure(ConfigError("data.source: no module named orders")))
    with pytest.raises(RetriableError, match=r"cannot run this task: on .*data\.source: no module named orders; give"):
        where_agreed(agreement({}), lambda payload: payload, failed)


def test_other_errors_are_returned_as_data() -> None:
    failed = msgspec.msgpack.encode(failure(ConnectError("the disk is full")))
    result = where_agreed(agreement({}), lambda payload: payload, failed)
    assert str(part(result).error) == "the disk is full"


def test_built_in_plugins_have_the_version_of_penstock() -> None:
    assert json.loads(agreement({"transforms.a": BUILT_IN}))["plugins"] == {}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"packages": {"penstock": "0.0.1"}}, f"has penstock {version('penstock')}, and the driver has 0.0.1"),
        ({"packages": {"Python": "2.7"}}, "and the driver has 2.7"),
        ({"packages": {"of a later release": "1"}}, "has of a later release None, and the driver has 1"),
        ({"plugins": {HERE.reference: "9.9"}}, f"{HERE.reference} {HERE.version}, and the driver has 9.9"),
        ({"plugins": {ABSENT.reference: "1.0"}}, "not_installed_anywhere:Plugin is installed but cannot be imported"),
    ],
)
def test_differing_worker_is_reported_with_its_host_and_does_nothing(changed: dict[str, object], told: str) -> None:
    wanted = json.dumps({**json.loads(agreement({})), **changed}).encode()
    assert told in differences(wanted)

    def never(payload: bytes) -> bytes:
        raise AssertionError("it was called")

    with pytest.raises(RetriableError) as raised:
        where_agreed(wanted, never, b"")
    error = raised.value
    assert str(error).startswith("A Spark executor cannot run this task: ")
    assert told in str(error)
    assert str(error).endswith("give executors the same image, or the same packages, as the driver")
