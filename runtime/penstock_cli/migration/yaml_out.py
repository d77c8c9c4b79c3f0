"""Writes manifests as YAML in which every text stays a text, whichever YAML reads it.

YAML 1.1 takes `y` for true, and Kubernetes' reader `1e3` for a number, so that texts of users are quoted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

__all__ = ["to_yaml"]


class _Quoted(str):
    """A text of a user."""


class _Dumper(yaml.SafeDumper):
    """Quotes them."""


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def to_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """The manifests, one document for each; names and texts are quoted."""
    return "---\n".join(
        yaml.dump(_quoted(m), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120) for m in manifests
    )


def _quoted(value: Any, *, is_of_user: bool = False) -> Any:
    """With quotes for all values that are texts, and for the properties of `config`."""
    if isinstance(value, Mapping):
        return {
            _Quoted(key) if is_of_user else key: _quoted(field, is_of_user=key == "config")
            for key, field in value.items()
        }
    return _Quoted(value) if isinstance(value, str) else value
