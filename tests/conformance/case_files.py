"""The cases of the folder that `CONFORMANCE_CASES` names, by default our own: every `*.json` there, whatever its name."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

__all__ = ["AREAS", "FOLDER", "OWN", "Case", "cases", "every", "group"]

Case = dict[str, Any]

OWN: Final = Path(__file__).parent / "cases"
FOLDER: Final = Path(os.environ.get("CONFORMANCE_CASES") or OWN).expanduser()

AREAS: Final = (
    "smt",
    "transform-config",
    "predicate",
    "converter",
    "datetime",
    "regex",
    "plugin-version",
    "topic-creation",
    "validation",
)
_OF_TRANSFORMS: Final = ("transform-config", "predicate")


@cache
def every() -> tuple[Case, ...]:
    """All cases of the folder.

    Scenarios (`given`, `when`, `then` in words) are for people: each is an integration test that carries its id.
    """
    paths = sorted(FOLDER.glob("*.json"))
    assert paths, f"{FOLDER} has no *.json"
    return tuple(case for path in paths for case in json.loads(path.read_text("utf-8")) if "given" not in case)


def cases(*areas: str) -> list[Any]:
    """The cases of these areas, as the parameters of a test."""
    return [pytest.param(case, id=case["id"]) for case in every() if case["area"] in areas]


def group(area: str) -> str:
    """What limits are counted by: transforms, predicates and their configuration are one."""
    return "smt" if area in _OF_TRANSFORMS else area
