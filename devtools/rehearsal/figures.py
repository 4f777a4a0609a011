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
        acts: from sending an act to its event on the board; `votes`: from sending a vote to the poll on the board, and
            `steps`: from sending an answer, a prediction or a request for a hint in a lesson to its event there.
        reached: from a step that is done on its learner's page to the board; 0 if the board has it first.
        behind: how much later than the first socket an observer got an event.
        stalled, free: the same of events while a page has stopped reading, and while none has: of each event its p99.
        stalled_worst: by what factor the page that has stopped delays the observer whom it delays most.
        followed: frames of the leading lab at observers who show it; `followed_per_s`: while figures of the server were
            taken.
        crowd: from the first of those who join within five seconds to the last who sees class and lab; `crowd_class`:
            to the last who sees the class. `crowd_frames` is the most that one of them got until both.
        leader: from the server's stamp of a frame of the lab that leads to its page.
        late: lag of the participants' own event loop, which may be part of the other delays.
        first_lab: from starting the class to the first learner in a lab with its brokers.
        labs: from the first learner who joins after that to the last who has a lab.
        paused: from pausing all labs to the last that played, of `paused_labs`.
        looked: from looking at a learner's lab to the learner's page, by path.
        given: from giving a state to the last learner whose page shows it, in a lab of their own; `given_seq` is the
            last event of that state.
        woken: from acting in all these labs at once to the first that has its engine, and to the last.
        refused, lost: acts that were refused, and sockets that ended by themselves.
        returned: from coming back to the picture of the class; `astray` are those who found another number, another
            lab, or an earlier instant of it.
        shed: how far the server reduced its work while the class was taught. `deflated`: whether frames were.
        learned: from what a learner did in a lesson to the charts of the class that hold it; `rounds` of Spark made
            them, and took `rounds_share` of a core.
        work: what the lesson was, and how far the learners got, in lines.
        others: by what factor a disturbance delays the acts of the others, and their p99.
        flood_per_s: acts that a learner who floods the class sends in a second, until the socket is closed.
        codes_per_minute: wrong codes that were sent, from one address. `codes_looked_up`: the most of them that were
            looked up in 60 s; `codes_ms`: how soon one beyond the limit is refused.
        kicked: from removing a learner to the end of their sockets. `narrow`: how far a page at 200 kbit/s is behind.
        back, pages_back: from killing the server to the class on the board, and on all pages.
        acts_lost: answered acts that were lost or doubled by that.
        faults: a line for each fault, `faults_held` of which did what is promised.
    """

    joins: list[float] = field(default_factory=list)
    acts: list[float] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    reached: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)
    leader: list[float] = field(default_factory=list)
    late: list[float] = field(default_factory=list)
    stalled: list[float] = field(default_factory=list)
    free: list[float] = field(default_factory=list)
    stalled_worst: float = float("nan")
    followed: int = 0
    followed_per_s: float = float("nan")
    first_lab: float = float("nan")
    labs: float = float("nan")
    crowd: float = float("nan")
    crowd_class: float = float("nan")
    crowd_frames: float = float("nan")
    paused: float = float("nan")
    paused_labs: int = 0
    looked: dict[str, float] = field(default_factory=dict)
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
    returned: list[float] = field(default_factory=list)
    astray: int = 0
    shed: float = float("nan")
    deflated: bool = False
    work: list[str] = field(default_factory=list)
    others: dict[str, tuple[float, float]] = field(default_factory=dict)
    flood_per_s: float = float("nan")
    codes_per_minute: float = float("nan")
    codes_looked_up: float = float("nan")
    codes_ms: float = float("nan")
    kicked: float = float("nan")
    narrow: float = float("nan")
    back: float = float("nan")
    pages_back: float = float("nan")
    acts_lost: float = float("nan")
    faults: list[str] = field(default_factory=list)
    faults_held: int = 0
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

    @property
    def all_acts(self) -> list[float]:
        """Hands, questions, votes and steps, of learners and staff."""
        return [*self.acts, *self.votes, *self.steps]

    def as_json(self) -> dict[str, float]:
        """What a bench compares with its bars."""
        return {
            "joins_worst_ms": percentile(self.joins, 1),
            "acts_p50_ms": percentile(self.all_acts, 0.5),
            "acts_p99_ms": percentile(self.all_acts, 0.99),
            "acts": float(len(self.all_acts)),
            "votes_p99_ms": percentile(self.votes, 0.99),
            "steps_p99_ms": percentile(self.steps, 0.99),
            "reached_p99_ms": percentile(self.reached, 0.99),
            "observers_p99_ms": percentile(self.behind, 0.99),
            "stalled_ms": percentile(self.stalled, 0.5),
            "free_ms": percentile(self.free, 0.5),
            "stalled_ratio": self.stalled_ratio,
            "stalled_worst": self.stalled_worst,
            "followed_per_s": self.followed_per_s,
            "labs_ms": self.labs,
            "crowd_ms": self.crowd,
            "crowd_class_ms": self.crowd_class,
            "crowd_frames": self.crowd_frames,
            "leader_p99_ms": percentile(self.leader, 0.99),
            "late_p99_ms": percentile(self.late, 0.99),
            "first_lab_ms": self.first_lab,
            "paused_ms": self.paused,
            "paused_labs": float(self.paused_labs or float("nan")),
            "looked_ms": max(self.looked.values(), default=float("nan")),
            "given_ms": self.given,
            "given_seq": self.given_seq,
            "first_woken_ms": self.woken[0],
            "last_woken_ms": self.woken[1],
            "core_percent": self.core_percent,
            "rss_mb": self.rss_mb,
            "sockets_lost": float(self.lost),
            "shed_step": self.shed,
            "deflated": float(self.deflated),
            "flood_ratio": self.others.get("flood", _NONE)[0],
            "flood_per_s": self.flood_per_s,
            "codes_per_minute": self.codes_per_minute,
            "codes_ratio": self.others.get("codes", _NONE)[0],
            "codes_looked_up": self.codes_looked_up,
            "codes_ms": self.codes_ms,
            "kicked_ms": self.kicked,
            "narrow_ms": self.narrow,
            "back_ms": self.back,
            "acts_lost": self.acts_lost,
        }

    def lines(self) -> list[str]:
        """The report, a line a figure."""
        return [
            *self.work,
            f"joined            {len(self.joins):6}  median {_ms(self.joins, 0.5)}  worst {_ms(self.joins, 1)}",
            *(self._spread(name, values) for name, values in self._delays().items()),
            *self._of_class(),
            f"commands in labs  {self.commands:6}  refused acts {self.refused}, sockets lost {self.lost}",
            f"server            {self.core_percent:5.0f} % of one core, {self.rss_mb:.0f} MB",
            f"load shed, step   {self.shed:5.0f}   frames {'deflated' if self.deflated else 'not deflated'}",
            *self._of_charts(),
            *self._of_faults(),
        ]

    def _delays(self) -> dict[str, list[float]]:
        return {
            "acts on the board": self.acts,
            "votes there": self.votes,
            "answers, hints": self.steps,
            "steps reached": self.reached,
            "observers behind": self.behind,
            "page that leads": self.leader,
            "participants late": self.late,
            "one page stalled": self.stalled,
            "without it": self.free,
        }

    @staticmethod
    def _spread(name: str, values: list[float]) -> str:
        return f"{name:17} {len(values):6}  p50 {_ms(values, 0.5)}  p99 {_ms(values, 0.99)}"

    def _of_class(self) -> list[str]:
        has_followed = not math.isnan(self.followed_per_s)
        followed = f"  leading lab at observers {self.followed_per_s:.0f} frames/s" if has_followed else ""
        looked = ", ".join(f"{path} {ms:.0f} ms" for path, ms in self.looked.items()) or "-"
        back = f"  median {_ms(self.returned, 0.5)}  astray {self.astray}" if self.returned else ""
        return [
            f"first lab         {self.first_lab:6.0f} ms  the others in {self.labs:.0f} ms",
            f"{self.paused_labs:2} labs paused    {self.paused:6.0f} ms{followed}",
            f"look shown after  {looked}",
            f"state given in    {self.given:6.0f} ms  engines after {self.woken[0]:.0f} to {self.woken[1]:.0f} ms",
            f"came back         {len(self.returned):6}{back}",
        ]

    def _of_charts(self) -> list[str]:
        if not self.rounds:
            return []
        return [
            f"acts in charts    {len(self.learned):6}  p50 {_ms(self.learned, 0.5)}  p95 {_ms(self.learned, 0.95)}",
            f"rounds of Spark   {self.rounds:6}  {100 * self.rounds_share:.0f} % of one core",
        ]

    def _of_faults(self) -> list[str]:
        return [f"faults that held  {self.faults_held:6}  of {len(self.faults)}"] if self.faults else []


_NONE = (float("nan"), float("nan"))


def _ms(values: list[float], part: float) -> str:
    return f"{percentile(values, part):.0f} ms" if values else "-"
