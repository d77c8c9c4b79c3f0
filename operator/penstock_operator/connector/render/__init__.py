"""Render a decision for Kubernetes: pods, status, conditions, Events. Pure."""
