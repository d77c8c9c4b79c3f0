"""Trials of transforms on a pasted record, in a child process, because the operator itself does not run plugins.

A trial reveals no secrets: it uses only the values that the console shows, and resolves no variable.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.errors import ConnectError
from penstock_model.connect.plugin_chain import asked_plugins
from penstock_model.connect.plugin_names import is_built_in
from penstock_model.connect.redaction import HIDDEN
from penstock_model.connect.variables import has_variable
from penstock_model.resources.partial import PLACEHOLDER
from penstock_web.child_process import run_child
from penstock_web.plugin_knowledge import knowledge_of
from penstock_web.shown_config import shown_config
from penstock_web.source import Document, WebSource

__all__ = ["Trials"]

_COMMAND: Final = (sys.executable, "-I", "-m", "penstock_runtime.trial")
_SECONDS: Final = 20.0
_MOST: Final = 64 << 10
_INSTEAD: Final = "use penstock transform"


class Trials:
    """Runner of trials of Connectors' chains, one at a time. Used in one event loop.

    Args:
        source: source of the resources.
        command: program that tries a chain.
        seconds: timeout of a trial.
    """

    def __init__(self, source: WebSource, command: Sequence[str] = _COMMAND, seconds: float = _SECONDS) -> None:
        self._source = source
        self._command = command
        self._seconds = seconds
        self._place = asyncio.Lock()

    async def __call__(self, connector: Document, record: str) -> str:
        """Return the result of each step of a Connector's chain for a record in JSON, as text.

        Raises:
            ConnectError: the chain cannot be tried here; the message has the remedy.
        """
        if len(record) > _MOST:
            raise ConnectError(f"cannot try the transforms: the record has more than {_MOST} characters; {_INSTEAD}")
        if self._place.locked():
            raise ConnectError("cannot try the transforms: another record is being tried; try again")
        async with self._place:
            trial = await asyncio.to_thread(self._manifest, connector)
            request = json.dumps({"connector": trial, "records": record})
            try:
                code, out, error = await run_child(self._command, request, self._seconds, {"LANG": "C.UTF-8"})
            except TimeoutError:
                cause = f"they took longer than {self._seconds:.0f} s"
                raise ConnectError(f"cannot try the transforms: {cause}; {_INSTEAD}") from None
        if code != 0:
            cause = error.strip() or f"the process exited with code {code}, for example at a time limit; {_INSTEAD}"
            raise ConnectError(f"cannot try the transforms: {cause}")
        return out or "There is no record.\n"

    def _manifest(self, connector: Document) -> Mapping[str, Any]:
        """Return a Connector with only the chain, for the trial. May block."""
        metadata, status = connector["metadata"], connector.get("status") or {}
        knowledge = knowledge_of(self._source, str(metadata.get("namespace") or ""))
        shown = shown_config(connector, knowledge, self._source.worker())
        chain = {n: v for n, v in shown.items() if n.partition(".")[0] in ("transforms", "predicates")}
        if reason := _obstacle(chain):
            raise ConnectError(f"cannot try the transforms in the operator: {reason}; {_INSTEAD}")
        is_sink = (status.get("connector") or {}).get("type") == "sink" or "topics" in shown
        topic = shown.get("topics" if is_sink else "topic", "")
        if topic and topic != HIDDEN and not has_variable(topic):
            chain["topics" if is_sink else "topic"] = topic
        else:
            chain |= {"topics": "sample"} if is_sink else {}
        named = {n: metadata[n] for n in ("name", "namespace") if n in metadata}
        return {
            "apiVersion": connector["apiVersion"],
            "kind": connector["kind"],
            "metadata": named,
            "spec": {"class": PLACEHOLDER, "config": chain},
        }


def _obstacle(chain: Mapping[str, str]) -> str | None:
    """Return why the operator cannot try a chain; None: it can."""
    steps = [a for a in asked_plugins("", None, chain, {}) if a.kind in ("transform", "predicate")]
    if others := [a.name for a in steps if not is_built_in(a.kind, a.name)]:
        return f"it has only the built-in transforms, and not {', '.join(others)}"
    # `asked_plugins` omits a type that contains `${`, even if it is not a variable.
    if unknown := [n for n, value in chain.items() if has_variable(value) or (n.endswith(".type") and "${" in value)]:
        return f"only pods of the connector can resolve the values of {', '.join(unknown)}"
    if hidden := [name for name, value in chain.items() if value == HIDDEN]:
        return f"the values of {', '.join(hidden)} are hidden in the console"
    return None
