"""A broker: its process, its APIs, its background tasks."""
