"""Pauses before a Connector that failed is reconciled again."""

from typing import Final

from penstock_model.backoff import ExponentialBackoff

__all__ = ["RECONCILE_BACKOFF"]

RECONCILE_BACKOFF: Final = ExponentialBackoff(first=0.5, longest=60.0, jitter=0.25)
