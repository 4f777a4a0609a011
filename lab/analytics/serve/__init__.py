"""Stored tables for pages: read by pyarrow in the web process, in milliseconds and without a JVM."""
