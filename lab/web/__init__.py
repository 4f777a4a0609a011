"""Pages, the socket, and what stands before them: sign-in, origin checks, headers, static files."""
