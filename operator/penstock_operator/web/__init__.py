"""Operator's side of the console: what it shows, who may act, and how operators on standby pass its users on."""
