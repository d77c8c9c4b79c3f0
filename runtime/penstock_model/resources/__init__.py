"""Resources `Connector`, `TopicCreationPolicy` and `PluginVersion` (`penstock.dev/v1alpha1`), and their definitions."""
