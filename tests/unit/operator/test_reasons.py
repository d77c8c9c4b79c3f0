"""Types of conditions and reasons: users script against them, so each stands in one table and nowhere else."""

import ast
from collections.abc import Iterator
from pathlib import Path

import penstock_operator
from penstock_operator.connector.model.verdict import Kind
from penstock_operator.reasons import ConditionType, Reason, Use

SOURCES = Path(penstock_operator.__file__).parent
TABLE = SOURCES / "reasons.py"
ALSO_STATES = {
    "Pending",
    "Running",
    "Paused",
    "Restarting",
    "Stopping",
    "Stopped",
    "Degraded",
    "Failed",
    "Waiting",
    "Ended",
    "Refused",
    "Invalid",
}
"""Words that are states of connectors, tasks and pods, results of actions, or reasons of the API server, too."""
OF_PODS = ("connector/model/pod_end.py", "Ready")
"""A pod's own condition has the same name."""
POSITIONS = {
    "Verdict": 1,
    "Config": 1,
    "Pending": 0,
    "Permission": 1,
    "NameRefusal": 0,
    "Ended": 1,
    "ConnectorEvent": 1,
    "to": 2,
    "waiting": 1,
}
"""Where a reason stands among the positional arguments of a call."""


def constants(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and inner.value:
            yield inner.value


def literals_in_place_of_reasons(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
                place = POSITIONS.get(name)
                if place is not None and len(args) > place:
                    yield from (c for c in [getattr(args[place], "value", None)] if isinstance(c, str) and c)
                yield from (c for k in keywords if k.arg == "reason" for c in constants(k.value) if c in {*Reason})
            case ast.Compare(left=ast.Attribute(attr="reason"), comparators=[other]):
                yield from (c for c in constants(other) if c in {*Reason})
            case _:
                pass


def literals(file: Path) -> Iterator[str]:
    words = {str(w) for w in (*Reason, *ConditionType)} - ALSO_STATES
    tree = ast.parse(file.read_text())
    place = str(file.relative_to(SOURCES))
    code = [n for n in tree.body if not (isinstance(n, ast.Assign) and "__all__" in ast.unparse(n.targets[0]))]
    found = [w for node in code for w in constants(node) if w in words and (place, w) != OF_PODS]
    yield from (f"{place}: {w}" for w in (*found, *literals_in_place_of_reasons(tree)))


def test_no_reason_and_no_type_of_condition_is_a_literal_outside_their_table() -> None:
    files = [f for f in sorted(SOURCES.rglob("*.py")) if f != TABLE]
    assert len(files) > 50
    assert [found for file in files for found in literals(file)] == []


def test_the_ways_in_which_ready_is_set_are_the_kinds_of_verdicts() -> None:
    assert {k.name for k in Kind} == {u.name for u in (Use.READY, Use.IN_PROGRESS, Use.STALLED, Use.UNKNOWN)}


def test_every_reason_is_a_word_that_kubernetes_takes_and_says_what_it_means() -> None:
    for reason in Reason:
        assert reason.isalpha()
        assert reason[0].isupper()
        assert reason.use
        assert reason.means


def verdicts(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """The kind and the reason of each `Verdict` that names both."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("Verdict"), args=[ast.Attribute(ast.Name("Kind"), kind), given, *_]):
                inner = [n for n in ast.walk(given) if isinstance(n, ast.Attribute)]
                yield from ((kind, n.attr) for n in inner if isinstance(n.value, ast.Name) and n.value.id == "Reason")
            case _:
                pass


def test_each_verdict_has_a_reason_that_the_table_has_for_its_kind() -> None:
    pairs = {pair for file in SOURCES.rglob("*.py") for pair in verdicts(ast.parse(file.read_text()))}
    assert len(pairs) > 8
    assert {(kind, reason) for kind, reason in pairs if not Reason[reason].use & (Use[kind] | Use.API_SERVER)} == set()
