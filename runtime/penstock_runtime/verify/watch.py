"""Watches the process that imports the classes of an image: its answer, its output, its end, its time.

That process runs foreign code. So its answer counts when it is whole, its output is read to the end and shown up to a limit,
and neither its silence nor its end keeps this process from telling what happened. Configuration definitions come after the
answer: whatever goes wrong with them leaves the answer as it is.
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
"""The descriptor to which the watched process writes lines: `{"importing": <alias>}`, then an `Answer`, then for each class
`{"definition": <ClassDefinition>}` or `{"undefined": <why>}`, and at last `{"end": true}`.

Each begins with the first line of its standard input, which code that writes to any descriptor does not know.
"""
_CHUNK: Final = 1 << 16
_LONGEST_ANSWER: Final = 1 << 20  # bytes
_LONGEST: Final = _LONGEST_ANSWER + LARGEST_TEXT
"""Bytes of the answer, and of the definitions after it."""
_SHOWN_UNDEFINED: Final = 3
_UNDEFINED: Final = 512  # characters
_SHOWN: Final = 1 << 16
"""Bytes of the output that are shown in the pod's log."""


class Answer(Part):
    """What the watched process found.

    Attributes:
        problems: what is otherwise than declared, or cannot be imported.
        warnings: what does not matter.
        classes: the aliases that were imported.
        java: the Java classes that are there.
        trouble: why nothing was found out; it is tried again.
    """

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    java: tuple[FoundClass, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a process was watched to find.

    Attributes:
        message: the verdict in words.
        group: the process group of the watched process.
        definitions: the configuration definitions whose digest the message has; None: there are none.
    """

    message: TerminationMessage
    group: int
    definitions: PackedDefinitions | None = None


@dataclass(slots=True)
class _Lines:
    """The answer as it comes.

    Attributes:
        key: the beginning of each line.
        importing: the class that is being imported.
        answer: the answer, once it is whole. Nothing that comes after it can change it.
        definitions: of the classes, which come after the answer.
        undefined: why classes have none.
        has_ended: all definitions have come.
        is_broken: what came was not written by the watched process, and no more is read.
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
        """Whether the answer was written over before it was whole."""
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
    """The output, shown up to a limit."""

    length: int = 0

    def add(self, data: bytes) -> None:
        sys.stdout.buffer.write(data[: max(0, _SHOWN - self.length)])
        self.length += len(data)

    def end(self) -> None:
        if self.length > _SHOWN:
            sys.stdout.write(f"\n[{self.length - _SHOWN} bytes more were printed, and are left out]\n")
        sys.stdout.flush()


@dataclass(slots=True)
class _Watch:
    lines: _Lines
    output: _Output = field(default_factory=_Output)

    @property
    def is_over(self) -> bool:
        return self.lines.has_ended or self.lines.is_broken

    def until(self, child: int, answer: int, output: int, deadline: float) -> bool:
        """Read until all has come or the process has ended; False: it has not, and its time is over."""
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
    """Run a process that answers as `ANSWER_VARIABLE` says, for so many seconds at most.

    It and what it has started may still run afterwards: its group is returned.
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
    """Read what is there; another process may have the descriptor still, so that its end may never come."""
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
        lacking = "a plugin ended the process that reads them, or takes too long"
        cause = "something wrote over them, or they are too large" if lines.is_broken else lacking
        return None, f"configuration definitions are not published: {cause}"
    if not lines.definitions and not lines.undefined:
        return None, ""
    try:
        packed = pack(lines.definitions)
    except ConfigError as e:
        return None, f"configuration definitions are not published: {e}"
    notes = lines.undefined[:_SHOWN_UNDEFINED]
    if (more := len(lines.undefined) - len(notes)) > 0:
        notes.append(f"and so {more} more")
    if packed.documentation_cut is not None:
        most = packed.documentation_cut
        notes.append(f"the documentation of each property is cut to {most} characters, so that the definitions fit")
    return packed, "; ".join(notes)


def _of_java(classes: Sequence[FoundClass], warnings: Sequence[str]) -> TerminationMessage:
    text = classes_text(classes)
    if len(text) > LONGEST_CLASSES:
        cause = f"the folder holds {len(classes)} classes of plugins, more than a status can list"
        remedy = "let spec.path name a folder with fewer plugins, in a PluginVersion for each"
        return TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message=f"{cause}; {remedy}")
    summary = f"the image holds {len(classes)} classes of Java plugins; status.classes lists them"
    return TerminationMessage(exit_code=ExitCode.OK, message="; ".join((summary, *warnings)), classes=text)


def _message(lines: _Lines, code: int | None, seconds: float) -> TerminationMessage:
    doing = f"the import of {lines.importing}" if lines.importing else "looking into the image"
    found = lines.answer
    if found is not None and not lines.is_lost:
        if found.problems:
            return TerminationMessage(exit_code=ExitCode.CONFIG_INVALID, message="; ".join(found.problems))
        if found.trouble:
            return TerminationMessage(exit_code=ExitCode.FAILED, message=found.trouble)
        if found.java:
            return _of_java(found.java, found.warnings)
        told = f"the image holds what is declared, and these classes of it are imported: {', '.join(found.classes)}"
        return TerminationMessage(exit_code=ExitCode.OK, message="; ".join((told, *found.warnings)))
    if lines.is_lost:
        why = f"{doing} wrote over its answer; a plugin must not write to descriptors that it did not open"
    elif code is None:
        remedy = "a plugin must not work or wait where it is imported"
        if not lines.importing:  # of Java, nothing is: its jars are many
            remedy = (
                "raise job.deadlineSeconds of the release, of which it has half, or let spec.path name fewer plugins"
            )
        why = f"{doing} did not end within {seconds:.0f} s; {remedy}"
    elif code < 0:
        name = signal.Signals(-code).name
        memory = "; it may have used more memory than its limit" if code == -signal.SIGKILL else ""
        why = f"{doing} ended its process by signal {-code} ({name}){memory}"
    else:
        why = f"{doing} ended its process with exit code {code}"
    return TerminationMessage(exit_code=ExitCode.FAILED, message=why)
