"""Options of `penstock demo`."""

import argparse
import math
from dataclasses import dataclass
from pathlib import Path

__all__ = ["DemoOptions", "add_demo"]


@dataclass(frozen=True)
class DemoOptions:
    """Options of the command line.

    Attributes:
        rate: orders per second.
        seconds: minimum seconds from the first record in the file to the end of the demo, which also waits for the delivery
            of a backlog; None: until Ctrl-C.
        backlog: number of orders in a backlog; 0: no backlog.
        keep: folder that keeps the data; None: a temporary one.
        manifests: folder to write the manifests to, instead of running the demo.
    """

    rate: int = 200
    seconds: float | None = None
    backlog: int = 0
    keep: Path | None = None
    manifests: Path | None = None

    @classmethod
    def of(cls, given: argparse.Namespace) -> "DemoOptions":
        """Return the options of a command line that the parser of `add_demo` has read."""
        return cls(given.rate, given.seconds, given.backlog, given.keep, given.manifests)


def add_demo(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Add `penstock demo`."""
    demo = commands.add_parser(
        "demo",
        allow_abbrev=False,
        help="run a demo on this machine: Kafka, a source, transforms and a sink, with a count of the records",
        description="Starts a Kafka on this machine, and `penstock run` with a source of random orders, transforms\n"
        "and a sink that writes a file. Ctrl-C ends it. Then it counts the records in the topic and in\n"
        "the file, and removes all data. Kafka (44 MB) is downloaded once.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""\
exit codes:
    0 no record is missing or duplicated
    1 a record is missing or duplicated, or a connector has failed; the data is kept
    2 an option is invalid; nothing was started
    5 Java, the network or disk space is missing
  130 interrupted before the count""",
    )
    demo.add_argument(
        "--seconds", type=_seconds, metavar="N", help="stop this many seconds after the first record has arrived"
    )
    demo.add_argument("--rate", type=_rate, default=200, metavar="N", help="orders per second (default: %(default)s)")
    demo.add_argument(
        "--backlog",
        type=_count,
        default=0,
        metavar="N",
        help="also deliver a backlog of this many orders, such as 1000000, for which Spark starts",
    )
    demo.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the data in DIR; the next demo in DIR continues with it"
    )
    demo.add_argument(
        "--manifests",
        type=Path,
        metavar="DIR",
        help="only write the manifests of the demo to DIR, to change them and use them with `penstock run`",
    )
    return demo


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return seconds


def _rate(text: str) -> int:
    if (rate := _count(text)) == 0:
        raise argparse.ArgumentTypeError("the demo needs at least 1 order per second")
    return rate


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 0 to 999999999")
    return int(text)
