"""Shrinks a script that fails to a short one that fails in the same way (delta debugging).

First whole commands are removed, in decreasing groups, while the pauses are kept, so that the remaining commands run at
the same time. Then pauses are removed or halved.
"""

from collections.abc import Callable, Sequence

from lab.trials.pauses import pause, pause_us

MAX_TRIES = 600
SHORTEST_US = 2_000

_Lines = list[str]


def shrink_lines(lines: Sequence[str], fails: Callable[[_Lines], bool], tries: int = MAX_TRIES) -> _Lines:
    """The shortest script found that still fails. `fails` plays one; the given script must fail."""
    return _Shrinking(fails, tries).result(list(lines))


class _Shrinking:
    def __init__(self, fails: Callable[[_Lines], bool], tries: int) -> None:
        self._judge = fails
        self.tries = tries

    def result(self, lines: _Lines) -> _Lines:
        while self.tries > 0:
            before = lines
            lines = self._without(lines, lambda line: pause_us(line) is None)
            lines = self._without(_merged(lines), lambda line: pause_us(line) is not None)
            lines = self._with_shorter_pauses(lines)
            if lines == before:
                break
        return lines

    def _fails(self, lines: _Lines) -> bool:
        self.tries -= 1
        return self._judge(lines)

    def _without(self, lines: _Lines, is_candidate: Callable[[str], bool]) -> _Lines:
        """As few as possible of the lines that are candidates, and all others."""
        size = max(1, sum(map(is_candidate, lines)) // 2)
        while self.tries > 0:
            at = 0
            removed = False
            while self.tries > 0:
                places = [place for place, line in enumerate(lines) if is_candidate(line)]
                group = set(places[at : at + size])
                if not group:
                    break
                shorter = [line for place, line in enumerate(lines) if place not in group]
                if self._fails(shorter):
                    lines = shorter
                    removed = True
                else:
                    at += size
            if size == 1 and not removed:
                break
            size = max(1, size // 2)
        return lines

    def _with_shorter_pauses(self, lines: _Lines) -> _Lines:
        for place in range(len(lines)):
            time_us = pause_us(lines[place])
            while time_us is not None and time_us >= SHORTEST_US and self.tries > 0:
                time_us = time_us // 2_000 * 1_000
                shorter = [*lines[:place], pause(time_us), *lines[place + 1 :]]
                if not self._fails(shorter):
                    break
                lines = shorter
        return lines


def _merged(lines: _Lines) -> _Lines:
    """The same with one pause where several follow one another."""
    merged: _Lines = []
    for line in lines:
        time_us = pause_us(line)
        before_us = pause_us(merged[-1]) if merged else None
        if time_us is not None and before_us is not None:
            merged[-1] = pause(before_us + time_us)
        else:
            merged.append(line)
    return merged
