"""Contracts between the operator, job pods and task pods. Each has a version of its own."""
