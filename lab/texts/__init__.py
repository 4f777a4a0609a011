"""Texts for people: catalogues, and refusals with what was wrong, what was expected and what to do."""
