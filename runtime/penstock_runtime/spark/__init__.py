"""Spark beside a task's driver: the session, its Python workers, frames."""
