"""Process of a pod that verifies a PluginVersion: it imports the classes that the PluginVersion declares (KIP-891)."""
