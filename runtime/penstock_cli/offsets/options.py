"""Options of `penstock offsets`."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["OffsetsOptions", "add_offsets"]


@dataclass(frozen=True)
class OffsetsOptions:
    """Options of the command line.

    Attributes:
        file: the manifest, or Kafka Connect's own file; `-` is standard input.
        connector: its name, if the file holds several; None: the only one.
        worker, bootstrap_servers, secrets: as for `penstock run`.
        as_json: for `list`: print JSON as in KIP-875.
        offsets: for `alter`: the file of that JSON; `-` is standard input.
        is_sure: do not ask for confirmation.
        is_dry: show what would change, and do nothing.
        is_forced: proceed even if the connector may be running elsewhere.
    """

    file: str
    connector: str | None = None
    worker: Path | None = None
    bootstrap_servers: str | None = None
    secrets: Path | None = None
    as_json: bool = False
    offsets: str = "-"
    is_sure: bool = False
    is_dry: bool = False
    is_forced: bool = False

    @classmethod
    def of(cls, given: argparse.Namespace) -> "OffsetsOptions":
        """Return the options of a command line that a parser of `add_offsets` has read."""
        return cls(
            file=given.file,
            connector=given.connector,
            worker=given.worker,
            bootstrap_servers=given.bootstrap_servers,
            secrets=given.secrets,
            as_json=getattr(given, "output", "text") == "json",
            offsets=getattr(given, "offsets", "-"),
            is_sure=getattr(given, "yes", False),
            is_dry=getattr(given, "dry_run", False),
            is_forced=getattr(given, "force", False),
        )


def add_offsets(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> Sequence[argparse.ArgumentParser]:
    """Add `penstock offsets`. Return the parsers of its verbs, to which options that all commands share are added."""
    offsets = commands.add_parser(
        "offsets",
        allow_abbrev=False,
        help="list, alter or reset a connector's offsets, without Kubernetes",
        description="Lists, alters or resets the offsets of a connector defined in a file (KIP-875). For a Connector on\n"
        "Kubernetes use its annotations: penstock.dev/list-offsets, penstock.dev/alter-offsets, penstock.dev/reset-offsets.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""\
exit codes:
    0 done
    1 refused: by the plugin, by members of the consumer group, or by you
    2 a file, an option or a configuration is invalid; all problems are printed, and nothing was done
    3 the connector was started during the command
    5 Kafka is unreachable or rejects the request, or the connector may be running elsewhere
  130 interrupted; list the offsets""",
    )
    verbs = offsets.add_subparsers(required=True, metavar="VERB", title="verbs")
    listing = verbs.add_parser(
        "list",
        allow_abbrev=False,
        help="print the offsets, even while tasks run",
        description="Prints the positions at which the connector's next task starts, and for a sink also the end of each "
        "partition. Tasks may be running.",
    )
    alter = verbs.add_parser(
        "alter",
        allow_abbrev=False,
        help="set positions; others are kept",
        description="Sets the positions in a JSON document in the format of `list --output json`. Others are kept; null "
        "removes a position of a source. The connector must not be running.",
    )
    reset = verbs.add_parser(
        "reset",
        allow_abbrev=False,
        help="delete all offsets",
        description="Deletes all offsets, so that the connector starts from the beginning. It must not be running.",
    )
    for verb in (listing, alter, reset):
        verb.add_argument("file", metavar="FILE", help="a manifest, or Kafka Connect's own file; - is standard input")
        verb.add_argument("--connector", metavar="NAME", help="the connector, if the file holds several")
        verb.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="Kafka brokers with the offsets")
        verb.add_argument("--worker", type=Path, metavar="FILE", help="a worker configuration: properties or YAML")
        verb.set_defaults(verb=verb.prog.rpartition(" ")[2])
    listing.add_argument(
        "--output", choices=("text", "json"), default="text", help="json: the format that `alter` reads"
    )
    alter.add_argument("--offsets", required=True, metavar="FILE", help="positions in JSON; - is standard input")
    for verb in (alter, reset):
        verb.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        verb.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
        verb.add_argument(
            "--force",
            action="store_true",
            help="proceed although the connector seems to be running, as it does after it was killed; running tasks are "
            "fenced, and their progress is overwritten",
        )
    return listing, alter, reset
