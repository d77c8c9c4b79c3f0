"""A schema registry for connectors that run as processes."""

from connectors.registry.tests.conftest import proxy, registry

__all__ = ["proxy", "registry"]
