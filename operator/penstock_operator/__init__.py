"""Kubernetes operator: watches with kopf, decides from live state, and writes with server-side apply."""
