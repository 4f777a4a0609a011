"""The rules of each challenge: `check` rejects an invalid entry, `play` judges a valid one on one seed."""
