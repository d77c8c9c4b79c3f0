"""A thousand random cases, the same ones each time; `make fuzz` tries twenty thousand others."""

from collections.abc import Iterator
from typing import Final

import pytest

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


@pytest.mark.parametrize("subject", _SUBJECTS, ids=lambda s: s.name)
def test_random_cases_go_as_in_kafka_connect(oracle: Oracle, subject: Subject) -> None:
    found = search(oracle, subject, max(1, _CASES * subject.weight // _WEIGHT), _SEED)
    assert found is None, found.shown()
