"""Reconcile a Connector: observe, decide (pure), apply."""
