"""What a rehearsal measures: delays as percentiles, what the server process used."""

import math
from dataclasses import dataclass, field


def percentile(values: list[float], part: float) -> float:
    """The value below which `part` (0 to 1) of them are; NaN for none."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


@dataclass
class Figures:
    """Times in milliseconds. What was not measured is NaN: 0 is a figure.

    Attributes:
        joins: from the first request of a participant to the first picture of the class.
        acts: from sending an act to its event on the board.
        behind: how much later than the first socket an observer got an event.
        stalled, free: the same of events while a page has stopped reading, and while none has: of each event its p99.
        followed: frames of the leading lab at observers who show it; `followed_per_s`: while figures of the server were
            taken.
        crowd: from the first of those who join within five seconds to the last whose page shows the class;
            `crowd_frames` is the most that one of them got until then.
        leader: from the server's stamp of a frame of the lab that leads to its page.
        late: lag of the participants' own event loop, which may be part of the other delays.
        first_lab: from starting the class to the first learner in a lab with its brokers.
        labs: from the first learner who joins after that to the last who has a lab.
        paused: from pausing all labs to the last that played.
        looked: from looking at a learner's lab to the learner's page.
        given: from giving a state to the last learner whose page shows it, in a lab of their own; `given_seq` is the
            last event of that state.
        woken: from acting in all these labs at once to the first that has its engine, and to the last.
        refused, lost: acts that were refused, and sockets that ended by themselves.
        learned: from what a learner did in a lesson to the charts of the class that hold it; `rounds` of Spark made
            them, and took `rounds_share` of a core.
    """

    joins: list[float] = field(default_factory=list)
    acts: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)
    leader: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    stalled: list[float] = field(default_factory=list)
    free: list[float] = field(default_factory=list)
    followed: int = 0
    followed_per_s: float = float("nan")
    first_lab: float = float("nan")
    labs: float = float("nan")
    crowd: float = float("nan")
    crowd_frames: float = float("nan")
    paused: float = float("nan")
    looked: float = float("nan")
    given: float = float("nan")
    given_seq: float = float("nan")
    woken: tuple[float, float] = (float("nan"), float("nan"))
    learned: list[float] = field(default_factory=list)
    learned_at_ms: list[float] = field(default_factory=list)
    rounds: int = 0
    rounds_share: float = float("nan")
    commands: int = 0
    refused: int = 0
    lost: int = 0
    wall_s: float = float("nan")
    cpu_s: float = float("nan")
    rss_mb: float = float("nan")

    @property
    def core_percent(self) -> float:
        """Processor time of the server, of one core."""
        return 100 * self.cpu_s / self.wall_s

    @property
    def stalled_ratio(self) -> float:
        """How much later events come to observers while one page does not read."""
        return percentile(self.stalled, 0.5) / max(percentile(self.free, 0.5), 1e-9)

    def as_json(self) -> dict[str, float]:
        """What a bench compares with its bars."""
        return {
            "joins_worst_ms": percentile(self.joins, 1),
            "acts_p50_ms": percentile(self.acts, 0.5),
            "acts_p99_ms": percentile(self.acts, 0.99),
            "observers_p99_ms": percentile(self.behind, 0.99),
            "stalled_ms": percentile(self.stalled, 0.5),
            "free_ms": percentile(self.free, 0.5),
            "stalled_ratio": self.stalled_ratio,
            "followed_per_s": self.followed_per_s,
            "labs_ms": self.labs,
            "crowd_ms": self.crowd,
            "crowd_frames": self.crowd_frames,
            "leader_p99_ms": percentile(self.leader, 0.99),
            "late_p99_ms": percentile(self.late, 0.99),
            "first_lab_ms": self.first_lab,
            "paused_ms": self.paused,
            "looked_ms": self.looked,
            "given_ms": self.given,
            "given_seq": self.given_seq,
            "first_woken_ms": self.woken[0],
            "last_woken_ms": self.woken[1],
            "core_percent": self.core_percent,
            "rss_mb": self.rss_mb,
            "sockets_lost": float(self.lost),
        }

    def lines(self) -> list[str]:
        """The report, a line a figure."""
        has_followed = not math.isnan(self.followed_per_s)
        followed = f"  leading lab at observers {self.followed_per_s:.0f} frames/s" if has_followed else ""
        looked = [
            f"acts in charts    {len(self.learned):6}  p50 {_ms(self.learned, 0.5)}  p95 {_ms(self.learned, 0.95)}",
            f"rounds of Spark   {self.rounds:6}  {100 * self.rounds_share:.0f} % of one core",
        ]
        return [
            f"joined            {len(self.joins):6}  median {_ms(self.joins, 0.5)}  worst {_ms(self.joins, 1)}",
            f"acts on the board {len(self.acts):6}  p50 {_ms(self.acts, 0.5)}  p99 {_ms(self.acts, 0.99)}",
            f"observers behind  {len(self.behind):6}  p50 {_ms(self.behind, 0.5)}  p99 {_ms(self.behind, 0.99)}",
            f"page that leads   {len(self.leader):6}  p50 {_ms(self.leader, 0.5)}  p99 {_ms(self.leader, 0.99)}",
            f"participants late {len(self.late):6}  p50 {_ms(self.late, 0.5)}  p99 {_ms(self.late, 0.99)}",
            f"one page stalled  {len(self.stalled):6}  p99 {_ms(self.stalled, 0.5)}, without it {_ms(self.free, 0.5)}",
            f"first lab         {self.first_lab:6.0f} ms  the others in {self.labs:.0f} ms",
            f"all labs paused   {self.paused:6.0f} ms{followed}",
            f"look shown after  {self.looked:6.0f} ms  state given in {self.given:.0f} ms, "
            f"engines after {self.woken[0]:.0f} to {self.woken[1]:.0f} ms",
            f"commands in labs  {self.commands:6}  refused acts {self.refused}, sockets lost {self.lost}",
            f"server            {self.core_percent:5.0f} % of one core, {self.rss_mb:.0f} MB",
            *(looked if self.rounds else ()),
        ]


def _ms(values: list[float], part: float) -> str:
    return f"{percentile(values, part):.0f} ms" if values else "-"
