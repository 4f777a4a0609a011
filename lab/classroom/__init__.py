"""The live class: its events and state, what its acts lead to, and the room that writes it.

Everything but `room`, `rooms` and `writer` is pure: time is an argument.
"""
