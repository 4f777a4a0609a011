"""What came of a class: its mistakes and its summary."""
