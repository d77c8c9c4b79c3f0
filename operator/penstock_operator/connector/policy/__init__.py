"""Restrictions of the release and the namespace on a Connector, and the plugins and topic policy they provide for it."""
