"""Structured logs, of the operator and of tasks alike: one JSON object a line, without secrets.

A package of its own below all others, since the operator does not import the runtime, and neither the plugin API nor the
resource model is about logs. Imports the standard library only.
"""

from penstock_logging.json_lines import JsonLines
from penstock_logging.repetition_filter import RepetitionFilter, without_numbers
from penstock_logging.uncaught import log_warnings_and_uncaught_errors

__all__ = ["JsonLines", "RepetitionFilter", "log_warnings_and_uncaught_errors", "without_numbers"]
