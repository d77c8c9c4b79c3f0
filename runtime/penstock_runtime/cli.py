"""The command line: `penstock run`, `validate`, `transform`, `plugins`, `kafka`."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime import logs
from penstock_runtime.logs import say

__all__ = ["main"]

_EXIT_CODES = "exit codes: " + ", ".join(
    f"{c.value} {c.name.lower().replace('_', ' ')}" for c in ExitCode if c not in (ExitCode.LOST, ExitCode.STALLED)
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code (`penstock_model.contracts.exit_codes`).
    """
    options = _parser().parse_args(arguments)
    # What runs for long speaks to a program unless it sits at a terminal; what answers once speaks to a person.
    if options.command in (_run, _kafka) and not sys.stderr.isatty():
        logs.configure(level=options.log_level)
        log_warnings_and_uncaught_errors()
    else:
        logs.configure_for_terminal()
    try:
        return int(options.command(options))
    except ConfigError as e:
        for warning in e.warnings:
            say(f"warning: {warning}", level=logging.WARNING)
        if len(e.problems) > 1:
            say(f"{len(e.problems)} problems:", level=logging.ERROR)
        for problem in e.problems:
            say(f"  {problem}" if len(e.problems) > 1 else f"penstock: {problem}", level=logging.ERROR)
        return ExitCode.CONFIG_INVALID
    except Superseded as e:
        say(f"penstock: {e}", level=logging.WARNING)
        return ExitCode.SUPERSEDED
    except ConnectError as e:
        say(f"penstock: {e}", level=logging.ERROR)
        return ExitCode.UNAVAILABLE
    except BrokenPipeError:
        return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock",
        description="Data connectors with Kafka Connect's semantics.",
        epilog=_EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"penstock {version('penstock')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    run = commands.add_parser(
        "run", allow_abbrev=False, help="run the connectors of manifests on this machine", epilog=_EXIT_CODES
    )
    _files(run)
    run.add_argument("--bootstrap-servers", help="the Kafka to use; without it an embedded one is started")
    run.add_argument(
        "--data-dir", type=Path, default=Path("penstock-data"), help="data of the embedded Kafka (%(default)s)"
    )
    run.add_argument("--metrics-port", type=int, default=0, help="of the first task, counting up; 0: any (default)")
    run.set_defaults(command=_run)

    validate = commands.add_parser(
        "validate", allow_abbrev=False, help="check manifests, and say everything that is wrong at once"
    )
    _files(validate)
    validate.set_defaults(command=_validate)

    _add_transform(commands)

    plugins = commands.add_parser("plugins", allow_abbrev=False, help="list plugins, or show one's configuration")
    plugins.add_argument("name", nargs="?", help="an alias or a Java class name")
    plugins.add_argument("--json", action="store_true", help="for programs")
    plugins.add_argument("--log-level", default="WARNING", help=argparse.SUPPRESS)
    plugins.set_defaults(command=_plugins)

    kafka = commands.add_parser("kafka", allow_abbrev=False, help="run the embedded Kafka alone")
    kafka.add_argument("--data-dir", type=Path, default=Path("penstock-data"), help="its data (%(default)s)")
    kafka.add_argument("--port", type=int, default=0, help="where clients find it; 0: as before, or any")
    kafka.add_argument("--log-level", default="INFO", help=argparse.SUPPRESS)
    kafka.set_defaults(command=_kafka)
    return parser


def _add_transform(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from penstock_runtime.local.transform.samples import NAMES, Schemas

    transform = commands.add_parser(
        "transform",
        allow_abbrev=False,
        help="try a connector's transforms on sample records",
        usage="penstock transform [options] FILE < RECORDS",
        description="Runs sample records through the transforms and predicates of a connector, and prints what each "
        "changes, drops or fails on. Needs no Kafka, and writes nothing.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"""\
records are JSON, one a line:
  {{"topic": "orders", "key": "a1", "value": {{"id": 7}}, "headers": {{"from": "web"}}, "timestamp": 1463716800123}}
  {{"id": 7}}                                      a value alone: an object with other names than
                                                 {", ".join(NAMES)}
  {{"schema": {{...}}, "payload": {{...}}}}            a value or key with its schema, as JsonConverter writes it

exit codes: 0 all records went through or were dropped, 1 a record failed or could not be read,
            2 the configuration is wrong: everything that is wrong with the chain is told""",
    )
    transform.add_argument("file", metavar="FILE", help="a manifest, or Kafka Connect's own form; - is standard input")
    transform.add_argument("--connector", metavar="NAME", help="which connector, where the file holds several")
    transform.add_argument("--records", default="-", metavar="FILE", help="the records; - is standard input (default)")
    transform.add_argument("--topic", help="of records that name none; otherwise one that the connector names")
    transform.add_argument(
        "--schemas",
        choices=[s.value for s in Schemas],
        default=Schemas.DETECT.value,
        help="whether keys and values are {schema, payload}; by default those are that look so",
    )
    transform.add_argument("--values", action="store_true", help="take each JSON as a value, whatever its names are")
    transform.add_argument(
        "--output", choices=("text", "json"), default="text", help="json: a line per record and stage"
    )
    transform.add_argument("--secrets", type=Path, metavar="DIR", help="${secret:<name>:<key>} is DIR/<name>/<key>")
    transform.add_argument("--log-level", default="WARNING", help=argparse.SUPPRESS)
    transform.set_defaults(command=_transform)


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="YAML manifests; - is standard input")
    parser.add_argument("--worker", type=Path, metavar="FILE", help="a worker configuration, Connect's own form too")
    parser.add_argument("--secrets", type=Path, metavar="DIR", help="${secret:<name>:<key>} is DIR/<name>/<key>")
    parser.add_argument("--log-level", default="INFO", type=str.upper, choices=("DEBUG", "INFO", "WARNING", "ERROR"))


def _secrets(options: argparse.Namespace) -> None:
    folder: Path | None = options.secrets
    if folder is not None and not folder.is_dir():
        raise ConfigError(
            Problem("--secrets", f"{folder} is not a folder; ${{secret:<name>:<key>}} is DIR/<name>/<key>")
        )


def _run(options: argparse.Namespace) -> ExitCode:
    from penstock_runtime.local.run import RunOptions, run

    _secrets(options)
    return run(
        RunOptions(
            files=options.files,
            bootstrap_servers=options.bootstrap_servers,
            data_dir=options.data_dir,
            worker=options.worker,
            secrets=options.secrets,
            log_level=options.log_level,
            metrics_port=options.metrics_port,
        )
    )


def _validate(options: argparse.Namespace) -> ExitCode:
    from penstock_runtime.local.run import RunOptions, plans, worker_config

    _secrets(options)
    worker = worker_config(
        RunOptions(options.files, None, Path(os.devnull), options.worker, options.secrets, options.log_level)
    )
    planned, warnings = plans(options.files, worker, options.secrets)
    for warning in warnings:
        say(f"warning: {warning}", level=logging.WARNING)
    for one, _ in planned:
        tasks = f"{len(one.tasks)} task{'s' if len(one.tasks) != 1 else ''}"
        guarantee = ""
        if one.kind == "source":
            guarantee = ", exactly once" if one.exactly_once else ", at least once"
        sys.stdout.write(f"{one.connector}: valid ({one.kind}, {tasks}{guarantee})\n")
    return ExitCode.OK


def _transform(options: argparse.Namespace) -> ExitCode:
    from penstock_runtime.local.transform.command import TransformOptions, transform
    from penstock_runtime.local.transform.samples import Schemas

    _secrets(options)
    return transform(
        TransformOptions(
            file=options.file,
            connector=options.connector,
            records=options.records,
            secrets=options.secrets,
            topic=options.topic,
            schemas=Schemas(options.schemas),
            bare=options.values,
            as_json=options.output == "json",
        )
    )


def _plugins(options: argparse.Namespace) -> ExitCode:
    from penstock_runtime.local.plugin_list import listing

    text, found = listing(options.name, as_json=options.json)
    sys.stdout.write(text)
    return ExitCode.OK if found else ExitCode.CONFIG_INVALID


def _kafka(options: argparse.Namespace) -> ExitCode:
    import signal
    import time

    from penstock_runtime.embedded import EmbeddedKafka

    asked: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: asked.append(number))  # no Event: see Stopping
    with EmbeddedKafka(options.data_dir, port=options.port, say=say) as kafka:
        sys.stdout.write(
            json.dumps({"bootstrapServers": kafka.bootstrap_servers, "dataDir": str(kafka.data_dir)}) + "\n"
        )
        sys.stdout.flush()
        while kafka.running and not asked:
            time.sleep(0.1)
        if not asked:
            raise ConnectError(f"Kafka has ended by itself; see {kafka.data_dir}")
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
