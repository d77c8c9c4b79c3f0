"""Which cluster `make demo` runs on: examples/cluster/choice.py."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "examples" / "cluster" / "choice.py"


def _loaded() -> Any:  # the demo is a program, not a package of the project
    spec = importlib.util.spec_from_file_location("demo_choice", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["demo_choice"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


demo = _loaded()
ALL = demo.Machine(linux=True, root=True, docker=True, programs=frozenset({"kind", "kubectl", "helm", "go"}))
NO_DOCKER = replace(ALL, docker=False)
NOTHING = demo.Machine(linux=True, root=False, docker=False, programs=frozenset())


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    path = tmp_path / "config"
    path.touch()
    return path


def test_kind_is_taken_where_docker_and_its_programs_are() -> None:
    assert demo.choose("", ALL) == demo.Kind()


@pytest.mark.parametrize("missing", ["kind", "kubectl", "helm"])
def test_our_own_is_taken_where_a_program_for_kind_is_missing(missing: str) -> None:
    assert demo.choose("", replace(ALL, programs=ALL.programs - {missing})) == demo.Own()


def test_our_own_is_taken_by_root_on_linux_without_docker() -> None:
    assert demo.choose("", NO_DOCKER) == demo.Own()


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        (NOTHING, "needs root on Linux"),
        (replace(NO_DOCKER, linux=False), "needs root on Linux"),
        (replace(NO_DOCKER, programs=frozenset()), "Go, which builds it, is not installed"),
    ],
)
def test_without_any_the_demo_runs_locally_and_says_why(machine: Any, why: str) -> None:
    chosen = demo.choose("", machine)
    assert isinstance(chosen, demo.Local)
    assert "no Docker engine answers" in chosen.why
    assert why in chosen.why
    assert "\n" not in chosen.why


def test_a_kubeconfig_of_the_environment_is_never_used(monkeypatch: pytest.MonkeyPatch, kubeconfig: Path) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    assert isinstance(demo.choose("", NOTHING), demo.Local)


def test_named_cluster_is_used(kubeconfig: Path) -> None:
    assert demo.choose("own", ALL) == demo.Own()
    assert demo.choose("kind", ALL) == demo.Kind()
    assert demo.choose(f"{kubeconfig}#staging", NO_DOCKER) == demo.Foreign(kubeconfig, "staging")


@pytest.mark.parametrize("wanted", ["own", "kind"])
def test_what_is_named_and_not_possible_is_an_error_and_nothing_else_is_taken(wanted: str) -> None:
    with pytest.raises(ValueError, match=f"PENSTOCK_CLUSTER={wanted} is not possible here: "):
        demo.choose(wanted, NOTHING)


@pytest.mark.parametrize("wanted", ["nonsense", "#context", "file#", "#"])
def test_what_names_no_cluster_is_an_error_that_lists_the_forms(wanted: str) -> None:
    with pytest.raises(ValueError, match="write own, kind or KUBECONFIG#CONTEXT"):
        demo.choose(wanted, ALL)


def test_a_kubeconfig_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"there is no file {tmp_path / 'none'}"):
        demo.choose(f"{tmp_path / 'none'}#staging", ALL)


def test_a_cluster_of_yours_needs_kubectl_and_helm(kubeconfig: Path) -> None:
    with pytest.raises(ValueError, match="needs kubectl and helm: install it"):
        demo.choose(f"{kubeconfig}#staging", NOTHING)
