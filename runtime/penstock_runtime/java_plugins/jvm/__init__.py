"""Process of the JVM: how it is started, its output, and how it ended."""
