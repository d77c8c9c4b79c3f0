"""Whether a newer definition accepts the resources of an older one, since CRDs are upgraded while connectors run. Pure.

A newer definition may add optional fields and words, and widen limits. It must not remove a field or refuse a value that was
accepted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["incompatibilities"]

_UPPER: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
_LOWER: Final = ("minimum", "minLength", "minItems", "minProperties")
_SAME: Final = (
    "type",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)
_ADDED: Final = ("pattern", "format", "allOf", "anyOf", "oneOf", "not")
"""Constraints that refuse more values when they are added or changed. Removing one is compatible."""
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_MISSING: Final[Mapping[str, Any]] = {}

Json = Mapping[str, Any]


def incompatibilities(old: Json, new: Json) -> list[str]:
    """Incompatible changes from one definition to another: sentences, each with its place.

    Args:
        old: a CustomResourceDefinition as a JSON object.
        new: the definition that replaces it.
    """
    return list(_definition(old["spec"], new["spec"]))


def _definition(old: Json, new: Json) -> Iterator[str]:
    for path in (("group",), ("scope",), ("names", "kind"), ("names", "plural")):
        before, after = _at(old, path), _at(new, path)
        if before != after:
            yield f"{'.'.join(path)}: changes from {before} to {after}"
    versions = {version["name"]: version for version in new["versions"]}
    for version in old["versions"]:
        name = version["name"]
        if not version["served"]:
            continue
        if name not in versions or not versions[name]["served"]:
            yield f"{name}: is served no more"
            continue
        after = versions[name]
        for part in version.get("subresources", {}):
            if after.get("subresources", {}).get(part) != version["subresources"][part]:
                yield f"{name}: the subresource {part} changes"
        yield from _node(name, version["schema"]["openAPIV3Schema"], after["schema"]["openAPIV3Schema"])


def _node(at: str, old: Json, new: Json) -> Iterator[str]:
    yield from _kind(at, old, new)
    yield from _limits(at, old, new)
    yield from _rules(at, old, new)
    was_open, is_open = old.get(_OPEN, False), new.get(_OPEN, False)
    if was_open and not is_open:
        yield f"{at}: unknown fields are kept no more"
    before, after = old.get("properties", _MISSING), new.get("properties", _MISSING)
    for name, inner in before.items():
        if name in after:
            yield from _node(f"{at}.{name}", inner, after[name])
        elif not is_open:
            yield f"{at}.{name}: is a field no more"
    for name in new.get("required", ()):
        if name not in old.get("required", ()) and "default" not in after.get(name, _MISSING):
            yield f"{at}.{name}: is required now"
    for part in ("items", "additionalProperties"):
        if part in old and part in new:
            yield from _node(f"{at}[]", old[part], new[part])
        elif part in old and not is_open:
            yield f"{at}: holds no {part} any more"


def _kind(at: str, old: Json, new: Json) -> Iterator[str]:
    for word in _SAME:
        if old.get(word) != new.get(word):
            yield f"{at}: {word} changes from {old.get(word)} to {new.get(word)}"
    if old.get("nullable", False) and not new.get("nullable", False):
        yield f"{at}: null is accepted no more"
    if "default" in old and old["default"] != new.get("default"):
        yield f"{at}: the default changes from {old['default']} to {new.get('default')}"


def _limits(at: str, old: Json, new: Json) -> Iterator[str]:
    for word in _UPPER:
        if word in new and (word not in old or new[word] < old[word]):
            yield f"{at}: {word} falls from {old.get(word, 'none')} to {new[word]}"
    for word in _LOWER:
        if word in new and (word not in old or new[word] > old[word]):
            yield f"{at}: {word} rises from {old.get(word, 'none')} to {new[word]}"
    for word in _ADDED:
        if word in new and old.get(word) != new[word]:
            yield f"{at}: {word} is {'changed' if word in old else 'added'}"
    if "enum" in new:
        lost = [v for v in old["enum"] if v not in new["enum"]] if "enum" in old else ["other words"]
        if lost:
            yield f"{at}: accepts {', '.join(map(str, lost))} no more"


def _rules(at: str, old: Json, new: Json) -> Iterator[str]:
    known = _texts(old)
    for text in _texts(new):
        if text not in known:
            yield f"{at}: a rule is added: {text}"


def _texts(node: Json) -> Sequence[str]:
    return [rule["rule"] for rule in node.get("x-kubernetes-validations", ())]


def _at(node: Json, path: Sequence[str]) -> Any:
    for name in path:
        node = node[name]
    return node
