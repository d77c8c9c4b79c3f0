"""Check predicates and negations of transforms (KIP-585). Pure."""

from collections.abc import Mapping, Sequence

from penstock.config import nearest
from penstock_model.connect.plugin_chain import Place, TransformPlace
from penstock_model.validation.findings import Findings

__all__ = ["check_guard", "check_negation", "check_type", "check_unused"]


def check_type(place: Place, findings: Findings) -> bool:
    """Return whether a place names a class; if not, add a problem."""
    if place.type is not None and place.type.strip():
        return True
    if place.name.endswith("."):
        remedy = f"Remove the extra comma from {place.name[:-1]}."
    else:
        remedy = f"Write the class of {place.name.replace('.', ' ', 1)}."
    findings.refuse(
        place.type_property,
        f'Missing required configuration "{place.type_property}" which has no default value. {remedy}',
    )
    return False


def check_negation(place: TransformPlace, config: Mapping[str, str], findings: Findings) -> None:
    """Check `negate` of a transform."""
    predicate, negate = f"{place.name}.predicate", f"{place.name}.negate"
    if place.negate is not None and predicate not in config:
        findings.refuse(
            place.type_property,
            f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be negated.",
        )
    if place.negate is not None and place.negate.strip().lower() not in ("true", "false"):
        findings.refuse(
            negate,
            f"Invalid value {place.negate} for configuration {negate}: Expected value to be either true or false",
        )
    elif place.negate is not None and place.negate.strip() != place.negate and "true" in place.negate.lower():
        findings.warn(negate, "has surrounding whitespace, which makes it false in Kafka Connect; write true")


def check_guard(place: TransformPlace, known: Sequence[str], config: Mapping[str, str], findings: Findings) -> None:
    """Check that the predicate of a transform is one of the `known` aliases."""
    predicate = f"{place.name}.predicate"
    asked = config.get(predicate) or ""  # including whitespace, as in Kafka Connect
    if asked and asked not in known:
        near = next((k for k in known if k.lower() == asked.strip().lower()), None) or nearest(asked, known)
        hint = f"did you mean {near}?" if near else "add it to"
        listed = f"the list predicates, which now has {', '.join(sorted(known)) or 'none'}"
        blanks = " (including its whitespace)" if asked.strip() != asked else ""
        findings.refuse(
            predicate,
            f"there is no predicate {asked.strip()}{blanks} in {listed}; {hint}"
            if near
            else f"there is no predicate {asked.strip()}; {hint} {listed}",
        )


def check_unused(predicates: Sequence[Place], transforms: Sequence[TransformPlace], findings: Findings) -> None:
    """Warn about predicates that no transform uses."""
    named = {t.predicate for t in transforms}
    for alias in dict.fromkeys(p.name.removeprefix("predicates.") for p in predicates):
        if alias not in named:
            findings.warn(
                f"predicates.{alias}.type",
                f"has no effect: no transform uses {alias}; set transforms.<alias>.predicate: {alias}",
            )
