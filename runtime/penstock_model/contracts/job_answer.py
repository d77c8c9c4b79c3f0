"""A short pod's answer as a line of its log. Pure.

A log is kept in places that nobody thinks of as secret, and a configuration may hold passwords as they are. So the line
holds no text that stands in the request: it names the property, and the reader, who wrote the request, puts the text in.
Where a plugin has copied a password into another property, `${config:<property>}` stands in its place.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from penstock_model.contracts.job import JobAnswer
from penstock_model.contracts.pod_layout import ANSWER_PREFIX
from penstock_model.resources.connector import Connector

__all__ = ["RequestTexts", "answer_line", "config_reference", "read_answer"]

_VERSION: Final = "penstock.dev/answer/v2"
_WHOLE: Final = "penstock.dev/answer/v1"
"""Of runtimes before: it holds the whole configuration of each task, as `JobAnswer` does in memory."""
_COPY: Final = "${config:"
_MOST: Final = 4 << 20
"""Characters of an answer in full: four times what a plan's ConfigMap holds. A line is written by code of the Connector's
author, and few words of it may stand for a text of a megabyte in each of thousands of tasks."""


@dataclass(frozen=True, slots=True)
class RequestTexts:
    """The texts of a request that its answer names.

    Attributes:
        config: `spec.config`.
        conf: `spec.spark.conf`.
        worker: the worker configuration.
    """

    config: Mapping[str, str]
    conf: Mapping[str, str]
    worker: Mapping[str, str]

    @classmethod
    def of(cls, connector: Connector, worker: Mapping[str, str]) -> "RequestTexts":
        """Of a request for a connector."""
        return cls(connector.spec.config, connector.spec.spark.conf, worker)

    def __repr__(self) -> str:
        return "RequestTexts(...)"


def config_reference(name: str) -> str:
    """What stands in an answer in the place of the password of a property of `spec.config`."""
    return f"{_COPY}{name}}}"


def answer_line(answer: JobAnswer, written: RequestTexts) -> str:
    """The line."""
    document = answer.model_dump(mode="json", by_alias=True)
    document["apiVersion"] = _VERSION
    for task in (document["plan"] or {}).get("tasks", ()):
        for part, name, texts in _parts(task, written):
            as_written = sorted(n for n, text in part[name].items() if texts.get(n) == text)
            rest = {n: text for n, text in part[name].items() if n not in as_written}
            part[name] = {"asWritten": as_written, "texts": rest}
    return ANSWER_PREFIX + json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read_answer(log: str, written: RequestTexts) -> JobAnswer | None:
    """The last answer in a log; None without one that can be read, or when it is none to a request with these texts."""
    lines = [line for line in log.splitlines() if line.startswith(ANSWER_PREFIX)]
    try:
        return _answer(json.loads(lines[-1][len(ANSWER_PREFIX) :]), written) if lines else None
    except (ValidationError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _answer(document: dict[str, Any], written: RequestTexts) -> JobAnswer:
    if document.get("apiVersion") == _VERSION:
        document["apiVersion"] = _WHOLE
        left = _MOST
        for task in (document.get("plan") or {}).get("tasks", ()):
            for part, name, texts in _parts(task, written):
                short = part[name]
                part[name] = {n: texts[n] for n in short["asWritten"]}
                left -= sum(map(len, part[name].values()))
                for n, text in short["texts"].items():
                    part[name][n] = _with_copies(text, written.config, left)
                    left -= len(part[name][n])
                if left < 0:
                    raise ValueError(f"the answer is longer than {_MOST} characters")
    return JobAnswer.model_validate(document)


def _parts(task: dict[str, Any], written: RequestTexts) -> tuple[tuple[dict[str, Any], str, Mapping[str, str]], ...]:
    return (task, "config", written.config), (task["spark"], "conf", written.conf), (task, "worker", written.worker)


def _with_copies(text: str, config: Mapping[str, str], most: int) -> str:
    """The text with passwords put in again; what names no property of the configuration was a text of its author's.

    Raises:
        ValueError: it becomes longer than `most`.
    """
    first, *others = text.split(_COPY)
    found, length = [first], len(first)
    for other in others:
        name, end, rest = other.partition("}")
        parts = (config[name].strip(), rest) if end and name in config else (_COPY, other)
        found += parts
        length += sum(map(len, parts))
        if length > most:
            raise ValueError(f"a text of the answer is longer than {most} characters")
    return "".join(found)
