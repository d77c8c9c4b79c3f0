"""Kubernetes client that runs kubectl, and so uses the user's context, authentication and permissions."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from json import JSONDecoder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NoReturn

from penstock.errors import ConnectError
from penstock_cli.text_table import printable
from penstock_runtime.logs import say

__all__ = ["FIELD_MANAGER", "Kubectl"]

FIELD_MANAGER: Final = "penstock-cli"
"""Field manager of every change. Flux reverts fields of managers whose names begin with `kubectl`."""


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the options that choose the cluster and the namespace.

    Attributes:
        options: such as `--context=prod` and `--namespace=shop`.
    """

    options: tuple[str, ...] = ()

    def text(self, *words: str, stdin: str | None = None, has_warnings: bool = False) -> str:
        """Run a command and return its output.

        Args:
            words: the command.
            stdin: its input.
            has_warnings: print what kubectl writes to standard error, such as the warnings of webhooks.

        Raises:
            ConnectError: kubectl cannot be run, or the command fails. The message is kubectl's.
        """
        try:
            done = subprocess.run(
                ["kubectl", *words, *self.options],  # noqa: S607
                input=stdin,
                capture_output=True,
                check=True,
                encoding="utf-8",
                errors="replace",
            )
        except OSError as e:
            raise _not_run(e) from None
        except subprocess.CalledProcessError as e:
            raise ConnectError(f"kubectl {words[0]}: {printable(e.stderr.strip())}") from None
        if has_warnings and done.stderr.strip():
            say(printable(done.stderr.strip()))
        return done.stdout

    def json(self, *words: str) -> dict[str, Any]:
        """Run a command and return its output, read as JSON.

        Raises:
            ConnectError: as `text`, or the output is not a JSON object.
        """
        return _object(self.text(*words, "--output=json"), words[0])

    def resources(self, *words: str, stdin: str | None = None, has_warnings: bool = False) -> list[dict[str, Any]]:
        """Run a command and return the resources that it prints, singly or in Lists. Raises as `json`."""
        text = self.text(*words, "--output=json", stdin=stdin, has_warnings=has_warnings)
        found, decoder, rest = list[dict[str, Any]](), JSONDecoder(), text.lstrip()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                value, end = None, 0
            whole = _checked(value, words[0])
            found += whole["items"] if whole.get("kind") == "List" else [whole]
            rest = rest[end:].lstrip()
        return found

    def connector(self, name: str) -> dict[str, Any]:
        """Return a Connector. Raises as `text`."""
        return self.json("get", "connectors.penstock.dev", name)

    def annotate(self, name: str, annotation: str, value: str | None) -> None:
        """Set or replace an annotation of a Connector; None removes it. Raises as `text`."""
        self._patch(name, {"metadata": {"annotations": {annotation: value}}})

    def patch_spec(self, name: str, spec: Mapping[str, Any]) -> None:
        """Merge fields into the spec of a Connector. Raises as `text`."""
        self._patch(name, {"spec": spec})

    def _patch(self, name: str, patch: Mapping[str, Any]) -> None:
        # As a file: Linux limits an argument to 128 KiB.
        with TemporaryDirectory(prefix="penstock-") as folder:
            file = Path(folder, "patch.json")
            file.write_text(json.dumps(patch), encoding="utf-8")
            words = ("patch", "connectors.penstock.dev", name, "--type=merge", f"--patch-file={file}")
            self.text(*words, f"--field-manager={FIELD_MANAGER}", has_warnings=True)

    def replace_process(self, *words: str) -> NoReturn:
        """Replace this process with a command, which takes over the terminal and the signals. On Windows, wait for its exit.

        Raises:
            ConnectError: kubectl cannot be run.
        """
        command = ["kubectl", *words, *self.options]
        try:
            if os.name == "posix":
                os.execvp("kubectl", command)  # noqa: S606, S607
            raise SystemExit(subprocess.run(command, check=False).returncode)
        except OSError as e:
            raise _not_run(e) from None


def _object(text: str, command: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return _checked(found, command)


def _checked(found: Any, command: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ConnectError(
            f"cannot read the output of kubectl {command}: it is not valid JSON; check that no wrapper or credential plugin "
            f"prints to standard output"
        )
    return found


def _not_run(error: OSError) -> ConnectError:
    if isinstance(error, FileNotFoundError):
        return ConnectError("cannot reach the cluster: kubectl is not installed; install it and set a context")
    return ConnectError(f"cannot run kubectl: {error.strerror}; check the kubectl on your PATH")
