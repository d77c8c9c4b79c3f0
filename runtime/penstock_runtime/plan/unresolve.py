"""Put references back into task configurations, so that a plan contains no secret. Pure.

A plugin sees resolved values and may copy them, also into longer strings (`jdbc:...;password=...`). Its result is stored
as a task spec, so every secret value must be replaced by its reference again.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from penstock import ConfigError, Problem
from penstock_model.connect.redaction import Redactor
from penstock_model.connect.variables import Secret

__all__ = ["put_back"]

_SHORT: Final = 4
_REFERENCE: Final = re.compile(r"\$\{[^}]*\}")


def put_back(
    task: Mapping[str, str], original: Mapping[str, str], resolved: Mapping[str, str], secrets: Sequence[Secret]
) -> dict[str, str]:
    """Return a task's configuration with references instead of secrets.

    Args:
        task: configuration that the plugin returned, variables resolved.
        original: the connector's properties as written.
        resolved: the same properties, resolved.
        secrets: values of the references.

    Raises:
        ConfigError: properties contain a secret in a form that no reference can replace (encoded, or too short to be
            distinguished from other text).
    """
    redactor = Redactor(secrets)
    whole = {s.value: s.reference for s in reversed(secrets) if s.value}
    inside = {value: reference for value, reference in whole.items() if len(value) >= _SHORT}
    # The longest first: one secret may be a prefix of another.
    pattern = re.compile("|".join(map(re.escape, sorted(inside, key=len, reverse=True)))) if inside else None
    short = [s.value for s in secrets if 0 < len(s.value) < _SHORT and s.reference.startswith("${secret:")]
    kept: dict[str, str] = {}
    problems: list[Problem] = []
    for name, text in task.items():
        if name in original and resolved.get(name) == text:
            kept[name] = original[name]
        elif text in whole:
            kept[name] = whole[text]
        else:
            kept[name] = pattern.sub(lambda m: inside[m[0]], text) if pattern else text
            plain = _REFERENCE.sub("", kept[name])
            if redactor(plain) != plain or any(value in plain for value in short):
                problems.append(
                    Problem(
                        name,
                        "the plugin has put a secret into this property in a form that no reference can replace; use a "
                        "plugin that passes secrets on unchanged, or a secret of at least 4 characters",
                    )
                )
    if problems:
        raise ConfigError(problems)
    return kept
