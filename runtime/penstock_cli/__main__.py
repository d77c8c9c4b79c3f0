"""Command line: `penstock demo`, `run`, `validate`, `transform`, `plugins`, `plugin`, `topics`, `offsets` and others."""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.errors import ConfigError, ConnectError, Problem, Superseded
from penstock_logging import log_warnings_and_uncaught_errors
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.version import VersionAction
from penstock_runtime import logs
from penstock_runtime.logs import say

__all__ = ["main"]

_LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR")
_DATA_DIR: Final = Path("penstock-data")
_HIGHEST_PORT: Final = 65_535
_CONSOLE_PORT: Final = 8090
_ACTIVE: Final = "--active"
_ACTIVE_TOPICS: Final = f"topics {_ACTIVE}"
_RESET: Final = "--reset"
_RESET_TOPICS: Final = f"topics {_RESET}"
_EXIT_CODES: Final = """\
exit codes:
    0 stopped on request
    1 a task failed and is not restarted; the last lines name the cause
    2 manifests or options are invalid; nothing was started
    3 a newer run has taken over these connectors; nothing has failed
    5 Java, Kafka or the data folder is unavailable
  130 a second Ctrl-C ended the run immediately"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit code (`penstock_model.contracts.exit_codes`).
    """
    words = [*(sys.argv[1:] if arguments is None else arguments)]
    if words[:1] == ["topics"] and _ACTIVE in words:  # takes a file but no topics; one parser cannot accept both
        words = [_ACTIVE_TOPICS, *(w for w in words[1:] if w != _ACTIVE)]
    elif words[:1] == ["topics"] and _RESET in words:  # likewise
        words = [_RESET_TOPICS, *(w for w in words[1:] if w != _RESET)]
    options = _parser().parse_args(words)
    # Commands that run until Ctrl-C write JSON lines unless standard error is a terminal; the others write plain text.
    if options.command in (_run, _kafka) and not sys.stderr.isatty():
        logs.configure(level=options.log_level)
        log_warnings_and_uncaught_errors()
    else:
        logs.configure_for_terminal()
    try:
        if path := getattr(options, "plugin_path", None):
            from penstock_runtime.plugins.plugin_path import use_plugin_path

            use_plugin_path([entry for each in path for entry in each.split(",") if entry])
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
    except ModuleNotFoundError as e:
        if e.name is None or e.name.startswith("penstock"):
            raise
        say(
            f"penstock: cannot run this command: Python package {e.name.partition('.')[0]} is not installed; "
            "install penstock with the extra [runtime]",
            level=logging.ERROR,
        )
        return ExitCode.UNAVAILABLE
    except BrokenPipeError:
        return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="penstock",
        description="Runs and checks data connectors with Kafka Connect's semantics.",
        epilog="penstock COMMAND --help explains a command.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=VersionAction, help="print the version and the commit")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    from penstock_cli.demo.options import add_demo

    add_demo(commands).set_defaults(command=_demo)

    run = commands.add_parser(
        "run",
        allow_abbrev=False,
        help="run the connectors of manifests on this machine",
        description="Runs the connectors of manifests on this machine, each task as a separate process, until Ctrl-C.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_files(run)
    run.add_argument("--log-level", default="INFO", type=str.upper, choices=_LEVELS, help="default: %(default)s")
    run.add_argument(
        "--bootstrap-servers", metavar="HOST:PORT,...", help="Kafka brokers to use; default: start an embedded Kafka"
    )
    run.add_argument(
        "--data-dir",
        type=Path,
        default=_DATA_DIR,
        metavar="DIR",
        help="data of the embedded Kafka (default: %(default)s)",
    )
    run.add_argument(
        "--metrics-port",
        type=_port,
        default=0,
        metavar="N",
        help="metrics port of the first task; further tasks use the following ports; 0, the default: any free ports",
    )
    run.add_argument(
        "--console",
        type=_port,
        nargs="?",
        const=_CONSOLE_PORT,
        metavar="PORT",
        help=f"serve the console at http://127.0.0.1:PORT/; without PORT: {_CONSOLE_PORT}; this form "
        "must come after all FILEs",
    )
    run.add_argument(
        "--master",
        metavar="spark://HOST:PORT",
        help="standalone Spark cluster whose executors deliver the backlogs of connectors that can run on any machine",
    )
    run.add_argument(
        "--master-secret", type=Path, metavar="FILE", help="file with the cluster's spark.authenticate.secret"
    )
    run.add_argument(
        "--spark-conf",
        action="append",
        default=[],
        metavar="spark.NAME=VALUE",
        help="with --master, a setting of the Spark sessions on the cluster, such as spark.cores.max=8 (the default), "
        "spark.executor.memory or spark.pyspark.python; may be repeated",
    )
    run.set_defaults(command=_run)

    validate = commands.add_parser(
        "validate",
        allow_abbrev=False,
        help="check manifests, and print all problems",
        description="Checks the connectors of manifests as `penstock run` would, prints all problems, and starts "
        "nothing. Exit code 2: there are problems.",
    )
    _add_files(validate)
    validate.set_defaults(command=_validate)

    _add_transform(commands)

    plugins = commands.add_parser(
        "plugins",
        allow_abbrev=False,
        help="list the plugins with their versions, or describe one",
        description="Lists the installed plugins, one row for each version; the last version of a plugin is its default. "
        "With a name, prints the plugin's description and configuration.",
        epilog="penstock plugins PostgresConnector --version 3.6.1.Final --namespace shop -o json",
    )
    plugins.add_argument("name", metavar="NAME", nargs="?", help="an alias such as Cast, or a Java class name")
    plugins.add_argument("--version", metavar="V", help="only this version, or a range such as [1.2,2.0)")
    versions = plugins.add_mutually_exclusive_group()
    versions.add_argument(
        "--plugin-versions",
        metavar="FILE",
        help="also list the PluginVersions of one namespace in this file: manifests, or the output of kubectl; - is "
        "standard input. To show their configurations, include the ConfigMaps that their statuses name",
    )
    versions.add_argument(
        "--namespace",
        metavar="NS",
        help="also list the PluginVersions of this namespace, and their configurations, with kubectl",
    )
    _add_plugin_path(plugins)
    plugins.add_argument(
        "-o",
        "--output",
        choices=("json",),
        help="print JSON: all plugins, or the properties of the latest version of NAME, as in Kafka Connect's "
        "GET /connector-plugins/NAME/config",
    )
    plugins.set_defaults(command=_plugins)

    from penstock_cli.plugin.options import add_plugin

    add_plugin(commands, _plugin)

    topics = commands.add_parser(
        "topics",
        allow_abbrev=False,
        help="show which rule would create a source's topics, or which topics a connector uses",
        description="Shows which rule would create each topic of a source, with which partitions, replicas and settings, "
        "or which limit of its TopicCreationPolicy refuses the topic. Does not connect to Kafka. Exit code 1: a topic is "
        "refused. With --active, lists the topics that a connector has used, as recorded in Kafka: the time of the first "
        "use, the first task, and the name. With --reset, removes these records.",
    )
    topics.add_argument("file", metavar="FILE", help="a manifest, or Kafka Connect's own file; - is standard input")
    topics.add_argument("names", metavar="TOPIC", nargs="+", help="the name of a topic, after the transforms")
    topics.add_argument(
        "--policy",
        metavar="FILE",
        help="file with the TopicCreationPolicies that the connector names, or that select it",
    )
    topics.add_argument("--connector", metavar="NAME", help="the connector, if the file holds several")
    topics.add_argument(
        _ACTIVE, action="store_true", help="list the connector's active topics; has other options, see --active --help"
    )
    topics.add_argument(
        _RESET, action="store_true", help="reset the connector's active topics; has other options, see --reset --help"
    )
    _add_providers(topics)
    _add_plugin_path(topics)
    _add_secrets(topics)
    topics.set_defaults(command=_topics)

    active = commands.add_parser(  # hidden: `main` selects it
        _ACTIVE_TOPICS,
        allow_abbrev=False,
        description="Lists the topics that a connector has used (KIP-558), as recorded in Kafka: the time of the first use, "
        "the first task, and the name.",
    )
    reset = commands.add_parser(  # likewise
        _RESET_TOPICS,
        allow_abbrev=False,
        description="Resets the active topics of a connector (KIP-558), which must not be running. Topics that it still "
        "uses are recorded again with their next record.",
    )
    reset.add_argument(
        "--force", action="store_true", help="reset even if the status topic says that the connector is running"
    )
    for of_used in (active, reset):
        of_used.add_argument(
            "file", metavar="FILE", help="a manifest, or Kafka Connect's own file; - is standard input"
        )
        of_used.add_argument("--connector", metavar="NAME", help="the connector, if the file holds several")
        of_used.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="Kafka brokers with the status topic")
        of_used.add_argument("--worker", type=Path, metavar="FILE", help="a worker configuration: properties or YAML")
        _add_plugin_path(of_used)
        _add_secrets(of_used)
    active.set_defaults(command=_active_topics)
    reset.set_defaults(command=_reset_topics)

    from penstock_cli.migration.options import add_import
    from penstock_cli.offsets.options import add_offsets

    for verb in add_offsets(commands):
        _add_plugin_path(verb)
        _add_secrets(verb)
        verb.set_defaults(command=_offsets)
    importing = add_import(commands)
    _add_plugin_path(importing)
    _add_secrets(importing)
    importing.set_defaults(command=_import)

    kafka = commands.add_parser(
        "kafka",
        allow_abbrev=False,
        help="run only the embedded Kafka",
        description="Runs the embedded Kafka until Ctrl-C, and prints its address as one line of JSON.",
    )
    kafka.add_argument(
        "--data-dir", type=Path, default=_DATA_DIR, metavar="DIR", help="data of Kafka (default: %(default)s)"
    )
    kafka.add_argument(
        "--port",
        type=_port,
        default=0,
        metavar="N",
        help="port for clients; 0, the default: the previous port, or any free port",
    )
    kafka.add_argument("--log-level", default="INFO", type=str.upper, choices=_LEVELS, help=argparse.SUPPRESS)
    kafka.set_defaults(command=_kafka)
    return parser


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= _HIGHEST_PORT):
        raise argparse.ArgumentTypeError(f"{text} is not a port; use a number from 0 to {_HIGHEST_PORT}")
    return int(text)


def _add_transform(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    from penstock_runtime.trial.samples import NAMES, Schemas

    transform = commands.add_parser(
        "transform",
        allow_abbrev=False,
        help="try a connector's transforms on sample records",
        usage="penstock transform [options] FILE < RECORDS",
        description="Runs sample records through the transforms and predicates of a connector, and prints what each\n"
        "transform changes, drops or fails on. Needs no Kafka, and writes nothing.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"""\
records are JSON, one in each line:
  {{"topic": "orders", "key": "a1", "value": {{"id": 7}}, "headers": {{"from": "web"}}, "timestamp": 1463716800123}}
  {{"id": 7}}                                      only a value: an object without the fields
                                                 {", ".join(NAMES)}
  {{"schema": {{...}}, "payload": {{...}}}}            a value or key with its schema, as JsonConverter writes it

exit codes: 0 all records were transformed or dropped, 1 a record failed or could not be read,
            2 the options or the configuration of the transforms are wrong; all problems are printed""",
    )
    transform.add_argument("file", metavar="FILE", help="a manifest, or Kafka Connect's own file; - is standard input")
    transform.add_argument("--connector", metavar="NAME", help="the connector to try, if the file holds several")
    transform.add_argument(
        "--records", default="-", metavar="FILE", help="file of sample records; -, the default: standard input"
    )
    transform.add_argument(
        "--topic",
        metavar="NAME",
        help="topic of records without a topic; default: the connector's first topic, or sample",
    )
    transform.add_argument(
        "--schemas",
        choices=[s.value for s in Schemas],
        default=Schemas.DETECT.value,
        help="whether keys and values are {schema, payload}; detect, the default: yes if they have this form",
    )
    transform.add_argument(
        "--values", action="store_true", help="read each line as a value, even if it has the fields of a record"
    )
    transform.add_argument(
        "--output", choices=("text", "json"), default="text", help="json: one line for each record and stage"
    )
    _add_providers(transform)
    _add_plugin_path(transform)
    _add_secrets(transform)
    transform.set_defaults(command=_transform)


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="YAML manifests, or Kafka Connect's own files; - is standard input"
    )
    parser.add_argument("--worker", type=Path, metavar="FILE", help="a worker configuration: properties or YAML")
    _add_plugin_path(parser)
    _add_secrets(parser)


def _add_providers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--worker",
        type=Path,
        metavar="FILE",
        help="a worker configuration, for its config providers: properties or YAML",
    )


def _add_plugin_path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plugin-path",
        action="append",
        metavar="DIR",
        help="Java plugins, as in Kafka Connect's plugin.path: comma-separated folders of plugins, jars or archives; may be "
        "repeated",
    )


def _add_secrets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--secrets",
        type=Path,
        metavar="DIR",
        help="folder of secrets: ${secret:<name>:<key>} is read from DIR/<name>/<key>",
    )


def _check_secrets(options: argparse.Namespace) -> None:
    folder: Path | None = options.secrets
    if folder is not None and not folder.is_dir():
        raise ConfigError(
            Problem("--secrets", f"{folder} is not a folder; ${{secret:<name>:<key>}} is read from DIR/<name>/<key>")
        )


def _demo(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.demo.command import demo
    from penstock_cli.demo.options import DemoOptions

    return demo(DemoOptions.of(options))


def _run(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.run import RunOptions, run
    from penstock_cli.spark_cluster import cluster_options

    _check_secrets(options)
    return run(
        RunOptions(
            files=options.files,
            bootstrap_servers=options.bootstrap_servers,
            data_dir=options.data_dir,
            worker=options.worker,
            secrets=options.secrets,
            log_level=options.log_level,
            metrics_port=options.metrics_port,
            spark=cluster_options(options.master, options.master_secret, options.spark_conf),
            console=options.console,
            plugin_path=options.plugin_path or (),
        )
    )


def _validate(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.run import plans, worker_config

    _check_secrets(options)
    worker = worker_config(options.worker, options.secrets)
    planned, warnings = plans(options.files, worker, options.secrets)
    for warning in warnings:
        say(f"warning: {warning}", level=logging.WARNING)
    for plan, _ in planned:
        tasks = f"{len(plan.tasks)} task{'s' if len(plan.tasks) != 1 else ''}"
        guarantee = ""
        if plan.kind == "source":
            guarantee = ", exactly once" if plan.exactly_once else ", at least once"
        sys.stdout.write(f"{plan.connector}: valid ({plan.kind}, {tasks}{guarantee})\n")
    return ExitCode.OK


def _transform(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.transform.command import TransformOptions, transform
    from penstock_runtime.trial.samples import Schemas

    _check_secrets(options)
    return transform(
        TransformOptions(
            file=options.file,
            connector=options.connector,
            records=options.records,
            secrets=options.secrets,
            worker=options.worker,
            topic=options.topic,
            schemas=Schemas(options.schemas),
            bare=options.values,
            as_json=options.output == "json",
        )
    )


def _plugin(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.plugin.command import plugin

    return plugin(options)


def _plugins(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.plugin_list import listing

    given = None
    if options.plugin_versions is not None or options.namespace is not None:
        from penstock_cli.kubectl_client import Kubectl
        from penstock_cli.published import in_file, in_namespace

        file = options.plugin_versions
        given = in_file(file) if file is not None else in_namespace(Kubectl((f"--namespace={options.namespace}",)))
    text, found = listing(options.name, as_json=options.output == "json", version=options.version, given=given)
    sys.stdout.write(text)
    return ExitCode.OK if found else ExitCode.CONFIG_INVALID


def _topics(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.topic_rules import show_topics

    _check_secrets(options)
    return show_topics(
        options.file,
        options.names,
        policy=options.policy,
        connector=options.connector,
        secrets=options.secrets,
        worker=options.worker,
    )


def _active_topics(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.active_topics import show_active_topics
    from penstock_cli.offsets.options import OffsetsOptions

    _check_secrets(options)
    return show_active_topics(OffsetsOptions.of(options))


def _reset_topics(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.active_topics import reset_active_topics
    from penstock_cli.offsets.options import OffsetsOptions

    _check_secrets(options)
    return reset_active_topics(OffsetsOptions.of(options))


def _offsets(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.offsets.command import alter_offsets, list_offsets, reset_offsets
    from penstock_cli.offsets.options import OffsetsOptions

    _check_secrets(options)
    of_verb = {"list": list_offsets, "alter": alter_offsets, "reset": reset_offsets}
    return of_verb[options.verb](OffsetsOptions.of(options))


def _import(options: argparse.Namespace) -> ExitCode:
    from penstock_cli.migration.command import import_connectors
    from penstock_cli.migration.options import ImportOptions

    _check_secrets(options)
    return import_connectors(ImportOptions.of(options))


def _kafka(options: argparse.Namespace) -> ExitCode:
    import signal
    import time

    from penstock_cli.embedded import EmbeddedKafka

    received: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.append(number))  # no Event: see task.shutdown
    with EmbeddedKafka(options.data_dir, port=options.port, say=say) as kafka:
        sys.stdout.write(
            json.dumps({"bootstrapServers": kafka.bootstrap_servers, "dataDir": str(kafka.data_dir)}) + "\n"
        )
        sys.stdout.flush()
        while kafka.running and not received:
            time.sleep(0.1)
        if not received:
            raise ConnectError(f"cannot run Kafka: it exited unexpectedly; see {kafka.data_dir / 'kafka.log'}")
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())
