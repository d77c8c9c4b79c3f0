"""Access to the API server: requests, watches, the Lease, Events."""
