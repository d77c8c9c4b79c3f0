"""A thousand random cases, the same ones each time; `make fuzz` tries twenty thousand others."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import strategies as st

from .fuzz import __main__ as command
from .fuzz.comparison import Difference, difference
from .fuzz.intended import is_intended
from .fuzz.search import search
from .fuzz.subjects import Subject, subjects
from .oracle import Oracle

_CASES: Final = 1000
_SEED: Final = 5
_SUBJECTS: Final = subjects()
_WEIGHT: Final = sum(s.weight for s in _SUBJECTS)


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as started:
        yield started


@pytest.mark.slow
@pytest.mark.parametrize("subject", _SUBJECTS, ids=lambda s: s.name)
def test_random_cases_go_as_in_kafka_connect(oracle: Oracle, subject: Subject) -> None:
    found = search(oracle, subject, max(1, _CASES * subject.weight // _WEIGHT), _SEED)
    assert found is None, found.shown()


# The search itself: told lies, it finds them, makes them small and tells them once.


def _hoisting(topic: str) -> dict[str, Any]:
    key, value = {"schema": None, "value": None}, {"schema": None, "value": "v"}
    record = {"topic": topic, "partition": None, "key": key, "value": value, "headers": list[Any](), "timestamp": None}
    hoist = {"transforms": "t", "transforms.t.type": "org.apache.kafka.connect.transforms.HoistField$Value"}
    return {"config": {**hoist, "transforms.t.field": "f"}, "input": {"records": [record]}}


_TOPICS: Final = Subject("lies", st.text("ab", max_size=8).map(_hoisting))


class _Liar(Oracle):
    """Says of every topic with a `b` that it goes elsewhere."""

    def __init__(self, truth: Oracle) -> None:
        super().__init__()
        self._truth = truth

    def answers(self, cases: Any) -> list[Any]:
        found = self._truth.answers(cases)
        for answer in found:
            for result in answer["results"]:
                result["record"]["topic"] = result["record"]["topic"].replace("b", "c")
        return found


def test_a_difference_is_found_and_made_small(oracle: Oracle) -> None:
    found = search(_Liar(oracle), _TOPICS, 100, 1)
    assert found is not None
    assert found.case == _hoisting("b")
    assert found.expected["results"][0]["record"]["topic"] == "c"
    assert found.signature == (frozenset({"HoistField"}), "record.topic.value")
    assert json.dumps({**found.case, "expected": found.expected}) in found.shown()


def test_a_known_difference_is_passed_over(oracle: Oracle) -> None:
    assert search(_Liar(oracle), _TOPICS, 100, 1, {(frozenset({"HoistField"}), "record.topic.value")}) is None
    assert search(_Liar(oracle), _TOPICS, 100, 1, {(frozenset({"Cast"}), "record.topic.value")}) is not None


@pytest.mark.parametrize(
    ("expected", "place"),
    [
        ({"error": {"phase": "apply", "class": "DataException"}}, "a result instead of DataException at apply"),
        ({"error": {"phase": "config", "class": "ConfigException"}}, "a result instead of ConfigException at config"),
        ({"results": [{"record": None}]}, "record.value"),
    ],
)
def test_a_difference_says_where_the_answers_part(expected: dict[str, Any], place: str) -> None:
    found = difference(_hoisting("a"), expected)
    assert found is not None
    assert found.place == place


def test_numbers_of_other_types_or_signs_differ(oracle: Oracle) -> None:
    case = _hoisting("a")
    expected = oracle.answer(case)
    for number in ({"$float64": 0.0}, {"$float64": -0.0}, {"$int64": 0}, False):
        case["input"]["records"][0]["value"]["value"] = {"$float64": 0.0}
        expected["results"][0]["record"]["value"]["value"] = {"f": number}
        assert (difference(case, expected) is None) is (number is not False and repr(number) == "{'$float64': 0.0}")


def test_maps_that_python_cannot_hold_are_no_defects() -> None:
    several: dict[str, Any] = {"$map": [[{"$int8": 1}, "a"], [True, "b"]]}
    nested: dict[str, Any] = {"$map": [[["a"], "b"]]}
    whole: dict[str, Any] = {"$map": [[{"$int8": 1}, "a"], [{"$int8": 2}, "b"]]}
    assert is_intended({**_hoisting("a"), "expected": [several]})
    assert is_intended({**_hoisting("a"), "expected": {"x": nested}})
    assert not is_intended({**_hoisting("a"), "expected": whole})


def test_what_is_found_can_be_kept_as_a_case(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_KEPT", tmp_path / "fuzzed.json")
    case, expected = _hoisting("a"), {"results": [{"record": None}]}
    for _ in range(2):
        command._keep([Difference(case, expected, None, "record by record", 0, "record.value")])
    kept = json.loads((tmp_path / "fuzzed.json").read_text())
    assert [c["id"] for c in kept] == ["fuzzed-001", "fuzzed-002"]
    assert kept[0]["source"] == "HoistField"
    assert kept[0]["area"] == "smt"
    assert {n: kept[0][n] for n in case} == case
    assert kept[0]["expected"] == expected
