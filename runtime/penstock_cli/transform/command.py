"""`penstock transform`: tries a connector's transforms on sample records before the connector is applied."""

import logging
import sys
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from penstock import ConfigError, Problem
from penstock_cli.manifests.reader import chosen, read_manifests
from penstock_cli.manifests.worker_file import read_texts
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say
from penstock_runtime.plugins.discovery import Plugins
from penstock_runtime.trial.samples import Reader, Schemas
from penstock_runtime.trial.trial import Outcome, Trial
from penstock_runtime.trial.view import JsonLines, Text, View

__all__ = ["TransformOptions", "transform"]


@dataclass(frozen=True)
class TransformOptions:
    """Options of the command line.

    Attributes:
        file: the manifest; `-` is standard input.
        connector: its name, if the file holds several; None: the only one.
        records: file of sample records; `-` is standard input.
        secrets: folder in which `${secret:..}` is looked up.
        worker: file of the worker configuration, for its config providers; None: there is none.
        topic: topic of records without one; None: one of the connector's.
        schemas: whether keys and values are in an envelope.
        bare: whether each JSON document is only a value.
        as_json: print JSON lines.
    """

    file: str
    connector: str | None = None
    records: str = "-"
    secrets: Path | None = None
    worker: Path | None = None
    topic: str | None = None
    schemas: Schemas = Schemas.DETECT
    bare: bool = False
    as_json: bool = False


def transform(options: TransformOptions, stdin: TextIO | None = None, stdout: TextIO | None = None) -> ExitCode:
    """Run the chain on all records, and print the result of each stage.

    Returns:
        FAILED if a record could not be read or failed at a stage, otherwise OK; a dropped record is not a failure.

    Raises:
        ConfigError: the chain or the files are invalid; the error lists all problems.
    """
    given, out = stdin or sys.stdin, stdout or sys.stdout
    if options.file == "-" and options.records == "-":
        raise ConfigError(Problem("--records", "is missing: standard input has the manifest; pass a file of records"))
    where, trial = _trial(options, given)
    with ExitStack() as stack:
        stack.enter_context(closing(trial))
        for warning in trial.warnings:
            say(f"warning: {where}: {warning}", level=logging.WARNING)
        if not trial.stages:
            say(f"warning: {where}: there are no transforms; records are not changed", level=logging.WARNING)
        lines = given if options.records == "-" else stack.enter_context(_opened(options.records))
        if lines.isatty():
            say("Type records, one JSON object per line; Ctrl-D ends the input.")
        reader = Reader(options.topic or trial.topic, trial.sink, options.schemas, options.bare)
        view: View = JsonLines(trial, out) if options.as_json else Text(trial, out)
        ends: Counter[Outcome] = Counter()
        try:
            for sample in reader.samples(lines):
                ends[view.show(sample)] += 1
        except UnicodeDecodeError:
            name = "standard input" if options.records == "-" else options.records
            raise ConfigError(Problem(name, "the records are not UTF-8 text; save them as UTF-8")) from None
        except KeyboardInterrupt:
            return ExitCode.INTERRUPTED
        if not ends:
            say("warning: there were no records", level=logging.WARNING)
        view.end(ends)
        return ExitCode.FAILED if ends[Outcome.FAILED] else ExitCode.OK


def _trial(options: TransformOptions, stdin: TextIO) -> tuple[str, Trial]:
    manifest = chosen(read_manifests([options.file], stdin).connectors, options.connector)
    try:
        worker = {} if options.worker is None else read_texts(options.worker)
        return manifest.where, Trial.of(manifest.connector, Plugins.installed(), options.secrets, worker=worker)
    except ConfigError as e:
        located = [
            [Problem(f"{manifest.where}: {p.property}", p.message) for p in of] for of in (e.problems, e.warnings)
        ]
        raise ConfigError(*located) from None


def _opened(file: str) -> TextIO:
    try:
        return Path(file).open(encoding="utf-8")
    except OSError as e:
        raise ConfigError(Problem(file, f"cannot be read: {e.strerror}")) from None
