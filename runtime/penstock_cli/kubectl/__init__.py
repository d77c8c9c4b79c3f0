"""`kubectl penstock`: a kubectl plugin for Connectors, PluginVersions and their offsets on a cluster."""
