"""Pages, sockets, and their checks: sign-in, origin, headers, limits.

`pages.py` has the runs and the lab, `socket.py` the socket of a lab; other pages are in files of their names.
`classes/` has the pages and the socket of classes, `recorded/` those of recorded classes, `alone/` writes standalone
pages, and `assets/` finds and serves static files.
"""
