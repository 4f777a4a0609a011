"""Limits of open files and connections for a process that hosts engines."""

import resource

from broker_core.sim.disk import set_max_open_files

MAX_DESCRIPTORS = 65_536
OWN_DESCRIPTORS = 128
"""Descriptors of listening sockets, recordings, pages and pipes."""
MIN_CONNECTIONS = 16


def use_all_descriptors() -> None:
    """Raises this process's limit to what the system allows; half of it is for the files of brokers.

    The rest is for connections: of clients, of pages, and of kazoo.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    set_max_open_files((MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft) // 2)


def max_connections() -> int:
    """Number of client connections for which this process has descriptors, besides files and its own sockets and
    pipes.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else min(soft, MAX_DESCRIPTORS)
    return max(MIN_CONNECTIONS, limit // 2 - OWN_DESCRIPTORS)
