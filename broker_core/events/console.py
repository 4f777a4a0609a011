"""The console: lines that came in, what they printed."""

from broker_core.events.envelope import Event, kind


@kind("console", en="$ {line}", zh="$ {line}")
class CommandReceived(Event):
    """`command` is dense per branch from 1; `source` says who sent it (a user's name, `play`, `exercise`)."""

    command: int
    line: str
    source: str


@kind("console", en="command {command} printed {lines}", zh="命令 {command} 输出 {lines}")
class CommandPrinted(Event):
    """Lines of standard output as they are; lines of standard error begin with `! `."""

    command: int
    lines: tuple[str, ...]


@kind("console", en="command {command} ended with {exit_code}", zh="命令 {command} 结束，退出码 {exit_code}")
class CommandCompleted(Event):
    command: int
    exit_code: int
