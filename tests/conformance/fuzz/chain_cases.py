"""Chains over records, as cases."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hypothesis import strategies as st

from .dates import MILLIS, texts_for
from .shapes import ANY, DATED, TEXTS, Shape, leaves, schemas, shapes, values, values_without_schema
from .texts import HEADER_NAMES, LITERALS, TOPICS
from .transforms import SIDED, Fields, configured

__all__ = ["chains", "guarded", "single"]

_PACKAGE: Final = "org.apache.kafka.connect.transforms"
_PARTITIONS: Final = st.one_of(st.none(), st.integers(0, 3), st.sampled_from([2**31 - 1]))
_TIMES: Final = st.one_of(st.none(), MILLIS, st.sampled_from([1463716800123, 0]))


@st.composite
def single(draw: st.DrawFn, plugin: str, predicates: Sequence[str]) -> Any:
    """A case about one transform, or about one predicate that guards a transform everybody has."""
    return draw(_case([plugin], predicates))


@st.composite
def guarded(draw: st.DrawFn, predicate: str) -> Any:
    """A case about one predicate."""
    return draw(_case(["Filter"], [predicate], always=True))


@st.composite
def chains(draw: st.DrawFn, plugins: Sequence[str], predicates: Sequence[str]) -> Any:
    """A case of two to four transforms."""
    # Whole-record drops would end most chains.
    usual = [p for p in plugins if p != "Filter"] or list(plugins)
    chosen = draw(st.lists(st.sampled_from([*usual, *usual, *plugins]), min_size=2, max_size=4))
    return draw(_case(chosen, predicates))


@st.composite
def _case(draw: st.DrawFn, chosen: Sequence[str], predicates: Sequence[str], *, always: bool = False) -> Any:
    sink = draw(st.integers(0, 3)) == 3
    kinds = DATED if "TimestampConverter" in chosen and draw(st.integers(0, 3)) else ANY
    # These work on a whole side as well: many values of one type then.
    whole = list(chosen) in (["Cast"], ["TimestampConverter"]) and draw(st.booleans())
    values_ = draw(st.lists(leaves(kinds) if whole else shapes(kinds), min_size=1, max_size=2))
    keys = [draw(st.one_of(st.just(Shape(None, always_null=True)), leaves(kinds) if whole else shapes(kinds)))]
    right = draw(st.integers(0, 9)) < 7
    config = {"transforms": ",".join(f"t{n}" for n in range(len(chosen)))}
    guards: dict[str, str] = {}
    for n, plugin in enumerate(chosen):
        config |= draw(_stage(f"transforms.t{n}.", plugin, keys, values_, right=right, whole=whole))
        if predicates and (always or draw(st.integers(0, 3)) == 3):
            config |= draw(_guard(f"transforms.t{n}.", predicates, guards, right=right))
    if guards:
        config["predicates"] = ",".join(guards)
        for alias, kind in guards.items():
            config |= draw(_stage(f"predicates.{alias}.", kind, keys, values_, right=right, whole=whole))
    if not right and draw(st.integers(0, 9)) == 9:
        config = draw(_spoiled(config))
    records = draw(
        st.lists(_records(keys, values_, _texts(draw, config), sink=sink), min_size=1, max_size=6 if whole else 3)
    )
    case = {"kind": "sink"} if sink else {}
    return case | {"config": config, "input": {"records": records}}


@st.composite
def _stage(
    draw: st.DrawFn,
    prefix: str,
    plugin: str,
    keys: Sequence[Shape],
    values_: Sequence[Shape],
    *,
    right: bool,
    whole: bool,
) -> Any:
    name = f"{_PACKAGE}.predicates.{plugin}" if prefix.startswith("predicates.") else f"{_PACKAGE}.{plugin}"
    sides = values_
    if plugin in SIDED:
        side = draw(st.sampled_from(["Value", "Value", "Value", "Key"]))
        name, sides = f"{name}${side}", keys if side == "Key" else values_
    elif draw(st.integers(0, 9)) == 9:
        name = plugin
    found = dict.fromkeys(n for s in sides for n in s.names or ())
    properties = draw(configured(plugin, Fields(list(found), list(_paths(sides)), right, whole)))
    return {f"{prefix}type": name} | {prefix + n: t for n, t in properties.items()}


def _paths(sides: Sequence[Shape]) -> dict[str, None]:
    """Two steps into structs, for ExtractField."""
    found: dict[str, None] = {}
    for side in sides:
        for field in (side.schema or {}).get("fields", ()):
            for inner in field["schema"].get("fields", ()):
                steps = [f"`{n}`" if "." in n else n for n in (field["name"], inner["name"])]
                found[".".join(steps)] = None
    return found


@st.composite
def _guard(draw: st.DrawFn, prefix: str, predicates: Sequence[str], guards: dict[str, str], *, right: bool) -> Any:
    alias = draw(st.sampled_from(["p", "q"]))
    guards.setdefault(alias, draw(st.sampled_from(predicates)))
    made = {f"{prefix}predicate": alias}
    if draw(st.booleans()):
        wrong = [] if right else ["yes", "", " true "]
        made[f"{prefix}negate"] = draw(st.sampled_from(["true", "true", "false", "TRUE", "True", *wrong]))
    return made


@st.composite
def _spoiled(draw: st.DrawFn, config: Mapping[str, str]) -> Any:
    """A mistake in what surrounds the plugins."""
    made = dict(config)
    match draw(st.integers(0, 6)):
        case 0:
            made["transforms"] += ",t0"
        case 1:
            made["transforms"] += ",t9"
        case 2:
            del made["transforms.t0.type"]
        case 3:
            made["transforms.t0.type"] = draw(
                st.sampled_from(["", "Nothing", f"{_PACKAGE}.Cast", f"{_PACKAGE}.predicates.HasHeaderKey"])
            )
        case 4:
            made["transforms.t0.predicate"] = draw(st.sampled_from(["x", "P", " p", ""]))
        case 5:
            made["transforms.t0.negate"] = draw(st.sampled_from(["true", "false"]))
        case _:
            made["predicates"] = draw(st.sampled_from(["p,p", "p,", "p,q,r", ""]))
    return made


def _texts(draw: st.DrawFn, config: Mapping[str, str]) -> st.SearchStrategy[str]:
    """Texts for the records: dates where a format reads them."""
    formats = [text for name, text in config.items() if name.endswith(".format") and "topic" not in name and text]
    return st.one_of(*(texts_for(f) for f in formats), *(texts_for(f) for f in formats), TEXTS) if formats else TEXTS


@st.composite
def _records(
    draw: st.DrawFn, keys: Sequence[Shape], values_: Sequence[Shape], texts: st.SearchStrategy[str], *, sink: bool
) -> Any:
    made = {
        "topic": draw(TOPICS) if draw(st.integers(0, 19)) < 19 else None,
        "partition": draw(_PARTITIONS),
        "key": draw(draw(st.sampled_from(keys)).typed(texts)),
        "value": draw(draw(st.sampled_from(values_)).typed(texts)),
        "headers": draw(st.lists(_headers(), max_size=3)) if draw(st.booleans()) else [],
        "timestamp": draw(_TIMES),
    }
    if sink:
        made["offset"] = draw(st.sampled_from([0, 1, 2**40]))
    return made


@st.composite
def _headers(draw: st.DrawFn) -> Any:
    name = draw(HEADER_NAMES)
    if draw(st.booleans()):
        return {"name": name, "schema": None, "value": draw(values_without_schema(LITERALS, 1))}
    schema = draw(schemas(1))
    return {"name": name, "schema": schema, "value": draw(values(schema))}
