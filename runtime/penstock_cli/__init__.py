"""Command line `penstock`, which is not part of any image.

`penstock run` runs the connectors of manifests on this machine, each task as a child process.
"""
