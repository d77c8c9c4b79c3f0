"""Watch the process that imports the classes of an image: its answer, output, exit and duration.

That process runs untrusted code. Its answer therefore counts only if it is complete, its output is read to the end but shown
only up to a limit, and this process reports the outcome even if the other one hangs or exits. Configuration definitions
follow the answer: errors in them do not change it.
"""

import json
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from penstock.errors import ConfigError
from penstock_model.contracts.base import Part
from penstock_model.contracts.definitions import LARGEST_TEXT, ClassDefinition, PackedDefinitions, pack
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.task_reports import TerminationMessage
from penstock_model.contracts.verification import LONGEST_CLASSES, FoundClass, classes_text

__all__ = ["ANSWER_VARIABLE", "Answer", "Found", "watch"]

ANSWER_VARIABLE: Final = "PENSTOCK_ANSWER"
"""Descriptor to which the watched process writes lines: `{"importing": <alias>}`, then an `Answer`, then for each class
`{"definition": <ClassDefinition>}` or `{"undefined": <why>}`, and finally `{"end": true}`.

Each line begins with the first line of the process's standard input, a key that plugin code does not know, even if it writes
to every descriptor.
"""
_CHUNK: Final = 1 << 16
_LONGEST_ANSWER: Final = 1 << 20  # bytes
_LONGEST: Final = _LONGEST_ANSWER + LARGEST_TEXT
"""Maximum bytes of the answer and the definitions after it."""
_SHOWN_UNDEFINED: Final = 3
_UNDEFINED: Final = 512  # characters
_SHOWN: Final = 1 << 16
"""Maximum bytes of the output to show in the pod's log."""


class Answer(Part):
    """Findings of the watched process.

    Attributes:
        problems: differences from the declaration, and failed imports.
        warnings: findings that do not prevent the use of the image.
        classes: aliases that were imported.
        java: Java classes in the image.
        trouble: why the image could not be inspected; the verification is retried.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    java: tuple[FoundClass, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Outcome of a watched process.

    Attributes:
        message: verdict as a termination message.
        group: process group of the watched process.
        definitions: configuration definitions, whose digest is in the message; None: there are none.
    """

    message: TerminationMessage
    group: int
    definitions: PackedDefinitions | None = None


@dataclass(slots=True)
class _Lines:
    """Answer as it arrives, line by line.

    Attributes:
        key: prefix of each line.
        importing: class that is being imported.
        answer: the answer, once it is complete. Later data cannot change it.
        definitions: definitions of the classes, which follow the answer.
        undefined: why classes have no definition.
        has_ended: whether all definitions have arrived.
        is_broken: whether invalid data arrived, which the watched process did not write; reading has stopped.
    """

    key: bytes
    importing: str = ""
    answer: Answer | None = None
    definitions: list[ClassDefinition] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)
    has_ended: bool = False
    is_broken: bool = False
    _rest: bytes = b""
    _length: int = 0

    @property
    def is_lost(self) -> bool:
        """Return whether the answer was overwritten before it was complete."""
        return self.is_broken and self.answer is None

    def add(self, data: bytes) -> None:
        self._length += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self.is_broken:
                self._read(line)
        longest = _LONGEST_ANSWER if self.answer is None else _LONGEST
        self.is_broken = self.is_broken or self._length > longest

    def _read(self, line: bytes) -> None:
        try:
            if not line.startswith(self.key):
                raise ValueError
            document = json.loads(line.removeprefix(self.key))
            if self.answer is not None:
                self._read_definition(document)
            elif "importing" in document:
                self.importing = str(document["importing"])[:128]
            else:
                self.answer = Answer.model_validate(document)
        except (ValidationError, ValueError, TypeError):
            self.is_broken = True

    def _read_definition(self, document: dict[str, Any]) -> None:
        if "definition" in document:
            self.definitions.append(ClassDefinition.model_validate(document["definition"]))
        elif "undefined" in document:
            self.undefined.append(str(document["undefined"])[:_UNDEFINED])
        else:
            self.has_ended = True


@dataclass(slots=True)
class _Output:
    """Output of the process, shown up to a limit."""

    length: int = 0

    def add(self, data: bytes) -> None:
        sys.stdout.buffer.write(data[: max(0, _SHOWN - self.length)])
        self.length += len(data)

    def end(self) -> None:
        if self.length > _SHOWN:
            sys.stdout.write(f"\n[{self.length - _SHOWN} more bytes of output omitted]\n")
        sys.stdout.flush()


@dataclass(slots=True)
class _Watch:
    lines: _Lines
    output: _Output = field(default_factory=_Output)

    @property
    def is_over(self) -> bool:
        return self.lines.has_ended or self.lines.is_broken

    def until(self, child: int, answer: int, output: int, deadline: float) -> bool:
        """Read until everything has arrived or the process has ended; return False if neither happened by the deadline."""
        process = os.pidfd_open(child)
        try:
            with selectors.DefaultSelector() as ready:
                for descriptor, add in ((answer, self.lines.add), (output, self.output.add), (process, None)):
                    ready.register(descriptor, selectors.EVENT_READ, add)
                while not self.is_over:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    has_ended = False
                    for key, _ in ready.select(left):
                        if key.data is None:
                            has_ended = True
                        elif data := os.read(key.fd, _CHUNK):
                            key.data(data)
                        else:
                            ready.unregister(key.fd)
                    if has_ended:
                        _drain(answer, self.lines.add)
                        _drain(output, self.output.add)
                        return True
        finally:
            os.close(process)
        return True


def watch(command: Sequence[str], seconds: float) -> Found:
    """Run a process that answers as described for `ANSWER_VARIABLE`, for at most `seconds`.

    The process and its children may still run after this: their process group is returned.
    """
    answer, to_answer = os.pipe()
    key = f"{secrets.token_hex(16)} ".encode()
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(to_answer,),
        env={**os.environ, ANSWER_VARIABLE: str(to_answer)},
        start_new_session=True,
    )
    os.close(to_answer)
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(BrokenPipeError), child.stdin as to_child:
        to_child.write(key + b"\n")
    state = _Watch(_Lines(key))
    try:
        is_in_time = state.until(child.pid, answer, child.stdout.fileno(), time.monotonic() + seconds)
    finally:
        state.output.end()
        os.close(answer)
    code = child.wait() if is_in_time and not state.is_over else None
    message = _message(state.lines, code, seconds)
    if message.exit_code != ExitCode.OK:
        return Found(message, child.pid)
    packed, note = _packed(state.lines)
    text = "; ".join(filter(None, (message.message, note)))
    digest = packed.digest if packed is not None else None
    return Found(message.model_copy(update={"message": text, "definitions": digest}), child.pid, packed)


def _drain(descriptor: int, add: Callable[[bytes], None]) -> None:
    """Read available data without waiting for the end, because another process may keep the descriptor open."""
    os.set_blocking(descriptor, False)
    try:
        for _ in range(_LONGEST // _CHUNK):
            data = os.read(descriptor, _CHUNK)
            if not data:
                return
            add(data)
    except BlockingIOError:
        return


def _packed(lines: _Lines) -> tuple[PackedDefinitions | None, str]:
    """Return the definitions of the classes, and a message about those that are missing or shortened."""
    if not lines.has_ended:
        lacking = "a plugin ended the process that reads them, or took too long"
        cause = "other output overwrote them, or they are too large" if lines.is_broken else lacking
        return None, f"configuration definitions are not published: {cause}"
    if not lines.definitions and not lines.undefined:
        return None, ""
    try:
        packed = pack(lines.definitions)
    except ConfigError as e:
        return None, f"configuration definitions are not published: {e}"
    notes = lines.undefined[:_SHOWN_UNDEFINED]
    if (more := len(lines.undefined) - len(notes)) > 0:
        notes.append(f"and {more} more")
    if packed.documentation_cut is not None:
        most = packed.documentation_cut
        notes.append(f"the documentation of each property is cut to {most} characters, so that the definitions fit")
    return packed, "; ".join(notes)


def _of_java(classes: Sequence[FoundClass], warnings: Sequence[str]) -> TerminationMessage:
    text = classes_text(classes)
    if len(text) > LONGEST_CLASSES:
        cause = f"the folder has {len(classes)} plugin classes, more than a status can list"
        remedy = "divide it into folders with fewer plugins, each with its PluginVersion and spec.path"
        return TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=f"{cause}; {remedy}")
    summary = f"the image has {len(classes)} classes of Java plugins; status.classes lists them"
    return TerminationMessage(exit_code=ExitCode.OK, message="; ".join((summary, *warnings)), classes=text)


def _message(lines: _Lines, code: int | None, seconds: float) -> TerminationMessage:
    doing = f"the import of {lines.importing}" if lines.importing else "the inspection of the image"
    found = lines.answer
    if found is not None and not lines.is_lost:
        if found.problems:
            return TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message="; ".join(found.problems))
        if found.trouble:
            return TerminationMessage(exit_code=ExitCode.FAILED, message=found.trouble)
        if found.java:
            return _of_java(found.java, found.warnings)
        summary = f"the image has the declared classes, which were imported: {', '.join(found.classes)}"
        return TerminationMessage(exit_code=ExitCode.OK, message="; ".join((summary, *found.warnings)))
    if lines.is_lost:
        why = f"{doing} overwrote the result of the inspection; a plugin must not write to descriptors that it did not open"
    elif code is None:
        remedy = "a plugin must not work or wait during its import"
        if not lines.importing:  # Java plugins are not imported, but may have many jars
            remedy = (
                "raise job.deadlineSeconds of the release, half of which is the limit, or set spec.path to a folder with "
                "fewer plugins"
            )
        why = f"{doing} did not end within {seconds:.0f} s; {remedy}"
    elif code < 0:
        name = signal.Signals(-code).name
        memory = "; it may have used more memory than its limit" if code == -signal.SIGKILL else ""
        why = f"the process was killed by signal {-code} ({name}) during {doing}{memory}"
    else:
        why = f"the process exited with code {code} during {doing}"
    return TerminationMessage(exit_code=ExitCode.FAILED, message=why)
