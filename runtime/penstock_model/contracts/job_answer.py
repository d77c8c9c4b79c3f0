"""Answer of a job pod as a line of its log. Pure.

Logs are not protected like secrets, and a configuration may contain literal passwords. Therefore the line repeats no value
of the request: it names the property, and the operator, which wrote the request, inserts the value again. If a plugin copied
a password into another property, the line contains `${config:<property>}` instead.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from penstock_model.contracts.job import JobAnswer
from penstock_model.contracts.pod_layout import ANSWER_PREFIX

__all__ = ["RequestTexts", "answer_line", "config_reference", "read_answer"]

_COPY: Final = "${config:"
_MOST: Final = 4 << 20
"""Maximum number of characters of a complete answer: four times the size of a plan's ConfigMap. A plugin may write the line
itself, and a few of its words can expand to a megabyte of text in each of thousands of tasks."""


@dataclass(frozen=True, slots=True)
class RequestTexts:
    """Values of a request, to which its answer refers by name (`Connector.request_texts`).

    Attributes:
        config: `spec.config`.
        settings: fields of the spec that tasks read (`TaskSpec.settings`).
        worker: the worker configuration.
    """

    config: Mapping[str, str]
    settings: Mapping[str, Any]
    worker: Mapping[str, str]

    def __repr__(self) -> str:
        return "RequestTexts(...)"


def config_reference(name: str) -> str:
    """Return the reference that replaces the password of a property of `spec.config` in an answer."""
    return f"{_COPY}{name}}}"


def answer_line(answer: JobAnswer, written: RequestTexts) -> str:
    """Return the log line of an answer."""
    document = answer.model_dump(mode="json", by_alias=True)
    for task in (document["plan"] or {}).get("tasks", ()):
        for part, name, texts in _parts(task, written):
            as_written = sorted(n for n, text in part[name].items() if texts.get(n) == text)
            rest = {n: text for n, text in part[name].items() if n not in as_written}
            part[name] = {"asWritten": as_written, "texts": rest}
    return ANSWER_PREFIX + json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def read_answer(log: str, written: RequestTexts) -> JobAnswer | None:
    """Return the last answer in a log, or None if it is missing, cannot be read, or answers another request."""
    # Not `splitlines`, which also splits at characters that JSON does not escape (U+2028).
    lines = [line for line in log.split("\n") if line.startswith(ANSWER_PREFIX)]
    try:
        return _answer(json.loads(lines[-1][len(ANSWER_PREFIX) :]), written) if lines else None
    except (ValidationError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _answer(document: dict[str, Any], written: RequestTexts) -> JobAnswer:
    remaining = _MOST
    for task in (document.get("plan") or {}).get("tasks", ()):
        for part, name, texts in _parts(task, written):
            short = part[name]
            part[name] = {n: texts[n] for n in short["asWritten"]}
            remaining -= sum(map(_length, part[name].values()))
            for n, text in short["texts"].items():
                is_text = isinstance(text, str)
                part[name][n] = _with_passwords(text, written.config, remaining) if is_text else text
                remaining -= _length(part[name][n])
            if remaining < 0:
                raise ValueError(f"the answer is longer than {_MOST} characters")
    return JobAnswer.model_validate(document)


def _parts(task: dict[str, Any], written: RequestTexts) -> tuple[tuple[dict[str, Any], str, Mapping[str, Any]], ...]:
    return (task, "config", written.config), (task, "settings", written.settings), (task, "worker", written.worker)


def _length(value: Any) -> int:
    return len(value if isinstance(value, str) else json.dumps(value))


def _with_passwords(text: str, config: Mapping[str, str], most: int) -> str:
    """Replace references with passwords. References to unknown properties are kept: the user wrote them.

    Raises:
        ValueError: the result is longer than `most`.
    """
    first, *others = text.split(_COPY)
    pieces, length = [first], len(first)
    for other in others:
        name, end, rest = other.partition("}")
        parts = (config[name].strip(), rest) if end and name in config else (_COPY, other)
        pieces += parts
        length += sum(map(len, parts))
        if length > most:
            raise ValueError(f"a text of the answer is longer than {most} characters")
    return "".join(pieces)
