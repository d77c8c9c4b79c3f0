"""Builder of plugin images without Docker and without a registry: a project, or Java plugins, as one OCI archive."""
