"""Console of `penstock run`: the connectors of this process, as resources that the web server shows."""
