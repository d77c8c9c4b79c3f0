"""`penstock transform`: a connector's transforms tried on sample records."""
