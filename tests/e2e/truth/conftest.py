"""The selected faults are tried once, side by side; each test then looks at what came of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from ..cluster import ROOT, Cluster
from ..kafka import Kafka
from ..release import Release
from .fault import World
from .runner import Outcome, run
from .summary import lines

_RESULTS: Final = ROOT / "build" / "truth"
"""What each fault's conditions said, and `measured.json`."""
_outcomes: dict[str, Outcome] = {}


@pytest.fixture(scope="session")
def outcomes(
    kubernetes: Cluster,
    kafka: Kafka,
    installed: Release,
    namespaces: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> dict[str, Outcome]:
    """What came of each selected fault, by its name."""
    callspecs = (getattr(item, "callspec", None) for item in request.session.items)
    selected = [c.params["fault"] for c in callspecs if c is not None and "fault" in c.params]
    world = World(kubernetes, kafka, installed, namespaces, tmp_path_factory.mktemp("faults"))
    terminal: Any = request.config.pluginmanager.get_plugin("terminalreporter")
    _RESULTS.mkdir(parents=True, exist_ok=True)

    def tell(outcome: Outcome) -> None:
        file = _RESULTS / f"{outcome.fault.name.replace(' ', '-').replace('/', '-')}.txt"
        file.write_text("\n".join([outcome.problem or "good", *outcome.history, ""]))
        if terminal is not None:
            terminal.write_line(f"{outcome.fault.name}: {outcome.problem[:200] or 'good'}")

    _outcomes.update(run(selected, world, tell))
    _keep(_RESULTS / "measured.json")
    return _outcomes


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if _outcomes:
        terminalreporter.section("faults")
        for line in lines([*_outcomes.values()]):
            terminalreporter.line(line)


def _keep(file: Path) -> None:
    """Add the measures of this run to those of earlier ones."""
    kept = json.loads(file.read_text()) if file.exists() else {}
    for name, outcome in _outcomes.items():
        if outcome.problem:
            continue
        measures = {"named": _rounded(outcome.named), "recovered": _rounded(outcome.recovered)}
        kept[name] = {**measures, "said": outcome.said}
    file.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def _rounded(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)
