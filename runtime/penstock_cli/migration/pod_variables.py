"""Variables that only pods can resolve: `${file:...}` and `${env:...}` name files and settings of another machine. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem

__all__ = ["is_unresolved", "looked_up_in_pods", "not_looked_up"]

_IN_PODS: Final = re.compile(r"\$\{(?!secret:|penstock-pod:)([^}:\s]+):[^}]*\}")
_NOWHERE: Final = "penstock-pod"
"""Name of a provider that does not exist, so that a plan treats the property as unknown and passes it to no plugin."""
_REMEDIES: Final = {
    "env": "set the environment variable there",
    "file": "mount the file there",
    "dir": "mount the folder there",
    "directory": "mount the folder there",
}


def not_looked_up(config: Mapping[str, str]) -> dict[str, str]:
    """Return the configuration with the variables for pods replaced with variables that nothing resolves."""
    return {name: _IN_PODS.sub(rf"${{{_NOWHERE}:\1}}", text) for name, text in config.items()}


def is_unresolved(message: str) -> bool:
    """Return whether a problem is that a variable has no value on this machine."""
    return "cannot be resolved" in message and (
        f"no provider {_NOWHERE}" in message or "no directory of secrets was given" in message
    )


def looked_up_in_pods(config: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a remark for each kind of variable that is resolved in the pods of tasks, with the properties that have one."""
    names: dict[str, list[str]] = {}
    for name, text in config.items():
        for provider in dict.fromkeys(m[1] for m in _IN_PODS.finditer(text)):
            if provider == "secrets":  # Strimzi's, which is reported as a problem
                continue
            names.setdefault(provider, []).append(name)
    for provider, properties in names.items():
        if provider in _REMEDIES:
            remedy = f"{_REMEDIES[provider]} (spec.template), or use a Secret: ${{secret:<name>:<key>}}"
        else:
            remedy = f"add the config provider {provider} to the release's worker configuration, or use a Secret"
        yield Problem(", ".join(properties), f"${{{provider}:...}} is resolved in the pods of tasks: {remedy}")
