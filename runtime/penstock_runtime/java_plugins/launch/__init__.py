"""How a JVM of Java plugins is started: with which options, and with which archive of classes."""
