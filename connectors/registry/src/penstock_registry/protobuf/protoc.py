"""Program of the process that runs protoc: a script that imports no other module of the package.

Its standard input is a `marshal` of the arguments of `_answer`. Untrusted text can crash a compiler or keep it busy, so the
compiler is a child process with limits. The folder of its files is removed even if the task is killed during compilation.
"""

import errno
import marshal
import os
import resource
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

_WALL_SECONDS = 60
_MEMORY = 2 << 30

UNUSABLE, NO_RESOURCES, TOO_SLOW = 65, 71, 75
"""Exit codes: a path is not valid for a file, the system lacks space or memory, or the time limit is exceeded."""
_OF_THE_SYSTEM = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.ENOMEM,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.EROFS,
    errno.EIO,
)


def _answer(packages: str, folder: str, name: str, sources: Mapping[str, str], known: bytes, seconds: int) -> int:
    """Compile a file, and write the descriptors to standard output.

    Args:
        packages: the folder of Python packages that contains protoc.
        folder: the folder for temporary files.
        name: the file's path in `sources`.
        sources: texts of files, by their paths.
        known: descriptors of files that are not in `sources`, as a FileDescriptorSet.
        seconds: maximum CPU time of the compiler.
    """
    try:
        with TemporaryDirectory(prefix="penstock-proto-", dir=folder) as made:
            root = Path(made)
            for path, text in sources.items():
                if not _write(root / "sources" / path, text):
                    sys.stderr.write(f"{path!r} is not the path of a file")
                    return UNUSABLE
            (root / "known").write_bytes(known)
            options = (
                f"--proto_path={root / 'sources'}",
                f"--descriptor_set_in={root / 'known'}",
                f"--descriptor_set_out={root / 'files'}",
                "--include_imports",
            )
            code = _compile(packages, [*options, name], seconds)
            if code == 0:
                sys.stdout.buffer.write((root / "files").read_bytes())
            return code
    except OSError as e:
        sys.stderr.write(f"{type(e).__name__}: {e.strerror}")
        return NO_RESOURCES


def _write(file: Path, text: str) -> bool:
    """Write a file. Return whether its path is valid for a file; errors of the system are raised."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as e:
        if isinstance(e, OSError) and e.errno in _OF_THE_SYSTEM:
            raise
        return False
    return True


def _compile(packages: str, arguments: list[str], seconds: int) -> int:
    """Run protoc in a child process and return its exit code."""
    compiler = os.fork()
    if compiler == 0:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        sys.path.insert(0, packages)
        from grpc_tools._protoc_compiler import run_main

        code = run_main([each.encode() for each in ("protoc", *arguments)])
        os._exit(code)
    late = []

    def kill(*_: object) -> None:
        late.append(True)
        os.kill(compiler, signal.SIGKILL)

    signal.signal(signal.SIGALRM, kill)
    signal.alarm(_WALL_SECONDS)
    code = os.waitstatus_to_exitcode(os.waitpid(compiler, 0)[1])
    signal.alarm(0)
    return TOO_SLOW if late or code == -signal.SIGXCPU else code if 0 <= code < UNUSABLE else 1


if __name__ == "__main__":
    sys.exit(_answer(*marshal.load(sys.stdin.buffer)))  # noqa: S302 (from the process that has started it)
