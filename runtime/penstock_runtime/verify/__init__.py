"""The process of a pod that verifies a PluginVersion: it imports what the image is declared to hold (KIP-891)."""
