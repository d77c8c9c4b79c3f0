"""Check the plugin versions that a configuration requests (KIP-891) against the installed ones."""

from collections.abc import Sequence

from penstock import Plugin
from penstock_java_compat.property_text import trimmed
from penstock_model.connect.version_messages import not_found, there_are
from penstock_model.connect.versions import VersionRange
from penstock_runtime.plan.problems import Findings
from penstock_runtime.plugins.discovery import PluginRef

__all__ = ["check_syntax", "check_version", "requested_version"]


def check_version(
    ref: PluginRef[Plugin], requested: str | None, names: tuple[str, ...], findings: Findings, *, of_step: bool = False
) -> bool:
    """Return whether the installed version matches the requested one; if not, add a problem.

    Args:
        ref: the plugin.
        requested: Maven version range; None and `latest` match any version.
        names: properties that get the problem (Connect names the class and the version).
        findings: receives the problem; a malformed range is a problem only of the last of `names`.
        of_step: the plugin is a transform or a predicate, for which a malformed range is a problem of all of `names`
            (Connect's rule).
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
    """Return the requested version range; None if there is none or it is malformed, which `check_version` reports."""
    try:
        return VersionRange.requested(text)
    except ValueError:
        return None


def check_syntax(
    requested: str | None, name: str, findings: Findings, *more: str, available: Sequence[str] = ()
) -> VersionRange | None:
    """Return the requested version range, or None if there is none. If it is malformed, add a problem and return None.

    Args:
        requested: Maven version range.
        name: property that requests it, named in the problem.
        findings: receives the problem.
        more: further properties for which the problem is added.
        available: available versions of the plugin, if known, for the message.
    """
    try:
        return VersionRange.requested(requested)
    except ValueError as e:
        message = f"{e}; {there_are(available)}" if available else str(e)
        for wrong in (name, *more):
            findings.refuse(wrong, message)
        return None
