"""The operator: kopf events in, decisions over live state, server-side apply out. It arrives with its own release."""
