"""Check the plugin versions that a configuration requests (KIP-891) against the installed ones."""

from penstock import Plugin
from penstock_java.property_text import trimmed
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
        findings: receives the problem; an unreadable range is a problem only of the last of `names`.
        of_step: the plugin is a transform or a predicate, for which an unreadable range is a problem of all of `names`
            (Connect's rule).
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
    """Return the requested version range; None if there is none or it is unreadable, which `check_version` reports."""
    try:
        return VersionRange.requested(text)
    except ValueError:
        return None


def check_syntax(requested: str | None, name: str, findings: Findings, *more: str) -> VersionRange | None:
    """Return the requested version range; None if there is none, or if it is unreadable: then add a problem.

    The problem is added for each of `name` and `more`.
    """
    try:
        return VersionRange.requested(requested)
    except ValueError as e:
        for wrong in (name, *more):
            findings.refuse(wrong, str(e))
        return None
