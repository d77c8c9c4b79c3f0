"""Spark for a task's driver: the session, its Python workers, frames."""
