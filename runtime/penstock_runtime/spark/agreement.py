"""Agreement between a driver and its executors on other machines, checked before an executor delivers a record.

Every worker checks it, because an executor may join at any time. Names and formats here must not change between releases: a
driver and executors of different releases must be able to compare themselves.
"""

import platform
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from socket import gethostname
from typing import Final, TypeVar, cast

import msgspec

from penstock.errors import ConfigError, RetriableError
from penstock_model.contracts.task_spec import PluginReference
from penstock_runtime.plugins import plugin_ref
from penstock_runtime.plugins.discovery import PluginEntry, Plugins
from penstock_runtime.spark.kept_rows import ANSWER, Row
from penstock_runtime.spark.worker import part

__all__ = ["CANNOT", "agreement", "answer", "differences", "refusal", "where_agreed"]

T = TypeVar("T")
_BUILT_IN: Final = "penstock_plugins."
CANNOT: Final = "A Spark executor cannot run this task"
"""Start of the message for an executor that differs."""


class _Agreement(msgspec.Struct, frozen=True):
    packages: Mapping[str, str]
    plugins: Mapping[str, str]


def agreement(plugins: Mapping[str, PluginReference]) -> bytes:
    """Return the packages of this process, and these plugins with their planned versions, as JSON."""
    outside = {p.reference: p.version for p in plugins.values() if not p.reference.startswith(_BUILT_IN)}
    return msgspec.json.encode(_Agreement(_packages(), outside))


def differences(wanted: bytes) -> str:
    """Describe how this process differs from the agreement; empty if it does not."""
    return "; ".join(_differences(msgspec.json.decode(wanted, type=_Agreement)))


def answer(wanted: bytes, payload: bytes) -> bytes:
    """Return the differences as a worker's answer to the first job of a session."""
    return differences(wanted).encode()


def where_agreed(wanted: bytes, entry: Callable[[bytes], T], payload: bytes) -> T:
    """Call the entry if this worker meets the agreement.

    A configuration error in a worker has its cause on this machine, such as a missing module or file that the
    configuration names: the driver has created the same plugins, and would otherwise have failed itself.

    Raises:
        RetriableError: the worker differs, or has a configuration error. This is not returned as data, so that the job
            fails, its part is lost, and the driver continues without the cluster.
    """
    found = _cached_differences(wanted)
    if found:
        raise RetriableError(refusal(found))
    result = entry(payload)
    return cast("T", _checked(result) if isinstance(result, bytes) else _rows_checked(cast("Iterator[Row]", result)))


def _rows_checked(rows: Iterator[Row]) -> Iterator[Row]:
    for number, data in rows:
        yield number, _checked(data) if number == ANSWER else data


def _checked(result: bytes) -> bytes:
    error = part(result).error
    if isinstance(error, ConfigError):
        raise RetriableError(refusal(f"on {gethostname()}, {str(error).rstrip('.')}"))
    return result


def refusal(found: str) -> str:
    """Return the message for an executor that differs."""
    return f"{CANNOT}: {found}; give executors the same image, or the same packages, as the driver"


_cached_differences = cache(differences)


def _packages() -> dict[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, **{name: version(name) for name in ("penstock", "pyspark")}}


def _differences(wanted: _Agreement) -> Iterator[str]:
    own, host = _packages(), gethostname()
    for name, text in wanted.packages.items():
        if own.get(name) != text:
            yield f"{host} has {name} {own.get(name)}, and the driver has {text}"
    for reference, text in wanted.plugins.items():
        try:
            found = _version(reference)
        except ConfigError as e:
            yield f"on {host}, {e}"
        else:
            if found != text:
                yield f"{host} has {reference} {found}, and the driver has {text}"


def _version(reference: str) -> str:
    cls = plugin_ref.load(reference)
    top = reference.partition(":")[0].partition(".")[0]
    for entry in Plugins.installed().entries:
        if entry.path.partition(":")[0].partition(".")[0] == top and _gives(entry, cls):
            return entry.version
    module = __import__(reference.partition(":")[0], fromlist=["__version__"])
    return str(getattr(module, "__version__", "undefined"))


def _gives(entry: PluginEntry, cls: type) -> bool:
    try:
        return entry.ref().cls is cls
    except ConfigError:
        return False
