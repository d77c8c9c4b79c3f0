"""`penstock run`: connectors on this machine, one child process for each task, with Kubernetes' manifests."""
