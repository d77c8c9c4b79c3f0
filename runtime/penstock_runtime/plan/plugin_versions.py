"""Versions that a configuration asks for (KIP-891), against what is installed."""

from penstock import Plugin
from penstock_java.property_text import trimmed
from penstock_model.connect.versions import VersionRange
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plugins.discovery import PluginRef

__all__ = ["check_syntax", "check_version", "requested_version"]


def check_version(
    ref: PluginRef[Plugin], requested: str | None, names: tuple[str, ...], findings: Findings, *, of_step: bool = False
) -> bool:
    """Whether the installed version is one that is asked for; refuses it where it is not.

    Args:
        ref: the plugin.
        requested: Maven's range; None and `latest` ask for nothing.
        names: the properties that get the problem (Connect names the class and the version).
        findings: gets the problem; an unreadable range is one of the last of `names` alone.
        of_step: for a transform or a predicate, where it is one of all of `names` (Connect's rule).
    """
    before = len(findings.problems)
    wanted = check_syntax(requested, names[-1], findings, *(names[:-1] if of_step else ()))
    if wanted is None or ref.version in wanted:
        return len(findings.problems) == before
    for name in names[:1] if of_step and trimmed(requested or "") == "latest" else names:
        findings.refuse(
            name,
            f"Plugin {ref.alias} not found that matches the version range {wanted}, "
            f"available versions: [{', '.join(ref.versions or (ref.version,))}]",
        )
    return False


def requested_version(text: str | None) -> VersionRange | None:
    """The range that a property asks for; None for nothing, or when it is unreadable, which `check_version` reports."""
    try:
        return VersionRange.requested(text)
    except ValueError:
        return None


def check_syntax(requested: str | None, name: str, findings: Findings, *more: str) -> VersionRange | None:
    """The range that a property asks for; None for nothing, or when it is unreadable, a problem of `name` and `more`."""
    try:
        return VersionRange.requested(requested)
    except ValueError as e:
        for wrong in (name, *more):
            findings.refuse(wrong, str(e))
        return None
