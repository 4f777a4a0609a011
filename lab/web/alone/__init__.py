"""Standalone pages: one file with a recording and the program that plays it, without a server or a network."""
