"""What the release and the resources of a namespace let a Connector have, and what they give it."""
