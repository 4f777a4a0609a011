"""What travels between nodes."""
