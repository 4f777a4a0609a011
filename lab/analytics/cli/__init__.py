"""What `manage.py analytics` does, a function for each verb; the command itself only parses and prints."""
