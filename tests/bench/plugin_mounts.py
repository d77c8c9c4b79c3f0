"""How much later a task runs whose pod mounts the images of five PluginVersions, full of packages, than one with none."""

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.bench.results import AtMost, Measure
from tests.integration.running import manifest, next_life, specs
from tests.plugin_images import add_distribution, mount

from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.contracts.task_spec import TaskSpec

__all__ = ["mounts_rows", "start_with_mounts"]

_IMAGES: Final = 5
_DISTRIBUTIONS: Final = 40
_MODULES: Final = 25


def start_with_mounts(folder: Path, servers: str) -> tuple[float, float]:
    """Seconds from the start of a task's process until it runs: with no mounts, and with five."""
    images = [_image(folder / f"image-{n}", n) for n in range(_IMAGES)]
    config = {"topic": f"mounts-{uuid.uuid4().hex}", "rate": 1}
    (spec,) = specs(manifest(f"mounts-{uuid.uuid4().hex[:8]}", "Datagen", config), servers)
    return _start(spec, folder), _start(next_life(spec).with_mounts(images), folder)


def mounts_rows(runs: Sequence[tuple[float, float]]) -> list[Measure]:
    """Only Penstock: a worker of Kafka Connect has loaded its plugins before a task starts."""
    later = [with_them - without for without, with_them in runs]
    return [
        Measure("a task's process runs within, with no plugin mounts", "s", [n for n, _ in runs], []),
        Measure(f"the same with {_IMAGES} plugin mounts: later by", "s", later, [], AtMost(0.5)),
    ]


def _image(folder: Path, number: int) -> PluginMount:
    if not folder.exists():
        for n in range(_DISTRIBUTIONS):
            package = f"bench_{number}_{n}"
            modules = {f"{package}/m{m}.py": "x = 1\n" for m in range(_MODULES)}
            add_distribution(folder, package, "1.0", modules, {f"Bench{number}x{n}": f"{package}.m0:X"})
    return mount(folder, f"bench_{number}_0", "1.0")


def _start(spec: TaskSpec, folder: Path) -> float:
    file = folder / f"{spec.token}.json"
    file.write_text(spec.to_json())
    reading, writing = os.pipe()
    words = [
        sys.executable,
        "-m",
        "penstock_runtime.task",
        str(file),
        "--metrics-port",
        "0",
        "--report-fd",
        str(writing),
    ]
    begun = time.monotonic()
    with (
        (folder / f"{spec.token}.log").open("wb") as log,
        subprocess.Popen(words, pass_fds=(writing,), stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process,
    ):
        os.close(writing)
        with os.fdopen(reading) as events:
            for line in events:
                event = json.loads(line)
                if event["event"] == "state" and event["state"] == "RUNNING":
                    seconds = time.monotonic() - begun
                    process.terminate()
                    return seconds
    raise RuntimeError(f"the task has not run: {(folder / f'{spec.token}.log').read_text()[-2000:]}")
