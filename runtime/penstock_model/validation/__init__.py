"""Checks of a Connector's configuration without its plugins, for the plan and for the admission webhook. Pure."""
