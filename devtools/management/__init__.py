"""Management commands for developers."""
