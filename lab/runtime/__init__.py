"""Running labs: engines in threads, their clocks, their pages and their ports.

`host.py` opens and closes the labs of a process. `lab.py` is one branch: its watchers, its thread and, while it runs,
its engine (`live_run.py`, built from the recording by `engine.py`). `pacer.py` maps wall time to simulated time.

`streaming/`  frames for pages: the ring of events, watchers, windows
`tcp/`        the brokers' ports
`zookeeper/`  the server and the store that writes to it
`sharing/`    labs that share a machine: load, and the order in which they wake
`classes/`    states that are given to learners, copies of shown labs, tiles of the board
`headless/`   engines and clusters without a page
`processes/`  processes for modules of the lab, which end with it
`machine/`    descriptors, memory, disk space and Java of this machine
"""
