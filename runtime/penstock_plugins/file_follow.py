"""Follows one path through appends, rotation and truncation, and remembers which file a position belongs to.

A committed position is a bare number (Kafka Connect's format), so which file it lies in is known only here, while the
task runs. Files stand in the order in which the path named them; a truncated file counts as its own successor. Going over
to the next file is a batch of its own, without records, that commits position 0: after it, a number can only mean the new
file, also for the next life of the task.
"""

import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock import ConnectError, Limits, RetriableError
from penstock_plugins.file_handles import Handle, open_regular
from penstock_plugins.file_lines import whole_lines

__all__ = ["Content", "Follower"]

log = logging.getLogger(__name__)

_QUIET: Final = 1.0
"""Seconds without growth after which a rotated file is finished, once its successor holds something."""
_QUIET_BEFORE_EMPTY: Final = 10.0
"""The same while the successor is empty: the writer may not have gone over to it yet."""


class Content:
    """What a file holds between two truncations."""

    __slots__ = ("changed_at", "gone", "handle", "looked", "looked_from", "seen")

    def __init__(self, handle: Handle, now: float) -> None:
        self.handle = handle
        self.changed_at = now
        self.seen = 0
        """The largest size so far."""
        self.gone = False
        """It was truncated away."""
        self.looked_from = -1
        self.looked = 0
        """From `looked_from` to here no line ends."""


@dataclass(frozen=True, slots=True)
class _Place:
    content: Content
    position: int


class Follower:
    """The files behind one path.

    Args:
        path: the file's path as configured.
        clock: seconds, monotonic.
    """

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._contents: list[Content] = []
        self._trail: list[_Place] = []
        """The committed place, then the ends of the batches planned since; positions of different files differ."""
        self._waiting = False

    def look(self) -> int:
        """Open what the path names now, if that is new.

        Returns:
            The size of the newest file.

        Raises:
            ConnectError: it is no file, or may not be read.
        """
        newest = self._contents[-1].handle if self._contents else None
        try:
            found = os.stat(self._path)  # noqa: PTH116 (called for every look: four times faster)
            if newest is not None and newest.inode == found.st_ino and newest.device == found.st_dev:
                return found.st_size
        except OSError:
            pass  # opening it tells why
        try:
            fd = open_regular(self._path)
        except (FileNotFoundError, NotADirectoryError):
            if newest is not None:
                return newest.size()
            if not self._waiting:
                log.warning("File %s does not exist; waiting for it to be created.", self._path)
                self._waiting = True
            return 0
        except ConnectError as e:
            if newest is None:
                raise
            # logrotate creates a file before it hands it to its owner
            raise RetriableError(str(e)) from e
        if newest is not None:
            log.info("File %s was rotated; the old one is read to its end first.", self._path)
            between = self._written_since(newest)
            if between:
                log.warning(
                    "File %s may have been rotated more than once since it was last looked at: %s may have had its name in "
                    "between, and is not read. If it holds lines that are missing, read it with a connector of its own.",
                    self._path, ", ".join(between),
                )  # fmt: skip
        self._contents.append(Content(Handle(self._path, fd), self._clock()))
        self._waiting = False
        return self._contents[-1].handle.size()

    def plan(self, position: int, limits: Limits) -> int:
        """The position at which the next batch ends; `position` itself when there is nothing, 0 to go to the next file.

        Args:
            position: where the batch starts: what was committed last, or the end of a batch planned before.
            limits: of the batch.
        """
        newest_size = self.look()
        if not self._contents:
            return position
        content = self._rewind(position)
        while True:
            size = newest_size if content is self._contents[-1] else content.handle.size()
            end = self._within(content, position, size, limits)
            if end is not None:
                if end > position:
                    self._trail.append(_Place(content, end))
                    self._thin()
                return end
            content = self._contents[self._contents.index(content) + 1]
            self._trail.append(_Place(content, 0))
            if position:
                return 0

    def _thin(self) -> None:
        """Of the batches of one transaction only the first and the last two places can be asked for."""
        if len(self._trail) > 3 and self._trail[-3].content is self._trail[-2].content:
            del self._trail[-3]

    def planned(self, start: int, end: int) -> tuple[Content, int]:
        """The file of the batch that `plan` made of these positions, and where in it the batch starts.

        Raises:
            RetriableError: there is no such batch (any more).
        """
        for before, after in zip(self._trail[-2::-1], self._trail[:0:-1], strict=True):
            if (before.position, after.position) == (start, end):
                return after.content, start if before.content is after.content else 0
        raise RetriableError(f"File {self._path}: nothing is planned from {start} to {end}; it must be planned again.")

    def committed(self, position: int) -> None:
        """A planned batch that ended there is in Kafka: files before it are not needed again."""
        places = [place.position for place in self._trail]
        if position not in places:
            return
        del self._trail[: places.index(position)]
        while self._contents[0] is not self._trail[0].content:
            self._contents.pop(0).handle.close()

    def is_newest(self, content: Content) -> bool:
        """Whether the path names this file."""
        return content.handle.inode == self._contents[-1].handle.inode

    def close(self) -> None:
        """Let go of every file."""
        for content in self._contents:
            content.handle.close()
        self._contents.clear()
        self._trail.clear()

    def _written_since(self, last: Handle) -> list[str]:
        """Files beside this one, named like it, that nobody has read and that were written after the last one.

        No more can be known: neither a name nor a time proves that a file had this path, or in which order files had it.
        """
        directory, name = os.path.split(self._path)
        known = {content.handle.inode for content in self._contents}
        try:
            since = os.fstat(last.fd).st_mtime_ns
            with os.scandir(directory or ".") as entries:
                beside = [e for e in entries if e.name.startswith(name) and e.name != name and e.inode() not in known]
            found = [(e.path, e.stat(follow_symlinks=False)) for e in beside if e.is_file(follow_symlinks=False)]
        except OSError:
            return []  # compressed or moved away at this moment
        return sorted(path for path, s in found if s.st_size and s.st_mtime_ns > since)

    def _rewind(self, position: int) -> Content:
        for place in reversed(self._trail):
            if place.position == position:
                del self._trail[self._trail.index(place) + 1 :]
                return place.content
        oldest = self._trail[0].content if self._trail else self._contents[0]
        self._trail = [_Place(oldest, position)]
        return oldest

    def _within(self, content: Content, position: int, size: int, limits: Limits) -> int | None:
        """As `plan`, within this file; None when it is finished and another follows."""
        if content.gone:
            return None
        if size < max(position, content.seen):
            self._truncated(content, position, size)
            return None
        if size != content.seen:
            content.seen = size
            content.changed_at = self._clock()
        if size > position and (content.looked_from, content.looked) != (position, size):
            looked = content.looked if content.looked_from == position else position
            end = whole_lines(content.handle.fd, position, size, limits, looked)
            if end == position:
                content.looked_from, content.looked = position, size
            while end > position and self._means_another_file(end, content):
                end = whole_lines(content.handle.fd, position, end - 1, limits)
            if end > position:
                return end
        if content is self._contents[-1] or not self._quiet(content):
            return position
        if size > position:  # nobody will finish its last line
            return position if self._means_another_file(size, content) else size
        return None

    def _truncated(self, content: Content, position: int, size: int) -> None:
        if content.seen:
            log.warning(
                "File %s was truncated to %d bytes, its position was %d; reading starts again from its beginning.",
                self._path, size, position,
            )  # fmt: skip
        else:
            log.warning(
                "File %s has %d bytes and its committed position is %d: it was truncated or replaced while the task was "
                "not running; reading starts from its beginning.", self._path, size, position,
            )  # fmt: skip
        content.gone = True
        after = self._contents.index(content) + 1
        self._contents.insert(after, Content(content.handle.twin(), self._clock()))

    def _quiet(self, content: Content) -> bool:
        follower = self._contents[self._contents.index(content) + 1]
        since = max(content.changed_at, follower.changed_at if follower.seen == 0 else 0.0)
        return self._clock() - since >= (_QUIET if follower.handle.size() else _QUIET_BEFORE_EMPTY)

    def _means_another_file(self, position: int, content: Content) -> bool:
        """Whether that position is taken: batches of two files that end at one number could not be told apart."""
        return any(p.position == position and p.content is not content for p in self._trail)
