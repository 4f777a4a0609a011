"""A class without people: scripted participants with real sockets and real labs, for demonstrations and for load."""
