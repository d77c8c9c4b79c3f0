"""What the search tries, of the plugins that are installed."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock import ConfigError, Converter, HeaderConverter, Plugin, Predicate, Transform
from penstock_runtime.plugins.discovery import Plugins

from .chain_cases import chains, guarded, single
from .converter_cases import CONVERTERS, HEADER_CONVERTERS, reading, writing
from .transforms import PREDICATES, SIDED, TRANSFORMS

__all__ = ["Subject", "subjects"]


@dataclass(frozen=True)
class Subject:
    """Something to try, and random cases of it; `weight` is its part of the cases."""

    name: str
    cases: st.SearchStrategy[Any]
    weight: int = 1


def subjects() -> list[Subject]:
    """Everything that Kafka Connect has and Penstock can load."""
    transforms = [name for name in TRANSFORMS if _installed(Transform, f"{name}$Value" if name in SIDED else name)]
    predicates = [name for name in PREDICATES if _installed(Predicate, name)]
    found = [Subject(name, single(name, predicates), 1 if name == "Filter" else 3) for name in transforms]
    if "Filter" in transforms:
        found += [Subject(name, guarded(name)) for name in predicates]
    found.append(Subject("chains", chains(transforms, predicates), 6))
    for kind, names, mark in ((Converter, CONVERTERS, ""), (HeaderConverter, HEADER_CONVERTERS, " of headers")):
        for name in names:
            if _installed(kind, name):
                weight = 4 if name in ("JsonConverter", "SimpleHeaderConverter") and (not mark or name[0] == "S") else 1
                header = kind is HeaderConverter
                found.append(Subject(f"{name} writes{mark}", writing(name, header=header), weight))
                found.append(Subject(f"{name} reads{mark}", reading(name, header=header), weight))
    return found


def _installed(kind: type[Plugin], name: str) -> bool:
    try:
        Plugins.installed().find(kind, name)
    except ConfigError:
        return False
    return True
