"""A registry on this machine: CNCF's distribution, built once from its Go module."""

import os
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Final

from ..ports import free_port

__all__ = ["PASSWORD", "USER", "Registry", "registry", "registry_program"]

VERSION: Final = "3.1.2"
USER: Final = "ann"
PASSWORD: Final = "let-me-in"
_HASH: Final = "$2b$04$Mvp8YFx6lHcfYvv5o/UpO.dbNL8DjguWBmsXiDeWMttjmaUUT6Ia."  # bcrypt, the only one that it takes
_CONFIG: Final = """\
version: 0.1
storage: {{filesystem: {{rootdirectory: {folder}/storage}}}}
http: {{addr: "127.0.0.1:{port}"}}
auth: {{htpasswd: {{realm: test, path: {folder}/htpasswd}}}}
"""


@dataclass(frozen=True)
class Registry:
    """Address of a registry that runs."""

    address: str


def registry_program() -> Path:
    """Return the program; it is built if the cache has none."""
    cache = Path(os.environ.get("PENSTOCK_CACHE") or Path.home() / ".cache" / "penstock")
    folder = cache / f"registry-{VERSION}"
    if not (folder / "registry").exists():
        module = f"github.com/distribution/distribution/v3/cmd/registry@v{VERSION}"
        environment = {**os.environ, "GOBIN": str(folder)}
        subprocess.run(["go", "install", "-trimpath", module], env=environment, check=True, timeout=1200)
    return folder / "registry"


@contextmanager
def registry(folder: Path) -> Iterator[Registry]:
    """Run a registry with one account, which stores everything in a folder."""
    port = free_port()
    folder.mkdir()
    (folder / "htpasswd").write_text(f"{USER}:{_HASH}\n")
    (folder / "config.yaml").write_text(_CONFIG.format(folder=folder, port=port))
    environment = {"PATH": os.environ["PATH"], "OTEL_TRACES_EXPORTER": "none"}
    command: list[str | Path] = [registry_program(), "serve", folder / "config.yaml"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if "listening on" in line:
                break
        else:
            raise AssertionError("".join(said))
        Thread(target=deque, args=(process.stderr, 0), daemon=True).start()  # so that it never waits for us
        try:
            yield Registry(f"127.0.0.1:{port}")
        finally:
            process.terminate()
