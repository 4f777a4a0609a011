"""Challenges: entries that a judge plays over many seeds, each an attack, a defence or an answer."""
