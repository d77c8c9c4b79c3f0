"""Properties that had other names in Kafka 2 and 3, and that Kafka 4 ignores. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from penstock.errors import Problem
from penstock_model.connect.plugin_chain import transforms

__all__ = ["with_new_names"]

_REPLACE_FIELD: Final = ("org.apache.kafka.connect.transforms.ReplaceField", "ReplaceField")
_OF_REPLACE_FIELD: Final = {"whitelist": "include", "blacklist": "exclude"}
_MIRROR: Final = "org.apache.kafka.connect.mirror."
_OF_MIRROR_MAKER: Final = {
    "topics.blacklist": "topics.exclude",
    "groups.blacklist": "groups.exclude",
    "config.properties.blacklist": "config.properties.exclude",
}


def with_new_names(class_name: str, config: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    """Return the configuration with the current names, and a remark for each name that differs.

    If both names are set, the new one takes precedence, as in the versions of Kafka that read both.
    """
    found, changes = dict(config), []
    for old, new in _renamed(class_name, config):
        if old not in found:
            continue
        text = found.pop(old)
        if new in found:
            changes.append(Problem(old, f"is omitted: {new} takes precedence"))
        else:
            found[new] = text
            changes.append(Problem(old, f"is now {new}: Kafka 4 ignores the old name"))
    return found, changes


def _renamed(class_name: str, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if class_name.startswith(_MIRROR):
        yield from _OF_MIRROR_MAKER.items()
    for place in transforms(config):
        if (place.type or "").strip().partition("$")[0] in _REPLACE_FIELD:
            for old, new in _OF_REPLACE_FIELD.items():
                yield f"{place.prefix}{old}", f"{place.prefix}{new}"
