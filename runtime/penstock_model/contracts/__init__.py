"""Contracts between the operator, job pods and task pods, each with its own version."""
