"""Follower of one path through appends, rotation and truncation, even if they happen between two checks.

The files that were at the path are numbered in the order in which they were. A position is committed together with the
index of its file and a fingerprint (`fingerprint.py`), so it identifies one file, even if files are renamed later. If the
content of a file is replaced (`copytruncate`), reading continues in its copy, if there is one in the same folder; the file
at the path is then the next file.

A position without a fingerprint was written by Kafka Connect or an older Penstock, or was altered. It belongs to the file
that has the path.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from penstock import ConnectError, Limits, RetriableError
from penstock_plugins.connectors.file.content import Content
from penstock_plugins.connectors.file.fingerprint import Fingerprint
from penstock_plugins.connectors.file.handles import Handle, open_regular
from penstock_plugins.connectors.file.lines import whole_lines
from penstock_plugins.connectors.file.missed_rotations import MissedFiles, find_missed
from penstock_plugins.connectors.file.renamed_files import find_copy, find_renamed
from penstock_plugins.connectors.file.siblings import folder_times

__all__ = ["Follower"]

log = logging.getLogger(__name__)

_FINISHED_AFTER: Final = 1.0
"""Seconds without growth after which a rotated file is finished, once a later file is not empty."""
_FINISHED_BEFORE_EMPTY_AFTER: Final = 10.0
"""Same, while all later files are empty: the writer may still write to the rotated file."""
_MAX_OPEN: Final = 64
"""Maximum number of open files."""
_LONG_PAUSE: Final = 1.0
"""Seconds between two checks after which an unread file may have been copied and truncated."""
_LIST_INTERVAL: Final = 5.0
"""Seconds between two listings of the folder while there is no file at the path: the folder may change constantly."""
_MAX_ENDS: Final = 64
"""Maximum number of finished files to remember, so that they are not read again."""


class Follower:
    """Files that are or were at one path.

    Args:
        path: the path as configured.
        clock: monotonic clock, in seconds.
    """

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path = path
        self._clock = clock
        self._contents: list[Content] = []
        self._ends: deque[str] = deque(maxlen=_MAX_ENDS)
        """`Fingerprint.end` of the finished files."""
        self.is_missing = False
        """Whether there is no file at the path, and none was read before."""
        self._looked_at = clock()
        self._stamp: tuple[int, ...] = ()
        self._listed_since = False
        self._list_at = 0.0

    def plan(self, position: int, mark: Fingerprint | None, limits: Limits) -> Fingerprint | None:
        """Return the end of the next batch; None if there is nothing to read.

        If the end is in a different file than `mark`, the batch starts at the beginning of that file.

        Args:
            position: start of the batch: the committed position, or the end of the previously planned batch.
            mark: fingerprint of the position, if it has one.
            limits: limits of the batch.

        Raises:
            ConnectError: the path is not a regular file, or there is no permission to read it.
            RetriableError: files are changing at the moment, or there is no permission to read them yet.
            OSError: a file cannot be read.
        """
        now = self._clock()
        long_pause, self._looked_at = now - self._looked_at > _LONG_PAUSE, now
        self.look(mark)
        if not self._contents:
            return None
        content = self._contents[0] if mark is None else self.content(mark.file)
        started = content.number
        if long_pause and not position:
            content = self._after_its_copies(content)
        while (end := self._end(content, position, mark, limits)) is None:
            after = self._contents.index(content) + 1
            if after == len(self._contents):
                return None  # the next file does not exist yet
            following = self._contents[after]
            fingerprint = None if content.lost or not position else content.fingerprint(position)
            content.end = "" if fingerprint is None else fingerprint.end
            following.before = content.end or content.before
            content, position, mark = self._after_its_copies(following), 0, None
        if end == position and content.number == started:
            return None
        fingerprint = content.fingerprint(end)
        if fingerprint is None:
            raise RetriableError(f"cannot read file {self._path}: it was truncated below {end} bytes during planning")
        return fingerprint

    def look(self, mark: Fingerprint | None) -> None:
        """Open the file at the path, if it is new, and the files that were at the path since the last check.

        Args:
            mark: fingerprint of the next position to read.

        Raises:
            ConnectError: the path is not a regular file, or there is no permission to read it.
            RetriableError: files are changing at the moment, or there is no permission to read them yet.
        """
        if mark is not None and not any(c.number == mark.file for c in self._contents):
            self._find(mark)
        last = self._contents[-1] if self._contents else None
        if last is not None and not last.lost:
            try:
                stat = os.stat(self._path)  # noqa: PTH116 (called for every look: four times faster)
                if last.handle.inode == stat.st_ino and last.handle.device == stat.st_dev:
                    last.modified = stat.st_mtime_ns
                    return
            except OSError:
                pass  # opening the file reports the error
        if last is None and mark is not None:
            return  # wait for the file of the mark
        newest = self._newest()
        if last is None:
            if newest is not None:
                self._contents.append(Content(newest, 0, self._clock()))
        elif newest is not None or self._folder_changed():
            if mark is not None and (mark.file, mark.position > 0) != (last.number, True):
                try:
                    self._read_copies_first(last, last.handle.modified())
                except BaseException:
                    if newest is not None:
                        newest.close()
                    raise
            self._add_newer(last, newest)

    def content(self, number: int) -> Content:
        """Return the file with this index.

        Raises:
            RetriableError: the file is not open, or no longer open.
        """
        for content in self._contents:
            if content.number == number:
                return content
        raise RetriableError(f"cannot read file {self._path}: file number {number} at this path is not open; retrying")

    def left(self, position: int, mark: Fingerprint | None) -> int | None:
        """Return the number of bytes after a position, in its file and later files; None if its file is not open."""
        numbers = [c.number for c in self._contents]
        if mark is None and numbers:
            first = 0
        elif mark is not None and mark.file in numbers:
            first = numbers.index(mark.file)
        else:
            return None
        sizes = [c.handle.size() for c in self._contents[first:]]
        return max(0, sizes[0] - position) + sum(sizes[1:])

    def committed(self, mark: Fingerprint) -> None:
        """Close the files before the mark: a batch that ended there was committed, so they are not read again."""
        while self._contents and self._contents[0].number < mark.file:
            read = self._contents.pop(0)
            read.handle.close()
            if read.end:
                self._ends.append(read.end)

    def close(self) -> None:
        """Close all files."""
        self._drop(0)

    # The files

    def _newest(self) -> Handle | None:
        """Open the file at the path; return None if there is none."""
        try:
            handle = Handle(self._path, open_regular(self._path))
        except (FileNotFoundError, NotADirectoryError):
            self.is_missing = not self._contents
            return None
        except ConnectError as e:
            if not self._contents:
                raise
            # logrotate creates a new file before it changes its owner
            raise RetriableError(str(e)) from e
        self.is_missing = False
        return handle

    def _find(self, mark: Fingerprint) -> None:
        """Open the file of a committed position, or else the file at the path, if one of them exists."""
        self._drop(0)
        newest = self._newest()
        same_content = newest is not None and mark.holds(newest.fd)
        try:
            file = newest if newest is not None and same_content and mark.has_inode(newest.inode) else None
            if file is None and (newest is not None or self._folder_changed()):
                file = find_renamed(self._path, mark)
                if file is None and same_content and mark.position:
                    file = newest
                    log.info(
                        "File %s has a different inode than the file that was read to byte %d, but the same content up to "
                        "there: reading continues from there.",
                        self._path,
                        mark.position,
                    )
                elif file is None:
                    file = find_copy(self._path, mark, self._ends)
        except BaseException:
            if newest is not None:
                newest.close()
            raise
        opened = file or newest
        if opened is None:
            return
        content = Content(opened, mark.file, self._clock(), before=mark.before, modified=mark.modified)
        self._contents.append(content)
        if mark.before:
            self._ends.append(mark.before)
        if file is None:
            content.lost = True
            log.warning(
                "File %s is not the one that was read to byte %d, and that one is not in its folder: it was truncated, "
                "deleted, moved or compressed between two checks. Its content after that byte is missing.",
                self._path,
                mark.position,
            )
        elif file is newest:
            if not mark.position:
                self._after_its_copies(content)
        else:
            log.info(
                "File %s was rotated between two checks; reading continues in %s from byte %d.",
                self._path,
                file.path,
                mark.position,
            )
            if newest is not None:
                newest.close()

    def _add_newer(self, last: Content, newest: Handle | None) -> None:
        """Add the files that were at the path after the last one, and the file that is there now."""
        missed = MissedFiles([], [])
        known = [c.handle for c in self._contents if not c.lost] + ([newest] if newest is not None else [])
        room = max(0, _MAX_OPEN - len(self._contents))
        try:
            if room:
                missed = find_missed(self._path, last, known, self._ends, since=last.modified, most=room)
        except BaseException:
            if newest is not None:
                newest.close()
            raise
        self._log_rotation(last, missed, rotated=newest is not None and room > 0)
        handles = [*missed.handles, *([newest] if newest is not None else [])]
        for handle in handles[:room]:
            self._contents.append(Content(handle, self._contents[-1].number + 1, self._clock()))
        for handle in handles[room:]:
            handle.close()

    def _after_its_copies(self, content: Content) -> Content:
        """Return the content to read next: the copies of `content` come first if it was copied and truncated.

        Needed only for a file of which nothing was read: for other files, the fingerprint reveals a truncation.
        """
        if content is not self._contents[-1] or content.lost or content.handle.modified() == content.met:
            return content  # not written to since it was opened, so not truncated either
        at = self._contents.index(content)
        if not self._read_copies_first(content) and content.handle.size() < content.seen:
            log.warning(
                "File %s was truncated to %d bytes; its previous %d bytes are missing, and its folder has no copy of them.",
                self._path,
                content.handle.size(),
                content.seen,
            )
        content.seen = content.handle.size()
        return self._contents[at]

    def _read_copies_first(self, content: Content, until: int | None = None) -> bool:
        """Insert the copies of the last file before it, if nothing was read of it. Return whether there are any.

        Args:
            content: the last file.
            until: time of its last write, if it was renamed since: files written later were at the path after it.
        """
        at = self._contents.index(content)
        known = [c.handle for c in self._contents if not c.lost]
        room = max(1, _MAX_OPEN - len(self._contents))
        copies = find_missed(
            self._path, content, known, self._ends, since=content.met + 1, most=room, until=until
        ).handles
        for number, handle in enumerate(copies):
            copy = Content(handle, content.number + number, self._clock(), before=content.before)
            self._contents.insert(at + number, copy)
        if copies:
            content.number += len(copies)
            content.met = max(c.met for c in self._contents[at:])
            log.info("File %s was copied and truncated; reading its copies first: %s", self._path, _names(copies))
        return bool(copies)

    def _folder_changed(self) -> bool:
        """Return whether file names in the folder of the path may have changed since the last call."""
        now = self._clock()
        if now < self._list_at:
            return False
        times = folder_times(self._path)
        if times == self._stamp and self._listed_since:
            return False
        self._listed_since = times == self._stamp  # a later change within the clock's resolution leaves the same time
        self._stamp = times
        self._list_at = now + _LIST_INTERVAL
        return True

    def _drop(self, start: int) -> None:
        for content in self._contents[start:]:
            content.handle.close()
        del self._contents[start:]

    def _log_rotation(self, last: Content, missed: MissedFiles, *, rotated: bool) -> None:
        if rotated and not last.lost:
            log.info("File %s was rotated; the old one is read to its end first.", self._path)
        if missed.handles:
            log.info(
                "Other files were at %s between two checks; reading them in order: %s",
                self._path,
                _names(missed.handles),
            )
        if missed.unread:
            log.warning(
                "File %s may have been rotated more than once since the last check: %s may have been at its path, and is "
                "not read. If lines are missing, read it with a separate connector.",
                self._path,
                ", ".join(f"{b.path} ({b.size} bytes)" for b in missed.unread),
            )

    # The end of the readable part of a file

    def _end(self, content: Content, position: int, mark: Fingerprint | None, limits: Limits) -> int | None:
        """Return the end of the next batch within this file; None if the file is finished or lost."""
        if content.lost:
            return None
        size, written = content.handle.state()
        if size < position or (size < content.seen and position and mark is None):
            return self._truncated(content, position, size, mark, limits)
        if mark is not None and content.checked != written:  # also if its size did not change
            if not mark.holds(content.handle.fd):
                return self._truncated(content, position, size, mark, limits)
            content.checked = written
        if size != content.seen:
            content.seen = size
            content.changed_at = self._clock()
        if size > position and (content.looked_from, content.looked) != (position, size):
            looked = content.looked if content.looked_from == position else position
            end = whole_lines(content.handle.fd, position, size, limits, looked)
            if end > position:
                return end
            content.looked_from, content.looked = position, size
        if content is self._contents[-1] or not self._is_finished(content):
            return position
        return size if size > position else None  # its last line will not be completed any more

    def _truncated(
        self, content: Content, position: int, size: int, mark: Fingerprint | None, limits: Limits
    ) -> int | None:
        """Continue in a copy of the truncated file; return None if there is no copy. Reopen the file at the path."""
        self._drop(self._contents.index(content) + 1)
        content.modified = content.met if mark is None else mark.modified  # a later time may be that of the next file
        missing = content.seen - position
        copy = find_copy(self._path, mark, self._ends) if mark is not None else None
        if copy is not None:
            log.info(
                "File %s was truncated; reading continues in its copy %s from byte %d.", self._path, copy.path, position
            )
            content.handle.close()
            content.handle = copy
            content.seen, content.changed_at = copy.size(), self._clock()
            content.looked_from = -1
        else:
            content.lost = True
            if mark is None and content.seen <= size:
                log.warning(
                    "File %s has %d bytes and its committed position is %d: it was truncated or replaced while the task "
                    "was not running; reading starts from its beginning.",
                    self._path,
                    size,
                    position,
                )
            else:
                log.warning(
                    "File %s was truncated to %d bytes, its position was %d; reading starts again from its beginning.%s",
                    self._path,
                    size,
                    position,
                    f" At least {missing} bytes are missing, and its folder has no copy of them."
                    if missing > 0
                    else "",
                )
        self.look(None)
        return None if copy is None else self._end(content, position, mark, limits)

    def _is_finished(self, content: Content) -> bool:
        later = self._contents[self._contents.index(content) + 1 :]
        since = max(content.changed_at, later[0].changed_at)
        return self._clock() - since >= (
            _FINISHED_AFTER if any(c.handle.size() for c in later) else _FINISHED_BEFORE_EMPTY_AFTER
        )


def _names(handles: Sequence[Handle]) -> str:
    return ", ".join(h.path for h in handles)
