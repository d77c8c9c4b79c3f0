"""What a function that becomes a plugin takes: parameters by name, and the `Config` that its annotation names."""

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from penstock.config import Config

__all__ = ["NamedParameters"]


class NamedParameters:
    """The parameters of a function, out of those that its kind of plugin offers.

    Args:
        function: the function.
        kind: of plugin, for messages.
        needed: the parameter without which the function could do nothing.
        offered: all that it may take; `config` is always one of them.

    Raises:
        TypeError: it takes anything else, it lacks `needed`, it is `async`, or `config` is annotated with no `Config`.
    """

    def __init__(self, function: Callable[..., Any], *, kind: str, needed: str, offered: Sequence[str]) -> None:
        name = getattr(function, "__qualname__", repr(function))
        self.name = name
        if not inspect.isfunction(function):
            raise TypeError(f"@{kind} takes a function, not {name}. Write a class for what needs more.")
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"@{kind} {name}: it is async, and Penstock calls it in a thread without an event loop.")
        if "<" in name:  # <locals>, <lambda>
            raise TypeError(f"@{kind} {name}: other processes do not find it; write it as a function of a module.")
        choice = ", ".join(offered)
        parameters = inspect.signature(function).parameters
        for parameter in parameters.values():
            plain = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
            if parameter.name not in offered or not plain:
                raise TypeError(
                    f'@{kind} {name}: there is nothing to give for its parameter "{parameter}". It may take {choice}.'
                )
        if needed not in parameters:
            raise TypeError(f'@{kind} {name}: it has no parameter "{needed}". It may take {choice}.')
        self.taken = frozenset(parameters)
        self.config = _config(function, kind, name) if "config" in parameters else Config

    def given(self, **arguments: Any) -> dict[str, Any]:
        """Those of the arguments that the function takes."""
        return {name: argument for name, argument in arguments.items() if name in self.taken}


def _config(function: FunctionType, kind: str, name: str) -> type[Config]:
    # Of this one annotation alone: others may name what is imported for type checkers only.
    annotation = inspect.signature(function).parameters["config"].annotation
    if isinstance(annotation, str):
        annotation = function.__globals__.get(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Config):
        return annotation
    raise TypeError(
        f"@{kind} {name}: annotate config with its class, a subclass of penstock.Config (config: MyConfig), "
        "which says what properties there are."
    )
