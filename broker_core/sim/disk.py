"""The broker's disk: the public names of the disk modules, for the rest of the core."""

from broker_core.sim.archive import DirectoryArchive, MemoryArchive, digest_of
from broker_core.sim.disk_types import Archive, CutFact, Disk, File, validate_path
from broker_core.sim.real_disk import RealDisk, RealFile, set_max_open_files
from broker_core.sim.simulated_disk import SimulatedDisk, SimulatedFile

__all__ = [
    "Archive",
    "CutFact",
    "DirectoryArchive",
    "Disk",
    "File",
    "MemoryArchive",
    "RealDisk",
    "RealFile",
    "SimulatedDisk",
    "SimulatedFile",
    "digest_of",
    "set_max_open_files",
    "validate_path",
]
