"""`penstock offsets`: lists, alters and resets a connector's offsets without Kubernetes (KIP-875)."""
