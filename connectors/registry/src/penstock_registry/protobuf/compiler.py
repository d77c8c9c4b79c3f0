"""Compilation of .proto files with protoc."""

import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Final

from cachetools import LRUCache, TTLCache
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from penstock import DataError, RetriableError
from penstock_registry.protobuf.known import is_known_file, known_files

__all__ = ["compile_proto"]

_SECONDS: Final = 60
_MEMORY: Final = 2 << 30
_NAME: Final = "schema.proto"
_SOURCES: Final = "sources"
_OWN_PROCESS: Final = f"""\
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({_MEMORY}, {_MEMORY}))
resource.setrlimit(resource.RLIMIT_CPU, ({_SECONDS}, {_SECONDS}))
sys.path.insert(0, sys.argv[1])
from grpc_tools._protoc_compiler import run_main
sys.exit(run_main([argument.encode() for argument in sys.argv[1:]]))
"""
"""Program of the child process, since a text from elsewhere can crash a compiler or keep it busy."""

_META: Final = "confluent/meta.proto"
_USES_META: Final = re.compile(r"\(\s*\.?confluent\.")
_IMPORTS_META: Final = re.compile(rf"import\s+(?:public\s+|weak\s+)?[\"']{_META}[\"']")
_MAP_ENTRY: Final = re.compile(r"\boption\s+map_entry\s*=\s*true\s*;")
_WARNING: Final = re.compile(r"^WARNING: |^[IW]\d{4} | warning: ")

_Key = tuple[str, tuple[tuple[str, str], ...]]
_compiled: LRUCache[_Key, FileDescriptor] = LRUCache(64)
_refused: TTLCache[_Key, str] = TTLCache(64, 60)
_lock = threading.Lock()


def compile_proto(text: str, references: Mapping[str, str]) -> FileDescriptor:
    """Return the descriptor of a file. Some of the last results are kept, since a compilation takes tens of milliseconds.

    Args:
        text: the file.
        references: the texts of files that it imports directly or indirectly, by path.

    Raises:
        DataError: protoc does not accept it.
        RetriableError: protoc cannot be run.
    """
    key = (text, tuple(references.items()))
    with _lock:
        if (known := _compiled.get(key)) is not None:
            return known
        if (refused := _refused.get(key)) is not None:
            raise DataError(refused)
        try:
            found = _compiled[key] = _compile(text, references)
        except DataError as e:
            _refused[key] = str(e)
            raise
        except OSError as e:  # no memory, processes or space: not the fault of a record
            raise RetriableError(
                f"cannot run protoc: {type(e).__name__}: {e.strerror}; check the memory, the processes and the space for "
                "temporary files that the task may use",
                outage=True,
            ) from e
    return found


def _compile(text: str, references: Mapping[str, str]) -> FileDescriptor:
    name = _NAME
    while name in references:
        name = f"_{name}"
    with tempfile.TemporaryDirectory(prefix="penstock-proto-") as folder:
        root = Path(folder)
        for path, source in ((name, text), *references.items()):
            if not is_known_file(path):
                _write(root / _SOURCES, path, source)
        (root / "known").write_bytes(known_files())
        _run_protoc(root, name)
        files = FileDescriptorSet.FromString((root / "files").read_bytes())
    pool = DescriptorPool()
    try:
        for file in files.file:
            pool.Add(file)
        found: FileDescriptor = pool.FindFileByName(name)
    except (TypeError, KeyError) as e:
        raise DataError(f"cannot read a Protobuf schema: {e}") from e
    return found


def _write(folder: Path, path: str, text: str) -> None:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or "\0" in path or not relative.parts:
        raise DataError(f"cannot read a Protobuf schema: the reference {path!r} is not the path of a file to import")
    target = folder / relative
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_for_protoc(text), encoding="utf-8")
    except (OSError, ValueError) as e:
        raise DataError(f"cannot read a Protobuf schema: {path!r}: {type(e).__name__}: {e}") from e


def _for_protoc(text: str) -> str:
    """Return a text that Java's converter accepts in a form that protoc accepts.

    The former resolves Confluent's options without the import. Producers with generated classes register maps as messages
    with `option map_entry = true`, which protoc reserves for itself; without it, the message has the same encoding.
    """
    text = _MAP_ENTRY.sub("", text)
    if _USES_META.search(text) and not _IMPORTS_META.search(text):
        text += f'\nimport "{_META}";\n'
    return text


def _run_protoc(root: Path, name: str) -> None:
    spec = find_spec("grpc_tools")
    if spec is None or spec.submodule_search_locations is None:
        raise DataError("cannot read a Protobuf schema: the package grpcio-tools, which has protoc, is not installed")
    packages = str(Path(next(iter(spec.submodule_search_locations))).parent)
    options = [
        f"--proto_path={root / _SOURCES}",
        f"--descriptor_set_in={root / 'known'}",
        f"--descriptor_set_out={root / 'files'}",
        "--include_imports",
    ]
    command = [sys.executable, "-I", "-S", "-c", _OWN_PROCESS, packages, *options, name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise DataError(f"cannot read a Protobuf schema: protoc needs more than {_SECONDS} seconds for it") from None
    if done.returncode != 0:
        raise DataError(f"cannot read a Protobuf schema: {_first_errors(done, root)}")


def _first_errors(done: subprocess.CompletedProcess[bytes], root: Path) -> str:
    said = done.stderr.decode("utf-8", "replace").replace(f"{root / _SOURCES}/", "")
    errors = [line for line in said.splitlines() if line.strip() and not _WARNING.search(line)]
    if not errors:
        return f"protoc ended with status {done.returncode}"
    return "; ".join(errors[:3])[:1000]
