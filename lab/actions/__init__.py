"""User actions: one module for each action."""
