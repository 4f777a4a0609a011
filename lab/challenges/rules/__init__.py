"""The rules of each challenge: `check` refuses an entry that is none, `play` judges it on one seed."""
