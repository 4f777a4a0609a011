"""The verbs of `manage.py analytics`, one function each; the command itself only parses and prints."""
