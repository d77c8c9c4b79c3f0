"""Find the plugin that a misspelt class name refers to. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from penstock.config import nearest
from penstock_model.connect.plugin_chain import AskedPlugin
from penstock_model.connect.plugin_names import BUILT_INS, CONNECTOR_ENDING, kinds_of_one_name
from penstock_model.contracts.plugin_mount import PluginMount
from penstock_model.resources.plugin_offers import KINDS

__all__ = ["misspelt", "similar"]


def misspelt(asked: AskedPlugin, offers: Sequence[PluginMount]) -> str | None:
    """Return the plugin whose name differs by one typing error, or None.

    Names such as JsonConverter and JsonSchemaConverter are similar, but may both exist. The package of a Java class must be
    the same, because other packages have classes with similar names.

    Args:
        asked: required plugin, which no image offers.
        offers: offers of the PluginVersions.
    """
    return next((known for known in _known(asked, offers) if _is_slip(asked.name, known)), None)


def similar(asked: AskedPlugin, offers: Sequence[PluginMount]) -> str | None:
    """Return the plugin with the most similar name as a suggestion, or None."""
    return None if "." in asked.name else nearest(asked.name, _known(asked, offers))


def _known(asked: AskedPlugin, offers: Sequence[PluginMount]) -> Iterator[str]:
    """Yield the names of plugins of that kind: with packages if the class name has one, else without."""
    kinds = kinds_of_one_name(asked.kind)
    package, dot, _ = asked.name.rpartition(".")
    for alias, java in _plugins(kinds, offers):
        if not dot:
            yield from (alias, *(name.rpartition(".")[2] for name in java))
        else:
            yield from (name for name in java if name.rpartition(".")[0] == package)


def _plugins(kinds: Sequence[str], offers: Sequence[PluginMount]) -> Iterator[tuple[str, Iterable[str]]]:
    yield from (plugin for kind in BUILT_INS if kind in kinds for plugin in BUILT_INS[kind].items())
    yield from ((c.alias, c.java_names) for o in offers for c in o.classes if KINDS[c.type] in kinds)


def _is_slip(name: str, known: str) -> bool:
    """Return whether the only difference is case, one wrong, missing or additional character, or two swapped ones.

    A plural or another number at the end is not a typing error: there may be MaskFields and MaskField, or SinkV2 and SinkV1.
    """
    name, known = (n.casefold().removesuffix(CONNECTOR_ENDING.casefold()) for n in (name, known))
    start = _same_from_start(name, known)
    name, known = name[start:], known[start:]
    end = _same_from_start(name[::-1], known[::-1])
    name, known = name[: len(name) - end], known[: len(known) - end]
    if end == 0 and all(c == "s" or c.isdigit() for c in name + known) and name != known:
        return False
    is_swapped = len(name) == 2 and name == known[::-1]
    return start > 0 and (is_swapped or max(len(name), len(known)) <= 1)


def _same_from_start(name: str, other: str) -> int:
    """Return the number of equal characters before the first difference."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))
