"""Images of plugins, made without Docker and without a registry: a folder or a project of plugins as one OCI archive."""
