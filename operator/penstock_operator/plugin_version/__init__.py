"""Verifies PluginVersions: a pod looks into the image of each, before or while Connectors use it (KIP-891)."""
