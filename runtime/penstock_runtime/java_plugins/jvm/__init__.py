"""The process of a JVM: how it is started, what it prints, and how it ended."""
