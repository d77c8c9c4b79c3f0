"""A Connector's life: gather what is live, decide (pure), apply."""
