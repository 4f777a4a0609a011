"""Pages, the socket, and their checks: sign-in, origin, headers, static files."""
