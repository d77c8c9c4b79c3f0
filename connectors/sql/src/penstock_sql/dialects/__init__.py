"""SQL dialects: one package per database."""
