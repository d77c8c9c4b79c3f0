"""`kubectl penstock`: entry point of the kubectl plugin, and its command line."""

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Final

from penstock.errors import ConfigError, ConnectError
from penstock_cli.kubectl import actions, offsets, status
from penstock_cli.kubectl.requests import RequestFailedError, Waiting
from penstock_cli.kubectl_client import Kubectl
from penstock_cli.text_table import printable
from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.log_levels import LEVELS
from penstock_runtime import logs
from penstock_runtime.logs import say

__all__ = ["main", "parser"]

_STATES: Final = {"pause": "Paused", "resume": "Running", "stop": "Stopped"}
_HELP: Final = {
    "pause": "pause Connectors: tasks keep running, but move no records",
    "resume": "resume Connectors after pause or stop",
    "stop": "stop Connectors: tasks end; offsets are kept, and can be altered or reset",
}
_EXIT_CODES: Final = """\
exit codes:
    0 done
    1 the operator refused the request, or it failed, or you declined it
    2 a file or an option is invalid
    5 the cluster is unreachable or rejects the request, or there was no result in time
  130 Ctrl-C ended the command"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code (`penstock_model.contracts.exit_codes`)."""
    options = _parsed(arguments)
    logs.configure_for_terminal()
    try:
        return int(_run(options))
    except ConfigError as e:
        for problem in e.problems:
            say(f"penstock: {printable(str(problem))}", level=logging.ERROR)
        return ExitCode.CONFIG_INVALID
    except ConnectError as e:
        say(f"penstock: {printable(str(e))}", level=logging.ERROR)
        return ExitCode.FAILED if isinstance(e, RequestFailedError) else ExitCode.UNAVAILABLE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        return ExitCode.OK


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    whole = parser()
    options, rest = whole.parse_known_args(arguments)
    if options.command == "log-level":
        if rest and options.level is None and not rest[0].startswith("-"):
            # Before Python 3.12.7, argparse takes an optional LEVEL only next to NAME.
            options.level = rest.pop(0)
        if (options.level is None) != options.reset:
            whole.error("log-level: specify either LEVEL or --reset")
        if options.reset and options.tasks is not None:
            whole.error("log-level: --reset applies to all tasks; remove --tasks")
    if rest:
        whole.error(f"unrecognized arguments: {' '.join(rest)}")
    return options


def _run(options: argparse.Namespace) -> ExitCode:
    place = {"context": options.context, "kubeconfig": options.kubeconfig, "namespace": options.namespace}
    kubectl = Kubectl(tuple(f"--{name}={value}" for name, value in place.items() if value))
    waiting = Waiting(getattr(options, "timeout", 0.0))
    match options.command:
        case "status":
            return status.show_status(
                kubectl, options.names, is_everywhere=options.all_namespaces, is_watching=options.watch
            )
        case "pause" | "resume" | "stop":
            return actions.set_state(kubectl, options.names, _STATES[options.command], waiting)
        case "restart":
            return actions.restart(kubectl, options.name, waiting, only_failed=options.failed, tasks=options.tasks)
        case "offsets":
            return _offsets(options, kubectl, waiting)
        case "topics" if options.reset:
            return actions.reset_topics(kubectl, options.name, waiting)
        case "topics":
            return status.show_topics(kubectl, options.name)
        case "versions":
            return status.show_versions(kubectl, options.name)
        case "logs":
            given = {"tail": options.tail, "since": options.since}
            words = [f"--{name}={value}" for name, value in given.items() if value is not None]
            words += ["--follow"] if options.follow else []
            return status.show_logs(kubectl, options.name, options.task, words)
        case "log-level":
            level = None if options.reset else options.level
            return actions.set_log_level(kubectl, options.name, level, options.tasks)
        case "plan":
            from penstock_cli.kubectl.plan import show_plan

            return show_plan(kubectl, options.filename)
        case _:
            return _explain(options, kubectl)


def _offsets(options: argparse.Namespace, kubectl: Kubectl, waiting: Waiting) -> ExitCode:
    if options.verb == "list":
        return offsets.list_offsets(kubectl, options.name, waiting, as_json=options.output == "json")
    if options.verb == "alter":
        return offsets.alter_offsets(
            kubectl, options.name, options.offsets, waiting, is_sure=options.yes, is_dry=options.dry_run
        )
    return offsets.reset_offsets(kubectl, options.name, waiting, is_sure=options.yes, is_dry=options.dry_run)


def _explain(options: argparse.Namespace, kubectl: Kubectl) -> ExitCode:
    from penstock_cli.plugin_list import listing
    from penstock_cli.published import in_namespace

    text, is_found = listing(
        options.name, as_json=options.output == "json", version=options.version, given=in_namespace(kubectl)
    )
    sys.stdout.write(text)
    return ExitCode.OK if is_found else ExitCode.CONFIG_INVALID


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, which shell completion uses, too."""
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("-n", "--namespace", metavar="NS", help="the namespace; default: that of the context")
    place.add_argument("--context", metavar="NAME", help="the context of the kubeconfig; default: the current one")
    place.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig; default: that of kubectl")
    waits = argparse.ArgumentParser(add_help=False)
    waits.add_argument(
        "--timeout", type=float, default=120.0, metavar="S", help="seconds to wait for the result; 0: do not wait"
    )
    whole = argparse.ArgumentParser(
        prog="kubectl penstock",
        description="Shows and operates the Connectors of a cluster, with the permissions of your kubectl.",
        epilog=f"kubectl penstock COMMAND --help explains a command.\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = whole.add_subparsers(required=True, metavar="COMMAND", title="commands", dest="command")

    def add(word: str, summary: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        text = f"{summary[0].upper()}{summary[1:]}."
        return commands.add_parser(word, allow_abbrev=False, help=summary, description=text, parents=[place, *parents])

    seen = add("status", "show tasks, rates, lags, last records, versions and conditions")
    seen.add_argument("names", metavar="NAME", nargs="*", help="show the details of these; default: list all")
    seen.add_argument("-A", "--all-namespaces", action="store_true", help="list those of all namespaces")
    seen.add_argument("-w", "--watch", action="store_true", help="refresh every two seconds until Ctrl-C")
    for word, summary in _HELP.items():
        add(word, summary, waits).add_argument("names", metavar="NAME", nargs="+")
    again = add("restart", "restart tasks, with newer plugin versions if the configured range allows them", waits)
    again.add_argument("name", metavar="NAME")
    which = again.add_mutually_exclusive_group()
    which.add_argument("--failed", action="store_true", help="only failed tasks")
    which.add_argument("--tasks", metavar="0,2", help="only these tasks")
    _add_offsets(add("offsets", "list, alter or reset offsets (KIP-875)"), [place, waits])
    topics = add("topics", "show the active topics (KIP-558)", waits)
    topics.add_argument("name", metavar="NAME")
    topics.add_argument(
        "--reset", action="store_true", help="reset them; topics in use are recorded again with their next record"
    )
    add("versions", "show the plugin versions of each task (KIP-891)").add_argument("name", metavar="NAME")
    log = add("logs", "show the logs of the tasks")
    log.add_argument("name", metavar="NAME")
    log.add_argument("--task", type=int, metavar="N", help="only the log of this task")
    log.add_argument("-f", "--follow", action="store_true", help="also show new lines until Ctrl-C")
    log.add_argument("--tail", type=int, metavar="N", help="only the last N lines of each task")
    log.add_argument("--since", metavar="5m", help="only lines that are newer than this, such as 30s, 5m or 2h")
    level = add("log-level", "set the log level of running tasks, without a restart")
    level.add_argument("name", metavar="NAME")
    level.add_argument(
        "level", metavar="LEVEL", nargs="?", help=f"{', '.join(LEVELS)}; DEBUG logs a line for each batch"
    )
    level.add_argument("--reset", action="store_true", help="return to the level of the release, for all tasks")
    level.add_argument("--tasks", metavar="0,2", help="only for these tasks")
    plan = add("plan", "show what applying manifests would change: fields, restarts of tasks, new topics")
    plan.add_argument("-f", "--filename", required=True, metavar="FILE", help="manifests; - is standard input")
    explain = add("explain", "describe a plugin of the namespace, with its configuration")
    explain.add_argument("name", metavar="CLASS", help="an alias such as Cast, or a Java class name")
    explain.add_argument("--version", metavar="V", help="only this version, or a range such as [1.2,2.0)")
    explain.add_argument(
        "-o", "--output", choices=("json",), help="print JSON, as in Kafka Connect's GET /connector-plugins/NAME/config"
    )
    return whole


def _add_offsets(command: argparse.ArgumentParser, parents: Sequence[argparse.ArgumentParser]) -> None:
    verbs = command.add_subparsers(required=True, metavar="VERB", title="verbs", dest="verb")
    listing = verbs.add_parser(
        "list", allow_abbrev=False, help="print the offsets, even while tasks run", parents=parents
    )
    listing.add_argument("-o", "--output", choices=("json",), help="print JSON as in KIP-875, which `alter` reads")
    alter = verbs.add_parser("alter", allow_abbrev=False, help="set positions; others are kept", parents=parents)
    alter.add_argument("--offsets", required=True, metavar="FILE", help="positions in JSON; - is standard input")
    reset = verbs.add_parser("reset", allow_abbrev=False, help="remove all positions", parents=parents)
    for verb in (listing, alter, reset):
        verb.add_argument("name", metavar="NAME")
    for verb in (alter, reset):
        verb.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        verb.add_argument("--dry-run", action="store_true", help="show what would change, and request nothing")


if __name__ == "__main__":
    sys.exit(main())
