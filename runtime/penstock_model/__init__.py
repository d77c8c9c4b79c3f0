"""Data shared by operator and runtime: resources, contracts between processes, Connect's configuration. Pure."""
