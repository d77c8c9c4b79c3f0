"""Looks up what a decision rests on."""
