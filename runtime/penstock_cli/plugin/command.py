"""`penstock plugin`: creates and checks plugin projects, and builds plugin images."""

import argparse
import logging
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from penstock.errors import ConfigError, ConnectError
from penstock_cli.plugin.build import Built, Contents, build, look_at
from penstock_cli.plugin.java_image import BuiltOfJava, build_of_java
from penstock_cli.plugin.new_project import new_project
from penstock_cli.plugin.project import is_project, is_wheel
from penstock_cli.plugin.suites import run_tests, without_a_suite
from penstock_cli.plugin.taken_names import refuse_taken_names
from penstock_model.contracts.exit_codes import ExitCode
from penstock_runtime.logs import say

__all__ = ["plugin"]


def plugin(options: argparse.Namespace) -> ExitCode:
    """Run the verb of a command line that `add_plugin` has read.

    Raises:
        ConfigError: the name or the project is invalid; the error lists all problems.
        ConnectError: a file cannot be read or written.
    """
    before = signal.signal(signal.SIGTERM, _end)
    try:
        match options.verb:
            case "init":
                return _init(options)
            case "check":
                return _check(options)
            case _:
                return _build(options)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except OSError as e:
        raise ConnectError(f"cannot read or write a file: {e}") from e
    finally:
        signal.signal(signal.SIGTERM, before)


def _init(options: argparse.Namespace) -> ExitCode:
    folder = new_project(options.name, options.kind, form=options.form)
    say(f"{folder}: a {options.kind}, with its tests and connector.yaml; README.md has the next steps")
    return ExitCode.OK


def _build(options: argparse.Namespace) -> ExitCode:
    sources: list[Path] = options.sources
    of_python = [s for s in sources if is_wheel(s) or is_project(s)]
    built: Built | BuiltOfJava
    if not of_python:
        built = build_of_java(sources, options.image, options.out, architecture=options.architecture)
        _print_java(built)
    elif len(sources) == 1:
        built = build(sources[0], options.image, options.out, architecture=options.architecture)
        _print_contents(built.contents)
    else:
        raise ConfigError(
            f"cannot make one image of {', '.join(map(str, sources))}: {of_python[0]} contains Python plugins, which "
            "cannot share an image; build an image of each"
        )
    say(
        f"{built.archive}: the image, for `ctr images import`, `kind load image-archive`, `skopeo copy --preserve-digests`"
    )
    say(f"{built.manifest}: its PluginVersion, for `kubectl apply`")
    sys.stdout.write(f"{built.image}\n")
    return ExitCode.OK


def _check(options: argparse.Namespace) -> ExitCode:
    problems: ConfigError | None = None
    has_tests = (options.project / "pyproject.toml").is_file()
    try:
        contents = look_at(options.project, architecture=options.architecture)
        _print_contents(contents)
        refuse_taken_names(contents.name, contents.classes)
    except ConfigError as e:
        if not has_tests:
            raise
        problems = e
    tests = run_tests(options.project) if has_tests else None
    if problems is not None:
        raise problems
    if tests is not None:
        without_a_suite(contents.classes, tests)
        if not tests.have_passed:
            say("penstock: the project's tests failed; see their output above", level=logging.ERROR)
            return ExitCode.FAILED
    sys.stdout.write(f"{contents.name} {contents.version}: good\n")
    return ExitCode.OK


def _print_contents(contents: Contents) -> None:
    for warning in contents.warnings:
        say(f"warning: {warning}", level=logging.WARNING)
    classes = ", ".join(f"{c.alias} ({c.type}, plugin API {c.api_version})" for c in contents.classes)
    say(f"{contents.name} {contents.version}: {classes}")
    say(f"  the image contains {_listed(contents.brought) or 'nothing else'}")
    if contents.left_out:
        say(f"  the runtime has {_listed(contents.left_out)}")


def _print_java(built: BuiltOfJava) -> None:
    for warning in built.warnings:
        say(f"warning: {warning}", level=logging.WARNING)
    rows = [(c.type, c.class_name, c.version, f"{', '.join(c.paths)}") for c in built.classes]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        say("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _listed(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _end(number: int, frame: FrameType | None) -> None:
    """Handle a signal by raising SystemExit, so that temporary files are removed."""
    raise SystemExit(128 + number)
