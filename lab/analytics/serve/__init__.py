"""Stored tables for pages: read with pyarrow in the web process, in milliseconds and without a JVM."""
