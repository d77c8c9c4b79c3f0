"""Reconciles a Connector: observe, decide (pure), apply."""
