"""A broker: its process, its requests, its jobs."""
