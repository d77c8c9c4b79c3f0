"""What a decision looks like to Kubernetes: pods, status, conditions, Events. Pure."""
