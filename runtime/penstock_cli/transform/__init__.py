"""`penstock transform`: tries a connector's transforms on sample records."""
