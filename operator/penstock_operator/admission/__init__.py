"""Validating admission webhook: reviews Connectors, TopicCreationPolicies and PluginVersions when they are applied."""
