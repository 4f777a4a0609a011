"""The live class: its events, state and decisions, and the room that writes its log.

Everything but `room`, `rooms` and `writer` is pure: time is an argument.
"""
