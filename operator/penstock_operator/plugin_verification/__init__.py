"""Verify PluginVersions: a pod inspects the image of each, before or while Connectors use it (KIP-891)."""
