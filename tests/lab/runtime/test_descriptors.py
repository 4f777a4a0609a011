"""The limit on open files of a process that hosts engines."""

import subprocess
import sys

from tests.support.paths import ROOT

PROGRAM = """
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
from broker_core.sim import real_disk
from lab.runtime.machine.descriptors import use_all_descriptors
use_all_descriptors()
soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)), soft
assert real_disk.MAX_OPEN_FILES == soft // 2, real_disk.MAX_OPEN_FILES
"""


def test_limit_is_raised_to_what_the_system_allows() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
