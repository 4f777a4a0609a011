"""Messages between nodes: requests, responses and their encoding."""
