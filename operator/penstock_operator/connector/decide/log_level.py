"""Log level of running tasks that an annotation requests. Pure.

It takes effect without a restart: the operator writes it into the control record of the Connector, which its tasks follow.
"""

from penstock_model.contracts.log_levels import LOG_LEVEL_ANNOTATION, LogLevels
from penstock_operator.connector.model.observation import Observation

__all__ = ["log_level_problem", "log_level_to_write"]


def log_level_problem(observed: Observation) -> str:
    """Return why the annotation has no effect; empty: it is valid, or there is none."""
    try:
        LogLevels.parse(_requested(observed))
    except ValueError as e:
        return f"annotation {LOG_LEVEL_ANNOTATION} is ignored: it {e}"
    return ""


def log_level_to_write(observed: Observation) -> str | None:
    """Return the level for the control record; empty: that of the release; None: the record need not change."""
    records, name = observed.records, observed.name
    is_unknown = records.is_unread or records.trouble is not None or name.refusal is not None or name.unknown_cause
    if is_unknown or observed.deleting is not None or log_level_problem(observed):
        return None
    requested = _requested(observed)
    written = "" if records.control is None else records.control.log_level or ""
    return None if requested == written else requested


def _requested(observed: Observation) -> str:
    return observed.connector.metadata.annotations.get(LOG_LEVEL_ANNOTATION, "").strip()
