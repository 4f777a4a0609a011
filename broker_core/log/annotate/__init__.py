"""The meaning of each byte of a log's files, for pages and tools that show it."""
