"""Structured logs of the operator and of tasks: one JSON object per line, without secrets.

This is a separate package below all others, because the operator does not import the runtime, and logs do not belong in the
plugin API or the resource model. It imports only the standard library.
"""

from penstock_logging.json_lines import JsonLines
from penstock_logging.repetition_filter import RepetitionFilter, without_numbers
from penstock_logging.uncaught import log_warnings_and_uncaught_errors

__all__ = ["JsonLines", "RepetitionFilter", "log_warnings_and_uncaught_errors", "without_numbers"]
