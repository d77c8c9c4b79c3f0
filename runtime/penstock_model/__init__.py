"""What operator and runtime agree on: resources, contracts between processes, Connect's configuration. Pure."""
