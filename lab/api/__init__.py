"""The HTTP API that the pages read: history, disk, clients, state charts, analytics."""
