"""Stage the files that Spark writes, and move them to a folder to which other jobs may write as well.

Hadoop's committer stages the files of a job in `_temporary` of the target folder, and removes that folder at the end of the
job, together with the files of other jobs, without an error. Therefore each job writes to a separate folder:

    <path>/_penstock-<connector>-<hash of it>-<task>/<start>/_alive      exists until a later start of the task removes it
                                                           /<number>/   the files of one frame

The files are then moved one by one to the same relative path under `path`. Each appears there complete if the file system
renames atomically (HDFS and local disks do; an object store copies). Readers ignore names that begin with `_`. `<start>` is
the id of one start of the task.
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
    """Return whether Spark writes the format as files with Hadoop's committer. Table formats have their own commits."""
    jvm: Any = session.sparkContext._jvm  # noqa: SLF001 (no other way to Spark's table of formats)
    conf = session._jsparkSession.sessionState().conf()  # noqa: SLF001
    try:
        source_class = jvm.org.apache.spark.sql.execution.datasources.DataSource.lookupDataSource(name, conf)
        bases = [jvm.java.lang.Class.forName(f"{_SOURCES}.{base}") for base in ("FileFormat", "v2.FileDataSourceV2")]
        return any(base.isAssignableFrom(source_class) for base in bases)
    except Exception as e:  # noqa: BLE001 (the writer reports problems of the format)
        log.debug("Format %s: %s", name, e)
        return False


def folder_name(context: SinkTaskContext) -> str:
    """Return the name of a task's staging folder, valid for any connector name. Readers ignore it."""
    plain = re.sub(r"[^A-Za-z0-9.-]", "_", context.connector)[:80]
    return f"_penstock-{plain}-{sha256(context.connector.encode()).hexdigest()[:8]}-{context.task}"


class StagingFolder:
    """Staging folder of one start of a task.

    The first write removes the files of earlier starts of the same task. Folders of other tasks are never touched.

    Args:
        session: Spark session.
        path: target folder, as in the property `path`.
        options: options of the writer, including those of the file system.
        context: context of the task.

    Raises:
        ConnectError: Hadoop has no file system for the path.
    """

    def __init__(
        self, session: "SparkSession", path: str, options: Mapping[str, str], context: SinkTaskContext
    ) -> None:
        self._path = path
        self._start_id = context.start_id
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001 (no other way to Hadoop)
        self._new: Callable[..., Any] = jvm.org.apache.hadoop.fs.Path
        conf = session._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001
        for name, text in options.items():
            conf.set(name, text)
        with self._hadoop_errors("access"):
            given = self._new(path)
            self._files: Any = given.getFileSystem(conf)
            self._target = self._files.makeQualified(given)
        self._task_folder = self._new(self._target, folder_name(context))
        self._start_folder = self._new(self._task_folder, context.start_id)
        self._alive = self._new(self._start_folder, _ALIVE)
        self._begun = False
        self._frames = 0

    def write(self, save: Callable[[str], None]) -> None:
        """Write files to the staging folder, then move them to the path.

        On return, all of them are at the path. After an error, some may be; the others are deleted.

        Args:
            save: writes files to a new folder, whose name is its argument.

        Raises:
            ConnectError: the path cannot be written, or the task has been started again since.
            Exception: an error of `save`.
        """
        if not self._begun:
            self._begin()
        self._frames += 1
        folder = self._new(self._start_folder, str(self._frames))
        try:
            save(folder.toString())
            with self._hadoop_errors("write to"):
                self._move(folder)
        finally:
            with suppress(Exception):  # the next start removes it
                self._files.delete(folder, True)

    def remove(self) -> None:
        """Remove the folder of this start. The task's folder stays, empty."""
        if self._begun:
            self._delete(self._start_folder)

    def _begin(self) -> None:
        with self._hadoop_errors("write to"):
            # Created only once: if it is missing later, a later start of the task has removed it.
            if not self._files.mkdirs(self._start_folder):
                raise ConnectError(
                    self._error_text("write to", f"folder {self._task_folder.getName()} cannot be created in it")
                )
            self._files.create(self._alive, False).close()
        self._begun = True
        with suppress(Exception):
            for left in self._files.listStatus(self._task_folder):
                if left.getPath().getName() < self._start_id:
                    log.info("Removing the files of an earlier start of the task: %s", left.getPath().toString())
                    self._delete(left.getPath())

    def _delete(self, start: Any) -> None:
        """Delete the folder of a start, `_alive` first: if `_alive` exists after files were listed, none was deleted."""
        self._files.delete(self._new(start, _ALIVE), False)
        self._files.delete(start, True)

    def _move(self, folder: Any) -> None:
        files = list(self._written(folder))
        if not self._files.exists(self._alive):
            raise ConnectError(
                self._error_text(
                    "write to",
                    f"{self._start_folder.toString()} was removed, perhaps by a later incarnation of this task",
                )
            )
        directories = set()
        for source, relative in files:
            target = self._new(self._target, relative)
            directory = relative.rpartition("/")[0]
            if directory and directory not in directories:
                if not self._files.mkdirs(target.getParent()):
                    raise ConnectError(self._error_text("write to", f"its folder {directory} cannot be created"))
                directories.add(directory)
            if not self._files.rename(source, target):
                raise ConnectError(self._error_text("write to", f"{source.toString()} cannot be moved to {relative}"))

    def _written(self, folder: Any) -> Iterator[tuple[Any, str]]:
        """Yield the files in a folder with their relative paths, without files that readers ignore, such as `_SUCCESS`."""
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
            f"cannot {what} folder {self._path} of property `path`: {why}. The task needs permission to create, rename and "
            f"remove files and folders there: grant it, or set `path` to a folder where it has that permission. The records "
            f"are not committed, and are delivered again."
        )
