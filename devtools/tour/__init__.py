"""A browser walks through a lab as a user does, checks what it sees, and takes pictures: `make tour` and its tests.

`Tour` holds the browser and reports the stops; `LabPage` is a lab page as its user sees and touches it; each module of
`chapters` shows one thing that a new user can do, on a run of its own.
"""
