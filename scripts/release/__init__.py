"""Files that `make release` writes to dist/; see docs/releasing.md."""
