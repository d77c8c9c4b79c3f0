"""Writer of manifests as YAML, in which every string remains a string for every YAML reader.

YAML 1.1 reads `y` as true, and Kubernetes' reader `1e3` as a number, so texts that users have written are quoted.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

__all__ = ["to_yaml"]


class _Quoted(str):
    """Text that a user has written."""


class _Dumper(yaml.SafeDumper):
    """YAML dumper that quotes the texts that users have written."""


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')
)


def to_yaml(manifests: Iterable[Mapping[str, Any]]) -> str:
    """Return the manifests, one document for each; names and texts are quoted."""
    return "---\n".join(
        yaml.dump(_quoted(m), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120) for m in manifests
    )


def _quoted(value: Any, *, is_of_user: bool = False) -> Any:
    """Return the value with all texts, and the property names of `config`, marked to be quoted."""
    if isinstance(value, Mapping):
        return {
            _Quoted(key) if is_of_user else key: _quoted(field, is_of_user=key == "config")
            for key, field in value.items()
        }
    return _Quoted(value) if isinstance(value, str) else value
