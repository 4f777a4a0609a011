"""The frames between page and server, and the event vocabulary as the page knows it."""
