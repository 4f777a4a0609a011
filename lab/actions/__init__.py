"""What a visitor does to a run: one module for each action."""
