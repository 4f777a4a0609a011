"""`make conformance KIT=FOLDER`: a cluster of ours against conversations that were recorded with a real Kafka.

FOLDER holds the package `conformance`, which is run as it is.
"""

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTINGS = (
    "offsets.topic.replication.factor=3",
    "transaction.state.log.replication.factor=3",
    "transaction.state.log.min.isr=2",
    "group.initial.rebalance.delay.ms=0",
    "auto.leader.rebalance.enable=false",
)
"""What the kit expects of a cluster, besides brokers 0, 1 and 2."""
ENDING_S = 30


def main() -> int:
    """The kit's exit status: 0 when every answer is a real broker's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kit", required=True, type=Path, help="the folder that holds the package `conformance`")
    parser.add_argument("more", nargs="*", help="further arguments of the kit, such as --only produce.")
    chosen = parser.parse_args()
    if not (chosen.kit / "conformance").is_dir():
        print(
            f"{chosen.kit} has no folder `conformance`. The folder that holds the kit was expected. "
            "Name it: make conformance KIT=FOLDER",
            file=sys.stderr,
        )
        return 2
    settings = [part for setting in SETTINGS for part in ("--config", setting)]
    command = [sys.executable, "manage.py", "cluster", "--brokers", "3", "--first-id", "0", "--port", "0", *settings]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as cluster:
        try:
            assert cluster.stdout is not None
            address = cluster.stdout.readline().strip()
            if not address:
                return 1
            kit = [sys.executable, "-m", "conformance", address, *chosen.more]
            return subprocess.run(kit, cwd=chosen.kit, check=False).returncode
        finally:
            cluster.terminate()
            cluster.wait(ENDING_S)


if __name__ == "__main__":
    sys.exit(main())
