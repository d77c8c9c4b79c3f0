"""The API server: requests, watches, the Lease, Events."""
