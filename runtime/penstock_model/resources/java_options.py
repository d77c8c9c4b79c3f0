"""JVM options that `spec.java.options` may contain, and why others are rejected. Pure.

Options are allowed by their form, so that none is allowed by accident; of these, some are rejected by name, because a
guarantee of Penstock depends on them, or because they run commands, open ports or read other options.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.errors import Problem
from penstock_model.connect.secret_names import has_secret_text, is_secret_name

__all__ = ["is_collector", "refused_options", "secret_options"]

_SHAPES: Final = re.compile(
    r"-D[^=\s]+(=.*)?|-XX:[+-]\w+|-XX:\w+=.*|-Xss\w+|-Xmn\w+|-Xlog(:.*)?|-verbose:\w+"
    r"|--add-(opens|exports|reads|modules)=.+|--enable-native-access=.+"
)
_ALLOWED: Final = (
    "-D<property>=<value>, -XX:..., -Xss, -Xmn, -Xlog, -verbose, --add-opens=..., --add-exports=..., --add-reads=..., "
    "--add-modules=... and --enable-native-access=... are"
)
_HEAP: Final = "spec.java.heapPercent sets the heap; remove it"
_CLASSES: Final = "classes come from the plugin's image and from Penstock; remove it"
_AGENT: Final = "agents cannot run in the JVM; remove it, because the task's endpoint has the metrics"
_DEBUG: Final = "a debugger could stop the task, through a port without a password; remove it"
_COMMAND: Final = (
    "the JVM runs no command: it exits when it is out of memory, and the task's status reports this; remove it"
)
_FILES: Final = "options in files are not checked; write them into spec.java.options"
_BY_BEGINNING: Final[Mapping[str, str]] = {
    "-Xmx": _HEAP,
    "-Xms": _HEAP,
    "-Xbootclasspath": _CLASSES,
    "-Xrunjdwp": _DEBUG,
    "-Xdebug": _DEBUG,
    "-cp": _CLASSES,
    "-classpath": _CLASSES,
    "--class-path": _CLASSES,
    "--module-path": _CLASSES,
    "--upgrade-module-path": _CLASSES,
    "--patch-module": _CLASSES,
    "-p": _CLASSES,
    "-jar": _CLASSES,
    "-javaagent": _AGENT,
    "-agentlib": _AGENT,
    "-agentpath": _AGENT,
    "@": _FILES,
}
_FLAGS: Final[Mapping[str, str]] = {
    "MaxHeapSize": _HEAP,
    "InitialHeapSize": _HEAP,
    "MinHeapSize": _HEAP,
    "MaxRAM": _HEAP,
    "MaxRAMPercentage": _HEAP,
    "InitialRAMPercentage": _HEAP,
    "MinRAMPercentage": _HEAP,
    "MaxRAMFraction": _HEAP,
    "InitialRAMFraction": _HEAP,
    "MinRAMFraction": _HEAP,
    "AggressiveHeap": _HEAP,
    "ExitOnOutOfMemoryError": "the JVM exits when it is out of memory, so that its task restarts; remove it",
    "CrashOnOutOfMemoryError": "a crash would hide that the JVM is out of memory; remove it",
    "OnOutOfMemoryError": _COMMAND,
    "OnError": _COMMAND,
    "Flags": _FILES,
    "VMOptionsFile": _FILES,
}
_PROPERTIES: Final[Mapping[str, str]] = {
    "java.class.path": _CLASSES,
    "java.system.class.loader": _CLASSES,
    "java.io.tmpdir": "all temporary files are in the task's folder, which is removed with the task; set TMPDIR in "
    "spec.template.env to move it",
    "com.sun.management.jmxremote": "it opens a port, and the task's metrics endpoint has the beans; remove it",
    "penstock": "it is reserved for Penstock; remove it",
}
"""Reasons by system property. Each also applies to all properties that start with it and a dot."""
_DUMP: Final = "HeapDumpOnOutOfMemoryError"
_DUMP_PATH: Final = "-XX:HeapDumpPath=/"
_VARIABLE: Final = re.compile(r"\$\{[^}:]*:")
_COLLECTOR: Final = re.compile(r"-XX:\+Use(Serial|Parallel|G1|Z|Shenandoah|Epsilon)GC")


def is_collector(option: str) -> bool:
    """Return whether the option chooses the garbage collector; only one can be chosen."""
    return _COLLECTOR.fullmatch(option) is not None


def refused_options(options: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each rejected option, without its value."""
    for number, option in enumerate(options):
        if (reason := _reason_against(option, options)) is not None:
            yield Problem(f"spec.java.options[{number}]", f"cannot be {_named(option)}: {reason}")


def secret_options(options: Sequence[str]) -> Iterator[Problem]:
    """Yield a warning for each system property whose name or value indicates a secret."""
    for number, option in enumerate(options):
        name, _, value = option.removeprefix("-D").partition("=")
        if option.startswith("-D") and value and (is_secret_name(name) or has_secret_text(value)):
            message = (
                f"everyone who can read the Connector can read {_named(option)}; if the plugin has a property for it, set "
                "that in spec.config, as ${secret:<name>:<key>}"
            )
            yield Problem(f"spec.java.options[{number}]", message)


def _reason_against(option: str, options: Sequence[str]) -> str | None:
    if _VARIABLE.search(option):
        return (
            "variables are resolved in spec.config only, and all processes of the pod can read the options of a JVM; pass "
            "a secret to the plugin in spec.config, or mount it as a file by spec.template"
        )
    if not option.startswith("-") and not option.startswith("@"):
        return "it does not start with -; write an option and its value as one entry (--add-opens=...)"
    if option.startswith("-XX:"):
        name = option[4:].lstrip("+-").partition("=")[0]
        if name == "ExitOnOutOfMemoryError" and option[4:5] == "+":
            return None
        if name == _DUMP and option[4:5] == "+" and not any(o.startswith(_DUMP_PATH) for o in options):
            return "the dump would be lost with the pod; add a file in a volume of spec.template: -XX:HeapDumpPath=/..."
        if name == "HeapDumpPath" and not option.startswith(_DUMP_PATH):
            return "it must be an absolute path"
        if name in _FLAGS:
            return _FLAGS[name]
    if option.startswith("-D"):
        name = option[2:].partition("=")[0]
        found = next((p for p in _PROPERTIES if name == p or name.startswith(f"{p}.")), None)
        if found is not None:
            return _PROPERTIES[found]
    if _SHAPES.fullmatch(option) and option.isprintable():
        return None
    beginning = next((b for b in _BY_BEGINNING if option.startswith(b)), None)
    return _BY_BEGINNING[beginning] if beginning is not None else f"only {_ALLOWED} allowed"


def _named(option: str) -> str:
    """Return the option without its value, which may be a secret."""
    head = option if option.startswith(("-XX:+", "-XX:-")) else option.partition("=")[0]
    return head[:60] if head.isprintable() else "this option"
