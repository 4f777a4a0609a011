"""Pages and the socket of classes: door, board, summaries, guests."""
