"""Versions that a configuration asks for (KIP-891), against what is installed."""

from collections.abc import Sequence

from penstock import Plugin
from penstock_java.property_text import trimmed
from penstock_model.connect.version_messages import not_found, there_are
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
    available = ref.versions or (ref.version,)
    wanted = check_syntax(requested, names[-1], findings, *(names[:-1] if of_step else ()), available=available)
    if wanted is None or ref.version in wanted:
        return len(findings.problems) == before
    for name in names[:1] if of_step and trimmed(requested or "") == "latest" else names:
        findings.refuse(name, not_found(ref.alias, wanted, available))
    return False


def requested_version(text: str | None) -> VersionRange | None:
    """The range that a property asks for; None for nothing, or when it is unreadable, which `check_version` reports."""
    try:
        return VersionRange.requested(text)
    except ValueError:
        return None


def check_syntax(
    requested: str | None, name: str, findings: Findings, *more: str, available: Sequence[str] = ()
) -> VersionRange | None:
    """Return the range that a property asks for; None for nothing, or when it is unreadable.

    Args:
        requested: Maven's range.
        name: the property; it gets the problem of an unreadable range.
        findings: gets the problem.
        more: further properties that get it.
        available: the versions of the plugin, if it is known, for the message.
    """
    try:
        return VersionRange.requested(requested)
    except ValueError as e:
        message = f"{e}; {there_are(available)}" if available else str(e)
        for wrong in (name, *more):
            findings.refuse(wrong, message)
        return None
