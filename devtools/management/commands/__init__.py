"""Developers' commands of manage.py."""
