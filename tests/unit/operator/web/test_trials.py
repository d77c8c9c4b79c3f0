"""The console on Kubernetes tries built-in transforms, reveals nothing by it, and harms nothing."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from penstock.errors import ConnectError
from penstock_operator.web.trials import Trials

from ...web.resources import Resources
from ...web.shop import connector

RECORD = '{"key": "k", "value": {"id": 7}}'
HOIST = {"transforms": "h", "transforms.h.type": "HoistField$Value", "transforms.h.field": "inner"}


def tried(config: Mapping[str, str], record: str = RECORD, *, kind: str = "source", **options: Any) -> str:
    document = connector("orders", class_name="penstock_sql.JdbcSource", kind=kind, config=config)
    return asyncio.run(Trials(Resources(document), **options)(document, record))


def refused(config: Mapping[str, str], record: str = RECORD, **options: Any) -> str:
    with pytest.raises(ConnectError) as found:
        tried(config, record, **options)
    return str(found.value)


def test_each_step_of_a_chain_is_shown_although_the_connector_is_a_plugin() -> None:
    route = {"transforms.r.type": "RegexRouter", "transforms.r.regex": "(.*)", "transforms.r.replacement": "to-$1"}
    guard = {"transforms.h.predicate": "p", "predicates": "p", "predicates.p.type": "RecordIsTombstone"}
    config = {**HOIST, **guard, **route, "transforms": "h,r", "transforms.h.negate": "true"}
    out = tried(config)
    assert '"inner": {"id": 7}' in out
    assert "sample -> to-sample" in out
    assert "1 record: 1 went through" in out


def test_records_of_a_sink_are_tried_as_those() -> None:
    insert = {"transforms": "i", "transforms.i.type": "InsertField$Value", "transforms.i.offset.field": "o"}
    assert "+ value.o" in tried({**insert, "topics": "orders"}, kind="sink")


@pytest.mark.parametrize(("record", "expected"), [("", "no record"), ("{", "1 failed"), ('{"value": 1}', "1 failed")])
def test_a_record_that_does_not_fit_has_its_cause(record: str, expected: str) -> None:
    config = {"transforms": "e", "transforms.e.type": "ExtractField$Value", "transforms.e.field": "a"}
    assert expected in tried(config, record)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"transforms.h.type": "com.example.Encrypt"}, "not com.example.Encrypt; use penstock transform"),
        ({"transforms.h.field": "${env:HOME}"}, "the values of transforms.h.field; use penstock transform"),
        ({"transforms.h.field": "${file:/etc/passwd:root}"}, "only pods of the connector can resolve"),
        ({"transforms.h.type": "${env:HOME}"}, "only pods of the connector can resolve"),
        ({"transforms.h.type": "this.module${y"}, "only pods of the connector can resolve"),
        ({"transforms.h.api.key": "hunter2"}, "the values of transforms.h.api.key are hidden"),
        ({"transforms": "h,i", "transforms.i.type": "InsertField$Value", "transforms.i.static.field": "f",
          "transforms.i.static.value": "hunter2"}, "the values of transforms.i.static.value are hidden"),
        ({"transforms.h.type": "HoistField"}, "Did you mean HoistField$Key, HoistField$Value?"),
    ],
)  # fmt: skip
def test_a_chain_that_cannot_be_tried_here_has_its_reason_and_no_secret(
    changed: Mapping[str, str], expected: str
) -> None:
    found = refused({**HOIST, **changed})
    assert expected in found
    assert "hunter2" not in found


def test_a_chain_that_would_fill_the_memory_is_stopped_at_the_limit() -> None:
    """Each step doubles the topic: at the end it has 64 GiB."""
    double = {"type": "RegexRouter", "regex": "(.*)", "replacement": "$1$1"}
    steps = {f"transforms.t{n}.{name}": value for n in range(30) for name, value in double.items()}
    config = {**steps, "transforms": ",".join(f"t{n}" for n in range(30)), "topic": "o" * 64}
    try:
        found = tried(config)
    except ConnectError as e:
        found = str(e)
    assert "emory" in found


def test_a_record_that_is_too_large_is_refused() -> None:
    assert "more than 65536 characters" in refused(HOIST, "x" * 70_000)


def test_a_trial_that_takes_too_long_is_ended() -> None:
    endless = (sys.executable, "-c", "import time; time.sleep(600)")
    assert "took longer than 0 s" in refused(HOIST, command=endless, seconds=0.2)


def test_only_one_record_is_tried_at_a_time() -> None:
    document = connector("orders", config=HOIST)

    async def two() -> Sequence[str | BaseException]:
        trials = Trials(Resources(document))
        return await asyncio.gather(*(trials(document, RECORD) for _ in range(2)), return_exceptions=True)

    first, second = asyncio.run(two())
    assert "inner" in str(first)
    assert "another record is being tried" in str(second)


def test_a_trial_knows_nothing_of_the_environment_and_is_limited() -> None:
    look = (
        "import json, os, resource\n"
        "from penstock_runtime.trial.limits import limit_this_process\n"
        "limit_this_process()\n"
        "kinds = (resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)\n"
        "print(json.dumps([[resource.getrlimit(k)[1] for k in kinds], sorted(os.environ)]))"
    )
    limits, names = json.loads(tried(HOIST, command=(sys.executable, "-I", "-c", look)))
    assert limits == [64 << 20, 5, 0]
    assert names in (["LANG"], ["LANG", "LC_CTYPE"])
