"""Follows one path through appends, rotation and truncation, while it is looked at and between two looks.

The files that had the path, in the order in which they had it, are numbered. A position is committed together with the
number of its file and a fingerprint (`file_fingerprint`), so that it means one file only, whatever has happened to names
since. A file whose content was replaced (`copytruncate`) goes on in its copy, if that lies beside the path, and what the
path names then is the next file.

A position without a fingerprint, which Kafka Connect or an older Penstock wrote or somebody altered, lies in the file that
has the path.
"""

import logging
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from penstock import ConnectError, Limits, RetriableError
from penstock_plugins.connectors.file.content import Content, find_copy, find_moved
from penstock_plugins.connectors.file.fingerprint import Fingerprint
from penstock_plugins.connectors.file.handles import Handle, open_regular
from penstock_plugins.connectors.file.lines import whole_lines
from penstock_plugins.connectors.file.missed_rotations import MissedFiles, find_missed
from penstock_plugins.connectors.file.siblings import Sibling, folder_times

__all__ = ["Follower"]

log = logging.getLogger(__name__)

_FINISHED_AFTER: Final = 1.0
"""Seconds without growth after which a rotated file is finished, once a file after it holds something."""
_FINISHED_BEFORE_EMPTY_AFTER: Final = 10.0
"""The same while all files after it are empty: the writer may not have gone over to them yet."""
_MAX_OPEN: Final = 64
"""How many files are held open at most."""
_LONG_PAUSE: Final = 1.0
"""Seconds between two looks in which a file of which nothing is read may have been copied and truncated."""
_LIST_INTERVAL: Final = 5.0
"""Seconds between two listings of the folder while nothing has the path: there may be many files that come and go."""
_MAX_ENDS: Final = 64
"""Of how many files that were read to their end it is remembered which they were."""


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
        self._ends: deque[str] = deque(maxlen=_MAX_ENDS)
        """`Fingerprint.end` of files that were read."""
        self._waiting = False
        self._looked_at = clock()
        self._stamp: tuple[int, ...] = ()
        self._listed_since = False
        self._list_at = 0.0

    def plan(self, position: int, mark: Fingerprint | None, limits: Limits) -> Fingerprint | None:
        """Where the next batch ends; None when there is nothing.

        Where that is in another file than `mark`, the batch begins at the beginning of that file.

        Args:
            position: where the batch starts: what was committed last, or the end of a batch planned before.
            mark: its fingerprint, if it has one.
            limits: of the batch.

        Raises:
            ConnectError: the path is no file, or may not be read.
            RetriableError: files change at this moment, or may not be read yet.
            OSError: a file cannot be read.
        """
        now = self._clock()
        away, self._looked_at = now - self._looked_at > _LONG_PAUSE, now
        self.look(mark)
        if not self._contents:
            return None
        content = self._contents[0] if mark is None else self.content(mark.file)
        started = content.number
        if away and not position:
            content = self._after_its_copies(content)
        while (end := self._end(content, position, mark, limits)) is None:
            after = self._contents.index(content) + 1
            if after == len(self._contents):
                return None  # it is not there yet
            following = self._contents[after]
            made = None if content.lost or not position else content.fingerprint(position)
            content.end = "" if made is None else made.end
            following.before = content.end or content.before
            content, position, mark = self._after_its_copies(following), 0, None
        if end == position and content.number == started:
            return None
        made = content.fingerprint(end)
        if made is None:
            raise RetriableError(f"File {self._path} became shorter than {end} bytes while a batch of it was planned.")
        return made

    def look(self, mark: Fingerprint | None) -> None:
        """Open what the path names now, if that is new, and what had the path meanwhile.

        Args:
            mark: where reading goes on.

        Raises:
            ConnectError: the path is no file, or may not be read.
            RetriableError: files change at this moment, or may not be read yet.
        """
        if mark is not None and not any(c.number == mark.file for c in self._contents):
            self._find(mark)
        last = self._contents[-1] if self._contents else None
        if last is not None and not last.lost:
            try:
                found = os.stat(self._path)  # noqa: PTH116 (called for every look: four times faster)
                if last.handle.inode == found.st_ino and last.handle.device == found.st_dev:
                    last.modified = found.st_mtime_ns
                    return
            except OSError:
                pass  # opening it tells why
        if last is None and mark is not None:
            return  # its file is waited for
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
            self._go_on(last, newest)

    def content(self, number: int) -> Content:
        """The file with this number.

        Raises:
            RetriableError: it is not open (any more).
        """
        for content in self._contents:
            if content.number == number:
                return content
        raise RetriableError(f"File {self._path}: nothing of its file {number} is planned; it must be planned again.")

    def committed(self, mark: Fingerprint) -> None:
        """A batch that ended there is in Kafka: files before it are not needed again."""
        while self._contents and self._contents[0].number < mark.file:
            read = self._contents.pop(0)
            read.handle.close()
            if read.end:
                self._ends.append(read.end)

    def close(self) -> None:
        """Let go of every file."""
        self._drop(0)

    # Which files there are

    def _newest(self) -> Handle | None:
        """What the path names."""
        try:
            handle = Handle(self._path, open_regular(self._path))
        except (FileNotFoundError, NotADirectoryError):
            if not self._contents and not self._waiting:
                log.warning("File %s does not exist; waiting for it to be created.", self._path)
                self._waiting = True
            return None
        except ConnectError as e:
            if not self._contents:
                raise
            # logrotate creates a file before it hands it to its owner
            raise RetriableError(str(e)) from e
        self._waiting = False
        return handle

    def _find(self, mark: Fingerprint) -> None:
        """Begin with the file of a committed position; without any when neither it nor the path is there."""
        self._drop(0)
        newest = self._newest()
        alike = newest is not None and mark.holds(newest.fd)
        try:
            found = newest if newest is not None and alike and mark.has_inode(newest.inode) else None
            if found is None and (newest is not None or self._folder_changed()):
                found = find_moved(self._path, mark)
                if found is None and alike and mark.position:
                    found = newest
                    log.info(
                        "File %s has another inode than the file that was read to byte %d and the same content before it: "
                        "it is read on from there.", self._path, mark.position,
                    )  # fmt: skip
                elif found is None:
                    found = find_copy(self._path, mark, self._ends)
        except BaseException:
            if newest is not None:
                newest.close()
            raise
        at = found or newest
        if at is None:
            return
        content = Content(at, mark.file, self._clock(), before=mark.before, modified=mark.modified)
        self._contents.append(content)
        if mark.before:
            self._ends.append(mark.before)
        if found is None:
            content.lost = True
            log.warning(
                "File %s is not the one that was read to byte %d, and that one does not lie beside it: it was truncated, "
                "deleted, moved away or compressed while the task did not look. What it held from that byte on is missing.",
                self._path, mark.position,
            )  # fmt: skip
        elif found is newest:
            if not mark.position:
                self._after_its_copies(content)
        else:
            log.info(
                "File %s was rotated while the task did not look; %s is read on from byte %d.",
                self._path, found.path, mark.position,
            )  # fmt: skip
            if newest is not None:
                newest.close()

    def _go_on(self, last: Content, newest: Handle | None) -> None:
        """Add what had the path after the last file, and what it names now."""
        found = MissedFiles([], [])
        known = [c.handle for c in self._contents if not c.lost] + ([newest] if newest is not None else [])
        room = max(0, _MAX_OPEN - len(self._contents))
        try:
            if room:
                found = find_missed(self._path, last, known, self._ends, since=last.modified, most=room)
        except BaseException:
            if newest is not None:
                newest.close()
            raise
        self._log_rotation(last, found, rotated=newest is not None and room > 0)
        handles = [*found.handles, *([newest] if newest is not None else [])]
        for handle in handles[:room]:
            self._contents.append(Content(handle, self._contents[-1].number + 1, self._clock()))
        for handle in handles[room:]:
            handle.close()

    def _after_its_copies(self, content: Content) -> Content:
        """What is read at this content's place: a file begins again whenever it was copied and truncated.

        Only for a file of which nothing is read: of another one its fingerprint tells.
        """
        if content is not self._contents[-1] or content.lost or content.handle.modified() == content.met:
            return content  # one that nobody has written to since it was met was not truncated either
        at = self._contents.index(content)
        if not self._read_copies_first(content) and content.handle.size() < content.seen:
            log.warning(
                "File %s was truncated to %d bytes; its %d bytes before are missing, and no copy lies beside it.",
                self._path, content.handle.size(), content.seen,
            )  # fmt: skip
        content.seen = content.handle.size()
        return self._contents[at]

    def _read_copies_first(self, content: Content, until: int | None = None) -> bool:
        """Put the copies of the last file, of which nothing is read, before it; whether there are any.

        Args:
            content: the last file.
            until: where it was renamed meanwhile, when it was last written: what was written later had the path after it.
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
            log.info("File %s was copied and truncated; %s read first.", self._path, _name_list(copies))
        return bool(copies)

    def _folder_changed(self) -> bool:
        """Whether names beside the path may have changed since this was asked last."""
        now = self._clock()
        if now < self._list_at:
            return False
        found = folder_times(self._path)
        if found == self._stamp and self._listed_since:
            return False
        self._listed_since = found == self._stamp  # a change in the same moment leaves the same stamp
        self._stamp = found
        self._list_at = now + _LIST_INTERVAL
        return True

    def _drop(self, start: int) -> None:
        for content in self._contents[start:]:
            content.handle.close()
        del self._contents[start:]

    def _log_rotation(self, last: Content, found: MissedFiles, *, rotated: bool) -> None:
        if rotated and not last.lost:
            log.info("File %s was rotated; the old one is read to its end first.", self._path)
        if found.handles:
            log.info("Between two looks %s had the name %s; read in this order.", _name_list(found.handles), self._path)
        if found.unread:
            log.warning(
                "File %s may have been rotated more than once since it was last looked at: %s may have had its name in "
                "between, and is not read. If it holds lines that are missing, read it with a connector of its own.",
                self._path, ", ".join(f"{b.path} ({b.size} bytes)" for b in found.unread),
            )  # fmt: skip

    # How far one of them can be read

    def _end(self, content: Content, position: int, mark: Fingerprint | None, limits: Limits) -> int | None:
        """As `plan`, within this file; None when nothing is to be had of it any more."""
        if content.lost:
            return None
        size, written = content.handle.state()
        if size < position or (size < content.seen and position and mark is None):
            return self._truncated(content, position, size, mark, limits)
        if mark is not None and content.checked != written:  # also where it has as many bytes as before
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
        return size if size > position else None  # nobody will finish its last line

    def _truncated(
        self, content: Content, position: int, size: int, mark: Fingerprint | None, limits: Limits
    ) -> int | None:
        """Go on in a copy of what the file held; None when there is none. What the path names is looked for again."""
        self._drop(self._contents.index(content) + 1)
        content.modified = content.met if mark is None else mark.modified  # what was seen since may be of the next file
        missing = content.seen - position
        copy = find_copy(self._path, mark, self._ends) if mark is not None else None
        if copy is not None:
            log.info("File %s was truncated; its copy %s is read on from byte %d.", self._path, copy.path, position)
            content.handle.close()
            content.handle = copy
            content.seen, content.changed_at = copy.size(), self._clock()
            content.looked_from = -1
        else:
            content.lost = True
            if mark is None and content.seen <= size:
                log.warning(
                    "File %s has %d bytes and its committed position is %d: it was truncated or replaced while the task "
                    "was not running; reading starts from its beginning.", self._path, size, position,
                )  # fmt: skip
            else:
                log.warning(
                    "File %s was truncated to %d bytes, its position was %d; reading starts again from its beginning.%s",
                    self._path, size, position,
                    f" At least {missing} bytes are missing that no copy beside it holds." if missing > 0 else "",
                )  # fmt: skip
        self.look(None)
        return None if copy is None else self._end(content, position, mark, limits)

    def _is_finished(self, content: Content) -> bool:
        later = self._contents[self._contents.index(content) + 1 :]
        since = max(content.changed_at, later[0].changed_at)
        return self._clock() - since >= (
            _FINISHED_AFTER if any(c.handle.size() for c in later) else _FINISHED_BEFORE_EMPTY_AFTER
        )


def _name_list(handles: Sequence[Handle | Sibling]) -> str:
    return ", ".join(h.path for h in handles) + (" is" if len(handles) == 1 else " are")
