"""Shell completion of `kubectl penstock`, as kubectl asks for it."""

from pathlib import Path

import pytest

from penstock_cli.kubectl.completion import completions, main


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the place of kubectl that writes down its words and knows two Connectors."""
    (tmp_path / "kubectl").write_text(
        '#!/bin/sh\necho "$@" > "$(dirname "$0")/words"\n'
        "echo connector.penstock.dev/orders-in\necho connector.penstock.dev/b\n"
    )
    (tmp_path / "kubectl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path / "words"


def test_commands_and_verbs_are_completed() -> None:
    assert completions([], "st") == ["status", "stop"]
    assert completions(["offsets"], "") == ["alter", "list", "reset"]


def test_options_of_the_command_are_completed() -> None:
    assert completions(["logs"], "--f") == ["--follow"]
    assert "--dry-run" in completions(["offsets", "reset"], "--")


def test_names_come_from_the_namespace_of_the_command_line(kubectl: Path) -> None:
    assert completions(["restart", "-n", "shop"], "o") == ["orders-in"]
    assert "--namespace=shop" in kubectl.read_text()


def test_without_a_cluster_nothing_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert completions(["restart"], "") == []
    assert completions(["plan", "--filename"], "") == []


@pytest.mark.parametrize(
    ("words", "directive"),
    [(("plan", "-f", ""), ":0"), (("logs", "-f", ""), ":4"), (("offsets", "alter", "--offsets", ""), ":0")],
)
def test_files_are_completed_where_the_option_of_the_command_takes_one(
    kubectl: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    directive: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["kubectl_complete-penstock", *words])
    assert main() == 0
    *names, last = capsys.readouterr().out.split()
    assert last == directive
    assert names == (["b", "orders-in"] if words[0] == "logs" else [])


def test_the_value_of_an_option_is_no_name_of_a_connector(kubectl: Path) -> None:
    assert completions(["status", "-n"], "") == []
    assert completions(["logs", "orders-in", "--tail"], "") == []
    assert completions(["offsets", "list", "orders-in", "-o"], "") == ["json"]
    assert completions(["status", "-n", "--context", "prod"], "") == []
    assert not kubectl.exists()
