"""Options of `penstock import`."""

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

__all__ = ["ImportOptions", "add_import"]


@dataclass(frozen=True)
class ImportOptions:
    """Options of the command line.

    Attributes:
        files: configurations and resources, or folders of them; `-` is standard input.
        connect_url: address of a Kafka Connect worker.
        connectors: only these; empty: all.
        name: name for a configuration that has none.
        kafka_connect: only connectors of this KafkaConnect, `[<namespace>/]<name>`.
        namespace: value for `metadata.namespace`.
        connect_worker: Kafka Connect's worker configuration.
        connect_group_id: group.id of that worker, if its file is not given.
        worker, bootstrap_servers: Penstock's worker configuration and brokers, to record transactional ids.
        secrets: folder in which `${secret:...}` is looked up.
        secrets_to: folder for the extracted secrets; None: they are not saved.
        images: images with their tag and digest, as `<repository>:<tag>@sha256:<digest>`.
        plugin_path: folders and archives of Java plugins.
    """

    files: Sequence[str]
    connect_url: str | None = None
    connectors: Sequence[str] = ()
    name: str | None = None
    kafka_connect: str | None = None
    namespace: str | None = None
    connect_worker: Path | None = None
    connect_group_id: str | None = None
    worker: Path | None = None
    bootstrap_servers: str | None = None
    secrets: Path | None = None
    secrets_to: Path | None = None
    images: Sequence[str] = ()
    plugin_path: Sequence[str] = ()

    @classmethod
    def of(cls, given: argparse.Namespace) -> "ImportOptions":
        """Return the options of a command line that the parser of `add_import` has read."""
        return cls(
            files=given.files,
            connect_url=given.connect_url,
            connectors=given.connector or (),
            name=given.name,
            kafka_connect=given.kafka_connect,
            namespace=given.namespace,
            connect_worker=given.connect_worker,
            connect_group_id=given.connect_group_id,
            worker=given.worker,
            bootstrap_servers=given.bootstrap_servers,
            secrets=given.secrets,
            secrets_to=given.secrets_to,
            images=given.image or (),
            plugin_path=getattr(given, "plugin_path", None) or (),
        )

    def again(self, *more: str) -> str:
        """Return the command that repeats the import, without a password, with these words added.

        Args:
            more: further options, quoted for a shell.
        """
        words = [*self.files]
        for option, values in (
            ("--connect-url", [_without_user(self.connect_url)]),
            ("--connector", self.connectors),
            ("--name", [self.name]),
            ("--kafka-connect", [self.kafka_connect]),
            ("--image", self.images),
            ("--namespace", [self.namespace]),
            ("--connect-worker", [self.connect_worker]),
            ("--connect-group-id", [self.connect_group_id]),
            ("--worker", [self.worker]),
            ("--bootstrap-servers", [self.bootstrap_servers]),
            ("--secrets", [self.secrets]),
            ("--secrets-to", [self.secrets_to]),
            ("--plugin-path", self.plugin_path),
        ):
            words += (word for value in values if value is not None for word in (option, str(value)))
        return " ".join(("penstock import", *map(shlex.quote, words), *more, "> connectors.yaml"))

    @property
    def records_ids(self) -> bool:
        """Return whether the options name a Kafka cluster, in which transactional ids are recorded."""
        return self.worker is not None or self.bootstrap_servers is not None


def _without_user(url: str | None) -> str | None:
    if url is None or "@" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"USER:PASSWORD@{parts.netloc.rpartition('@')[2]}"))


def add_import(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Add `penstock import`. Return its parser."""
    parser = commands.add_parser(
        "import",
        allow_abbrev=False,
        help="convert connectors of Kafka Connect or Strimzi to Connector manifests",
        description="Prints Connector manifests for the connectors of Kafka Connect (its REST API, or files), of Strimzi,\n"
        "Red Hat and IBM Event Streams (KafkaConnector), and of Confluent for Kubernetes (Connector); PluginVersions for\n"
        "the images of a KafkaConnect; and on standard error settings that are not carried over, the steps in order, and\n"
        "a table of the connectors that can run. Changes nothing in Kafka Connect, and does not connect to the systems\n"
        "that connectors read or write.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="""\
With --bootstrap-servers or --worker, the transactional ids of Kafka Connect's tasks are recorded in Kafka, so that a task
that froze there is fenced when its connector starts here. Without them, only manifests are printed.

exit codes: 0 every manifest can run once its Secrets exist, 1 some need a plugin or a correction first,
            2 a file or an option is invalid, a connector has no manifest, or there are no connectors,
            5 Kafka Connect or Kafka is unreachable""",
    )
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="JSON, YAML or .properties, or a folder of them; - is standard input"
    )
    parser.add_argument("--connect-url", metavar="URL", help="a worker of Kafka Connect: http://HOST:8083")
    parser.add_argument("--connector", metavar="NAME", action="append", help="import only this one; may be repeated")
    parser.add_argument("--name", metavar="NAME", help="name for a configuration without one, as in a PUT request")
    parser.add_argument(
        "--kafka-connect",
        metavar="[NAMESPACE/]NAME",
        help="only connectors of this KafkaConnect, if a file has several with different offset topics",
    )
    parser.add_argument(
        "--image",
        metavar="NAME:TAG@DIGEST",
        action="append",
        help="digest of an image that a KafkaConnect names by its tag, for a PluginVersion; may be repeated",
    )
    parser.add_argument("--namespace", metavar="NAME", help="the namespace for the manifests")
    parser.add_argument(
        "--connect-worker",
        type=Path,
        metavar="FILE",
        help="Kafka Connect's worker configuration, for the default converters and group.id",
    )
    parser.add_argument(
        "--connect-group-id",
        metavar="ID",
        help="group.id of Kafka Connect; default: that of --connect-worker, or connect-cluster",
    )
    parser.add_argument(
        "--bootstrap-servers", metavar="HOST:PORT,...", help="Kafka brokers that the connectors will use here"
    )
    parser.add_argument(
        "--worker", type=Path, metavar="FILE", help="Penstock's worker configuration: properties or YAML"
    )
    parser.add_argument(
        "--secrets-to",
        type=Path,
        metavar="DIR",
        help="save extracted secrets in DIR/<Secret>/<key>; without it, they are only in Kafka Connect",
    )
    return parser
