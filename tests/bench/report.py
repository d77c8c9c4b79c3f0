"""What a run says about itself, and the part of docs/benchmarks.md that it writes."""

import os
import platform
import re
import shlex
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import confluent_kafka

from penstock_cli.embedded.jars import KAFKA_VERSION
from penstock_runtime.java_home import Java

__all__ = ["about", "about_text", "marks_of", "write_docs"]

_MAIN: Final = ("<!-- written by `make bench ARGS=--write-docs` -->", "<!-- end -->")


def about(java: Java, *, runs: int, records: int, sink_transforms: str) -> dict[str, Any]:
    """Date, command, machine and versions."""
    arguments = shlex.join(sys.argv[1:])
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "command": "make bench" + (f' ARGS="{arguments}"' if arguments else ""),
        "machine": f"{os.cpu_count()} cores {_processor()}, {_memory()}, Linux {platform.release()}",
        "versions": {
            "penstock": version("penstock"),
            "python": platform.python_version(),
            "pyspark": version("pyspark"),
            "confluent-kafka": version("confluent-kafka"),
            "librdkafka": confluent_kafka.libversion()[0],
            "msgspec": version("msgspec"),
            "java": java.build.splitlines()[0],
            "kafka": KAFKA_VERSION,
        },
        "runs": runs,
        "records": records,
        "sinkTransforms": sink_transforms,
    }


def about_text(known: dict[str, Any]) -> str:
    """The same for people."""
    versions = ", ".join(f"{name} {text}" for name, text in known["versions"].items())
    return (
        f"{known['date']}: `{known['command']}`, {known['records']:,} records, medians of {known['runs']} alternating "
        f"runs.\n{known['machine']}; {versions}. Transforms of the sink: {known['sinkTransforms']}."
    )


def marks_of(part: str) -> tuple[str, str]:
    """Between what the table of a measure stands that runs only when it is asked for."""
    return f'<!-- written by `make bench ARGS="--only {part} --write-docs"` -->', f"<!-- end of {part} -->"


def write_docs(path: Path, known: dict[str, Any], table: str, marks: tuple[str, str] = _MAIN) -> None:
    """Replace what an earlier run wrote between these marks; the words around it stay."""
    begin, end = marks
    text = path.read_text() if path.exists() else "# Benchmarks\n"
    if begin not in text:
        text += f"\n{begin}\n{end}\n"
    part = f"{begin}\n{about_text(known)}\n\n{table}\n{end}"
    path.write_text(re.sub(f"{re.escape(begin)}.*{re.escape(end)}", lambda _: part, text, flags=re.DOTALL))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} GB"
