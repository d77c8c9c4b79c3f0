"""Compilation of .proto files with protoc."""

import marshal
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final
from weakref import WeakValueDictionary

from cachetools import LRUCache, TTLCache
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from penstock import DataError, RetriableError
from penstock_registry.protobuf import protoc
from penstock_registry.protobuf.known import is_known_file, known_files

__all__ = ["compile_proto"]

_CPU_SECONDS = 20
_NAME: Final = "schema.proto"
_PROGRAM: Final = protoc.__file__

_META: Final = "confluent/meta.proto"
_USES_META: Final = re.compile(r"\(\s*\.?confluent\.")
_IMPORTS_META: Final = re.compile(rf"import\s+(?:public\s+|weak\s+)?[\"']{_META}[\"']")
_MAP_ENTRY: Final = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_FOLDER: Final = re.compile(r"[^\s:]*/penstock-proto-[^/\s]+/sources/")
_WARNING: Final = re.compile(r"^WARNING: |^[IW]\d{4} | warning: ")

_Key = tuple[str, tuple[tuple[str, str], ...]]
_compiled: LRUCache[_Key, FileDescriptor] = LRUCache(64)
_refused: TTLCache[_Key, str] = TTLCache(64, 60)
_compiling: WeakValueDictionary[_Key, threading.Lock] = WeakValueDictionary()
_lock = threading.Lock()
"""Lock of these three caches."""


def compile_proto(text: str, references: Mapping[str, str]) -> FileDescriptor:
    """Return the descriptor of a file. Recent results are cached, since a compilation takes tens of milliseconds.

    Args:
        text: the text of the file.
        references: the texts of files that it imports directly or indirectly, by path.

    Raises:
        DataError: protoc rejects it.
        RetriableError: protoc cannot be run.
    """
    key = (text, tuple(references.items()))
    with _lock:
        one = _compiling.setdefault(key, threading.Lock())
    with one:  # each text is compiled once, and a text that keeps protoc busy does not delay others
        with _lock:
            if (known := _compiled.get(key)) is not None:
                return known
            if (refused := _refused.get(key)) is not None:
                raise DataError(refused)
        try:
            found = _compile(text, references)
        except DataError as e:
            with _lock:
                _refused[key] = str(e)
            raise
        except OSError as e:  # no memory or processes: not the fault of a record
            raise _unavailable(f"{type(e).__name__}: {e.strerror}") from e
        with _lock:
            _compiled[key] = found
    return found


def _compile(text: str, references: Mapping[str, str]) -> FileDescriptor:
    name = _NAME
    while name in references:
        name = f"_{name}"
    sources = {path: source for path, source in references.items() if not is_known_file(path)} | {name: text}
    for path in sources:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\0" in path:
            raise DataError(
                f"cannot read a Protobuf schema: the reference {path!r} is not the path of a file to import"
            )
    descriptors = _run_protoc(name, {path: _for_protoc(source) for path, source in sources.items()})
    pool = DescriptorPool()
    try:
        for file in FileDescriptorSet.FromString(descriptors).file:
            pool.Add(file)
        found: FileDescriptor = pool.FindFileByName(name)
    except (TypeError, KeyError) as e:
        raise DataError(f"cannot read a Protobuf schema: {e}") from e
    return found


def _for_protoc(text: str) -> str:
    """Convert a text that Java's converter accepts to a form that protoc accepts.

    Java's converter resolves Confluent's options without the import. Producers with generated classes register maps as
    messages with `option map_entry = true`, which protoc reserves for itself; without it, the message has the same encoding.
    """
    text = _MAP_ENTRY.sub("", text)
    if _USES_META.search(text) and not _IMPORTS_META.search(text):
        text += f'\nimport "{_META}";\n'
    return text


def _run_protoc(name: str, sources: Mapping[str, str]) -> bytes:
    spec = find_spec("grpc_tools")
    if spec is None or spec.submodule_search_locations is None:
        raise DataError("cannot read a Protobuf schema: package grpcio-tools, which contains protoc, is missing")
    packages = str(Path(next(iter(spec.submodule_search_locations))).parent)
    done = subprocess.run(
        [sys.executable, "-I", "-S", _PROGRAM],
        input=marshal.dumps((packages, tempfile.gettempdir(), name, dict(sources), known_files(), _CPU_SECONDS)),
        capture_output=True,
        check=False,
        start_new_session=True,  # a signal for the task's group would leave its files
    )
    if done.returncode == 0:
        return done.stdout
    said = done.stderr.decode("utf-8", "replace")
    match done.returncode:
        case protoc.NO_RESOURCES:
            raise _unavailable(said)
        case protoc.TOO_SLOW:
            said = f"protoc takes more than {_CPU_SECONDS} seconds to compile it"
        case protoc.UNUSABLE:
            pass
        case _:
            said = _first_errors(said) or f"protoc exited with status {done.returncode}"
    raise DataError(f"cannot read a Protobuf schema: {said[:1000]}")


def _unavailable(cause: str) -> RetriableError:
    return RetriableError(
        f"cannot run protoc: {cause}; check the task's limits of memory, processes and space for temporary files",
        outage=True,
    )


def _first_errors(said: str) -> str:
    said = _FOLDER.sub("", said)
    return "; ".join([line for line in said.splitlines() if line.strip() and not _WARNING.search(line)][:3])[:1000]
