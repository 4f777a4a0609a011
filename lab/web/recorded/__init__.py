"""The pages of recorded classes."""
