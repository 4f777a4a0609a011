"""Engines and clusters without a page: for `manage.py cluster`, trials, studies and solutions of lessons."""
