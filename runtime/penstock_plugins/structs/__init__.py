"""Shared parts of the transforms of structs and maps: field paths, field names, copies of structs, changed fields."""
