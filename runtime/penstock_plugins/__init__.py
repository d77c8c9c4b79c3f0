"""The built-in plugins, written against `penstock` alone, as anyone's would be."""
