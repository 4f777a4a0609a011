"""The verbs that only the lab has: brokers, links, disks, clients, waiting."""
