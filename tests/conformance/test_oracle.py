"""The oracle agrees with what was recorded, and survives what it is given."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from tests.bench.peer import connect_jars

from penstock import ConnectError
from penstock_runtime.java_home import Java, find_java

from . import codec
from .oracle import Oracle, OracleError, building

_CASES: Final = Path(__file__).parent / "cases"
_RECORD: Final[dict[str, Any]] = {
    "topic": "t",
    "partition": None,
    "key": {"schema": None, "value": None},
    "value": {"schema": None, "value": {"a": {"$int32": 1}}},
    "headers": [],
    "timestamp": None,
}
_CASE: Final = {
    "config": {"transforms": "t", "transforms.t.type": "Filter"},
    "input": {"record": _RECORD},
}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle(restarts=0) as started:
        yield started


@pytest.mark.parametrize("name", ["smt", "converter"])
def test_says_what_was_recorded(oracle: Oracle, name: str) -> None:
    cases = json.loads((_CASES / f"{name}.json").read_text())
    for case, answer in zip(cases, oracle.answers([_asked(c) for c in cases]), strict=True):
        if "error" in case["expected"]:
            assert _kind(answer) == _kind(case["expected"]), case["id"]
        else:
            assert codec.normal(answer) == codec.normal(case["expected"]), case["id"]


def _asked(case: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in case.items() if name != "expected"}


def _kind(answer: Any) -> Any:
    return {name: answer["error"][name] for name in ("phase", "class")}


def test_a_case_that_cannot_be_read_is_named(oracle: Oracle) -> None:
    with pytest.raises(OracleError, match="unknown tag"):
        oracle.answer({**_CASE, "input": {"record": {**_RECORD, "value": {"schema": None, "value": {"$odd": 1}}}}})
    assert oracle.answer(_CASE) == {"record": None}


def test_starts_again_after_its_process_ended_but_not_for_ever() -> None:
    with Oracle(restarts=1) as short_lived:
        assert short_lived.answer(_CASE) == {"record": None}
        _end(short_lived)
        assert short_lived.answers([_CASE, _CASE]) == [{"record": None}] * 2
        _end(short_lived)
        with pytest.raises(OracleError, match="ended with -9"):
            short_lived.answer(_CASE)


def _end(oracle: Oracle) -> None:
    assert oracle._process is not None
    oracle._process.kill()
    oracle._process.wait()


def test_a_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    runtime = tmp_path / "java"
    runtime.write_text("#!/bin/sh\necho Module jdk.compiler not found >&2\nexit 1\n")
    runtime.chmod(0o755)
    with pytest.raises(ConnectError, match=r"(?s)jdk.compiler not found.*apt-get install openjdk-17-jdk-headless"):
        building.compiled(Java(runtime, 17, "17"), tmp_path)
    assert not list((tmp_path / "conformance-oracle").glob("unfinished-*"))


def test_it_is_compiled_on_a_machine_that_has_nothing_of_it_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = find_java()
    jars = connect_jars(java)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    assert (building.compiled(java, jars) / "Oracle.class").exists()
