"""Basics of a runtime process: signals and children, resource limits, liveness, termination message."""
