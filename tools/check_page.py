"""Checks the page's modules with tsc and eslint, where there is Node.

Both are pinned in tools/vendor/package-lock.json; npm fetches them into tools/vendor/node_modules when that changes. A
lab needs neither Node nor npm, so on a machine without them the page is reported as not checked.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ROOT / "tools" / "vendor"
LOCK = PACKAGES / "package-lock.json"
MODULES = PACKAGES / "node_modules"
#: A copy of the lock that the packages were fetched by.
FETCHED = MODULES / ".fetched-by"
#: What the pinned eslint asks for.
MIN_NODE = (20, 19)


def missing() -> str:
    """Why this machine cannot check the page; empty if it can."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return "there is no Node with npm on this machine"
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    version = re.match(r"v(\d+)\.(\d+)\.", said)
    if version is None or (int(version[1]), int(version[2])) < MIN_NODE:
        return f"the Node on this machine is {said or 'broken'}, and eslint needs {'.'.join(map(str, MIN_NODE))}"
    return ""


def fetch() -> bool:
    """Fetches the pinned packages if they are not there; whether they are there now."""
    if FETCHED.is_file() and FETCHED.read_bytes() == LOCK.read_bytes():
        return True
    print("page: fetching tsc and eslint with npm", flush=True)
    done = subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], cwd=PACKAGES, check=False
    )
    if done.returncode == 0:
        FETCHED.write_bytes(LOCK.read_bytes())
    return done.returncode == 0


def main() -> int:
    """Returns 0 if the page is right, or could not be checked for want of Node."""
    reason = missing()
    if reason:
        print(f"page: NOT CHECKED by tsc and eslint: {reason}. Install Node {MIN_NODE[0]} to check static/lab.")
        return 0
    if not fetch():
        print("page: npm could not fetch tsc and eslint. Expected: a package registry that npm can reach.")
        return 1
    for name, arguments in (("tsc", ["-p", "jsconfig.json"]), ("eslint", ["--max-warnings=0", "static/lab"])):
        done = subprocess.run([str(MODULES / ".bin" / name), *arguments], cwd=ROOT, check=False)
        if done.returncode:
            print(f"page: {name} found the above in static/lab")
            return 1
    print("page: tsc and eslint found nothing in static/lab")
    return 0


if __name__ == "__main__":
    sys.exit(main())
