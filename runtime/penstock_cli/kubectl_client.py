"""Client of the cluster that runs kubectl, so that it has the user's context, authentication and rights."""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from penstock.errors import ConnectError

__all__ = ["FIELD_MANAGER", "Kubectl"]

FIELD_MANAGER: Final = "penstock-cli"
"""Field manager of every change. Flux reverts fields of managers whose names begin with `kubectl`."""
_MISSING: Final = "cannot reach the cluster: kubectl is not installed; install it and set a context"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the options that choose the cluster and the namespace.

    Attributes:
        options: such as `--context=prod` and `--namespace=shop`.
    """

    options: tuple[str, ...] = ()

    def text(self, *words: str, stdin: str | None = None) -> str:
        """Run a command and return its output.

        Raises:
            ConnectError: kubectl is not installed, or the command fails. The message is that of kubectl.
        """
        try:
            done = subprocess.run(
                ["kubectl", *words, *self.options],  # noqa: S607
                input=stdin,
                capture_output=True,
                check=True,
                text=True,
            )
        except FileNotFoundError:
            raise ConnectError(_MISSING) from None
        except subprocess.CalledProcessError as e:
            raise ConnectError(f"kubectl {words[0]}: {e.stderr.strip()}") from None
        return done.stdout

    def json(self, *words: str, stdin: str | None = None) -> dict[str, Any]:
        """Run a command and return its output, read as JSON. Raises as `text`."""
        found: dict[str, Any] = json.loads(self.text(*words, "--output=json", stdin=stdin))
        return found

    def connector(self, name: str) -> dict[str, Any]:
        """Return a Connector. Raises as `text`."""
        return self.json("get", "connectors.penstock.dev", name)

    def annotate(self, name: str, annotation: str, value: str | None) -> None:
        """Set or replace an annotation of a Connector; None removes it. Raises as `text`."""
        change = f"{annotation}-" if value is None else f"{annotation}={value}"
        words = ("annotate", "connectors.penstock.dev", name, change)
        self.text(*words, "--overwrite", f"--field-manager={FIELD_MANAGER}")

    def patch_spec(self, name: str, spec: Mapping[str, Any]) -> None:
        """Merge fields into the spec of a Connector. Raises as `text`."""
        patch = json.dumps({"spec": spec})
        words = ("patch", "connectors.penstock.dev", name, "--type=merge", f"--patch={patch}")
        self.text(*words, f"--field-manager={FIELD_MANAGER}")

    def replace_process(self, *words: str) -> NoReturn:
        """Become this command, which has the terminal and the signals from now on.

        Raises:
            ConnectError: kubectl is not installed.
        """
        try:
            os.execvp("kubectl", ["kubectl", *words, *self.options])  # noqa: S606, S607
        except FileNotFoundError:
            raise ConnectError(_MISSING) from None
