"""Built-in plugins. They use only the API of `penstock`, like any other plugins."""
