"""Shell completion of `kubectl penstock`: kubectl runs `kubectl_complete-penstock` with the words of the command line."""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from penstock.errors import ConnectError
from penstock_cli.kubectl.command import parser
from penstock_cli.kubectl_client import Kubectl

__all__ = ["completions", "main"]

_NO_FILES = ":4"
"""Directive of kubectl's completion: the shell must not complete file names."""
_FILES = ":0"
_OF_FILES = ("filename", "offsets", "kubeconfig")
"""Options whose value is the name of a file."""


def main() -> int:
    """Print the completions of the last argument, one in each line, and the directive for the shell."""
    *before, word = sys.argv[1:] or [""]
    sys.stdout.writelines(f"{each}\n" for each in completions(before, word))
    awaited = _awaited(_command(before)[0], before)
    sys.stdout.write(f"{_FILES if awaited is not None and awaited.dest in _OF_FILES else _NO_FILES}\n")
    return 0


def completions(before: Sequence[str], word: str) -> list[str]:
    """Return the words that can follow those before the cursor and that begin with the word at the cursor."""
    return sorted({each for each in _candidates(before, word) if each.startswith(word)})


def _candidates(before: Sequence[str], word: str) -> Iterator[str]:
    at, verbs = _command(before)
    if (awaited := _awaited(at, before)) is not None:
        yield from map(str, awaited.choices or ())
    elif word.startswith("-"):
        yield from (option for action in at._actions for option in action.option_strings)  # noqa: SLF001
    elif verbs:
        yield from verbs
    elif any(action.dest in ("name", "names") and action.metavar == "NAME" for action in at._actions):  # noqa: SLF001
        yield from _names(before)


def _command(before: Sequence[str]) -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """Return the parser of the command, and the words that can follow it."""
    at, rest = parser(), list(before)
    verbs = _verbs(at)
    while rest and verbs:
        if (found := verbs.get(rest.pop(0))) is not None:
            at, verbs = found, _verbs(found)
    return at, verbs


def _awaited(at: argparse.ArgumentParser, before: Sequence[str]) -> argparse.Action | None:
    """Return the option whose value is at the cursor."""
    options = (a for a in at._actions if before and before[-1] in a.option_strings)  # noqa: SLF001
    return next((option for option in options if option.nargs != 0), None)


def _verbs(at: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next((dict(a.choices) for a in at._actions if isinstance(a, argparse._SubParsersAction)), {})  # noqa: SLF001


def _names(before: Sequence[str]) -> Iterator[str]:
    found = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for option in ("--namespace", "--context", "--kubeconfig"):
        found.add_argument(*(["-n"] if option == "--namespace" else []), option)
    try:
        place, _ = found.parse_known_args([*before])
    except argparse.ArgumentError:  # an option without its value
        return
    options = tuple(f"--{name}={value}" for name, value in vars(place).items() if value)
    try:
        names = Kubectl(options).text("get", "connectors.penstock.dev", "--output=name", "--request-timeout=2s")
    except ConnectError:
        return
    yield from (name.rpartition("/")[2] for name in names.split())


if __name__ == "__main__":
    sys.exit(main())
