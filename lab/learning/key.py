"""Keys of this installation, from which opaque ids of people are derived."""

import os
import secrets
from pathlib import Path

KEY_BYTES = 32


def stored_key(path: Path) -> bytes:
    """The key in a file, which is created at the first call. All threads and processes get the same one."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    # Written atomically: another thread, or a process that was killed, must not leave a part of a key.
    partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    partial.write_bytes(secrets.token_bytes(KEY_BYTES))
    try:
        os.link(partial, path)
    except FileExistsError:
        pass
    finally:
        partial.unlink()
    return path.read_bytes()
