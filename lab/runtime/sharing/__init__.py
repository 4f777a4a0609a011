"""Sharing of one machine's CPU between the labs of classes."""
