"""The process that judges one entry: it reads an order from standard input and writes one report per line.

It runs with a lower priority than the lab (nice) and with limits on CPU time and memory. Cancelling kills the process.
"""

import os
import resource
import sys

import msgspec

from lab.runtime.processes.standard_input import end_with_stdin

NICE = 10
MAX_CPU_S = 400
MAX_MEMORY = 3 << 30


class Order(msgspec.Struct, frozen=True):
    """The entry to judge."""

    challenge: str
    fields: dict[str, str]


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """Numbers of seeds done and passed; the last report contains the verdict as JSON."""

    done: int = 0
    passes: int = 0
    verdict: msgspec.Raw = msgspec.Raw(b"")


def main() -> None:
    """Judges the entry on the first line of standard input, and ends when that is closed."""
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    # Other output must not mix with the reports.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    end_with_stdin(lambda: os._exit(1))

    import django

    django.setup()
    from lab.challenges.judge import judge
    from lab.challenges.loader import challenges
    from lab.challenges.shrinking import shrunk

    def say(report: Report) -> None:
        out.write(msgspec.json.encode(report) + b"\n")
        out.flush()

    challenge = challenges()[order.challenge]
    verdict = judge(challenge, order.fields, progress=lambda done, passes: say(Report(done, passes)))
    verdict = msgspec.structs.replace(verdict, short=shrunk(verdict.shown))
    say(Report(verdict.passes, verdict.passes, msgspec.Raw(msgspec.json.encode(verdict))))


if __name__ == "__main__":
    main()
