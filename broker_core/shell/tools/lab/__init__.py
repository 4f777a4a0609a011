"""The commands of the lab: brokers, links, disks, clients, waiting."""
