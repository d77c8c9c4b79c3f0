"""Files that Spark has written, moved into a folder that others write to as well.

Hadoop's committer keeps what a job writes in `_temporary` of the folder that it writes to, and removes that at the job's
end, with what other jobs have there: their files are gone, and nobody is told. So a job gets a folder of its own:

    <path>/_penstock-<connector>-<hash of it>-<task>/<life>/_alive      there as long as the life is the last one
                                                           /<number>/   what the job of one frame writes

Its files are then moved, one after the other, to the same place under `path`. Each appears there whole, where the file
system renames in one step (HDFS does, and a local disk; an object store copies). Readers pass over names that begin with
`_`.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from penstock import ConnectError, SinkTaskContext

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["StagingFolder", "folder_name", "writes_files"]

log = logging.getLogger(__name__)
_ALIVE: Final = "_alive"
_HIDDEN: Final = ("_", ".")
_SOURCES: Final = "org.apache.spark.sql.execution.datasources"


def writes_files(session: "SparkSession", name: str) -> bool:
    """Whether Spark's writer of that format writes files by Hadoop's committer; table formats have commits of their own."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 (no other way to Spark's table of formats)
    conf = session._jsparkSession.sessionState().conf()  # noqa: SLF001
    try:
        found = jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, conf)
        bases = [jvm.java.lang.Class.forName(f"{_SOURCES}.{base}") for base in ("FileFormat", "v2.FileDataSourceV2")]
        return any(base.isAssignableFrom(found) for base in bases)
    except Exception as e:  # noqa: BLE001 (the writer itself says what is wrong with the format)
        log.debug("Format %s: %s", name, e)
        return False


def folder_name(context: SinkTaskContext) -> str:
    """The name of a task's folder, for any name of a connector; readers pass over it."""
    plain = re.sub(r"[^A-Za-z0-9.-]", "_", context.connector)[:80]
    return f"_penstock-{plain}-{sha256(context.connector.encode()).hexdigest()[:8]}-{context.task}"


class StagingFolder:
    """The folder of one life of a task.

    What earlier lives of the same task have left is removed when this one first writes; nobody else's is touched.

    Args:
        session: Spark's.
        path: where files are to lie, as the property `path` has it.
        options: of the writer; those of the file system among them.
        context: whose folder it is.

    Raises:
        ConnectError: Hadoop has no file system for the path.
    """

    def __init__(
        self, session: "SparkSession", path: str, options: Mapping[str, str], context: SinkTaskContext
    ) -> None:
        self._path = path
        self._life = context.life
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001 (no other way to Hadoop)
        self._new: Callable[..., Any] = jvm.org.apache.hadoop.fs.Path
        conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        for name, text in options.items():
            conf.set(name, text)
        with self._hadoop_errors("reached"):
            given = self._new(path)
            self._files: Any = given.getFileSystem(conf)
            self._target = self._files.makeQualified(given)
        self._task = self._new(self._target, folder_name(context))
        self._own = self._new(self._task, context.life)
        self._alive = self._new(self._own, _ALIVE)
        self._begun = False
        self._frames = 0

    def write(self, save: Callable[[str], None]) -> None:
        """Write files in the staging folder, then move them to the path.

        On return all of them are there. After an error some may be, and what is left in the staging folder is removed.

        Args:
            save: writes a new folder of the name that it is given.

        Raises:
            ConnectError: the path cannot be written, or a later life of the task has begun.
            Exception: as `save`.
        """
        if not self._begun:
            self._begin()
        self._frames += 1
        folder = self._new(self._own, str(self._frames))
        try:
            save(folder.toString())
            with self._hadoop_errors("written"):
                self._move(folder)
        finally:
            with suppress(Exception):  # the next life removes it
                self._files.delete(folder, True)

    def remove(self) -> None:
        """Remove this life's folder; the task's stays, empty."""
        if self._begun:
            self._delete(self._own)

    def _begin(self) -> None:
        with self._hadoop_errors("written"):
            # Made once and never again: a later life removes it before all else.
            if not self._files.mkdirs(self._own):
                raise ConnectError(self._error_text("written", f"no folder can be made in it ({self._task.getName()})"))
            self._files.create(self._alive, False).close()
        self._begun = True
        with suppress(Exception):
            for left in self._files.listStatus(self._task):
                if left.getPath().getName() < self._life:
                    log.info("Removing what an earlier life has left: %s", left.getPath().toString())
                    self._delete(left.getPath())

    def _delete(self, life: Any) -> None:
        """A life's folder, its mark first: whoever finds the mark after it has listed files has listed all of them."""
        self._files.delete(self._new(life, _ALIVE), False)
        self._files.delete(life, True)

    def _move(self, folder: Any) -> None:
        found = list(self._written(folder))
        if not self._files.exists(self._alive):
            raise ConnectError(
                self._error_text(
                    "written", f"somebody has removed {self._own.toString()}, perhaps a later life of this task"
                )
            )
        made = set()
        for source, relative in found:
            target = self._new(self._target, relative)
            directory = relative.rpartition("/")[0]
            if directory and directory not in made:
                if not self._files.mkdirs(target.getParent()):
                    raise ConnectError(self._error_text("written", f"its folder {directory} cannot be made"))
                made.add(directory)
            if not self._files.rename(source, target):
                raise ConnectError(self._error_text("written", f"{source.toString()} cannot be moved to {relative}"))

    def _written(self, folder: Any) -> Iterator[tuple[Any, str]]:
        """The files in a folder, with their places in it; without those that readers pass over, as `_SUCCESS`."""
        above = len(folder.toString()) + 1
        files = self._files.listFiles(folder, True)
        while files.hasNext():
            path = files.next().getPath()
            if not path.getName().startswith(_HIDDEN):
                yield path, path.toString()[above:]

    @contextmanager
    def _hadoop_errors(self, what: str) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as e:
            raise ConnectError(self._error_text(what, str(e.java_exception.toString()))) from e

    def _error_text(self, what: str, why: str) -> str:
        return (
            f"The folder {self._path} of property `path` cannot be {what}: {why}. The task needs the right to make, rename "
            f"and remove files and folders there: grant it, or set `path` to a folder where it has that. The records are "
            f"not committed, and come again."
        )
