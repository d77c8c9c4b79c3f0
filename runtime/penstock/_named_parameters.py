"""Parameters of a function that becomes a plugin, and the `Config` in its annotation."""

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from penstock.config import Config

__all__ = ["NamedParameters"]


class NamedParameters:
    """Parameters of a plugin function, a subset of those that its kind of plugin offers.

    Args:
        function: the function.
        kind: the kind of plugin, for messages.
        needed: the parameter that the function must have.
        offered: all parameters that the function may have; `config` is always one of them.

    Raises:
        TypeError: the function has other parameters, lacks `needed`, is `async` or not defined at module level, or the
            annotation of `config` is not a subclass of `Config`.
    """

    def __init__(self, function: Callable[..., Any], *, kind: str, needed: str, offered: Sequence[str]) -> None:
        name = getattr(function, "__qualname__", repr(function))
        self.name = name
        if not inspect.isfunction(function):
            raise TypeError(f"@{kind} requires a function, not {name}; write a plugin class instead.")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"@{kind} {name}: it is async, but Penstock calls it without an event loop; use def instead of async def."
            )
        if "<" in name:  # <locals>, <lambda>
            raise TypeError(f"@{kind} {name}: other processes cannot import it; define the function at module level.")
        choice = ", ".join(offered)
        parameters = inspect.signature(function).parameters
        for parameter in parameters.values():
            plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if parameter.name not in offered or not plain:
                raise TypeError(f'@{kind} {name}: cannot supply its parameter "{parameter}". It may take {choice}.')
        if needed not in parameters:
            raise TypeError(f'@{kind} {name}: it has no parameter "{needed}". It may take {choice}.')
        self.taken = frozenset(parameters)
        self.config = _config(function, kind, name) if "config" in parameters else Config

    def given(self, **arguments: Any) -> dict[str, Any]:
        """Return the arguments that the function accepts."""
        return {name: argument for name, argument in arguments.items() if name in self.taken}


def _config(function: FunctionType, kind: str, name: str) -> type[Config]:
    # Resolve only this annotation: others may use names that are imported for type checkers only.
    annotation = inspect.signature(function).parameters["config"].annotation
    if isinstance(annotation, str):
        annotation = function.__globals__.get(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return annotation
    raise TypeError(
        f"@{kind} {name}: annotate config with its class, a subclass of penstock.Config (config: MyConfig), "
        "which declares the properties."
    )
