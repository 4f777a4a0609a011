"""The shell of a run: a node like the brokers, which runs the commands of its console."""

from collections.abc import Sequence
from typing import Any

import msgspec

from broker_core.events.console import CommandCompleted, CommandPrinted, CommandReceived
from broker_core.events.world import NodeAdded
from broker_core.partitions import broker_node
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import command_and_input, is_background, split, take_here_strings
from broker_core.shell.grammar.process import Call, Disconnected, Process, Running, Sleep, Until
from broker_core.shell.grammar.registry import Grammar, UsageError, bounded, usage_error
from broker_core.shell.grammar.zookeeper_option import with_hint, without_zookeeper
from broker_core.sim.kernel import Message

SHELL_NODE = "shell"
INTERRUPTED = 130


class _Job(msgspec.Struct):
    """A running command. `until` is the predicate that it waits for, if any."""

    process: Process
    running: Running
    until: Until | None = None


class Shell:
    """The node `shell`. Commands run concurrently; each has a number, consecutive from 1.

    While none runs it holds plain data and can be pickled with the cluster.
    """

    name = SHELL_NODE

    def __init__(self, cluster: ClusterApi, grammar: Grammar) -> None:
        self.cluster = cluster
        self.grammar = grammar
        self.files: dict[str, str] = {}
        self._last_command = 0
        self._jobs: dict[int, _Job] = {}

    def join(self) -> None:
        """Becomes a node of the run."""
        self.cluster.kernel.add(self)
        self.cluster.kernel.emit(NodeAdded(node=SHELL_NODE, node_kind="shell", broker_id=-1), SHELL_NODE)

    # The console.

    def submit(self, text: str, source: str, stdin: Sequence[str] = ()) -> int:
        """Runs a command: a line, with its input behind `<<<` or below it on lines with `<`. Returns its number. An `&`
        at its end has no effect here, because no command waits for another.

        A command that waits for nothing is complete when this returns. Raises ShellError for a line that cannot be run;
        then nothing has happened.
        """
        text = "\n".join([text, *(f"< {line}".rstrip(" ") for line in stdin)])
        line, lines = command_and_input(text)
        words, first_lines = take_here_strings(split(line))
        if is_background(line):
            words.pop()
        words_of_today = without_zookeeper(words, self.cluster.era)
        command = self.grammar.find(words_of_today)
        process = Process(self.cluster, first_lines + lines, self.files)
        try:
            running = bounded(process, command.start(process, words_of_today[1:]))
        except UsageError as error:
            raise usage_error(command, error.what, "".join(words_of_today[1:2])) from None
        if len(words_of_today) < len(words):
            running = with_hint(process, running)
        self._last_command += 1
        number = self._last_command
        kernel = self.cluster.kernel
        kernel.current_node = SHELL_NODE
        kernel.cause_seq = 0
        kernel.cause_seq = kernel.emit(CommandReceived(command=number, line=text, source=source), SHELL_NODE)
        self._jobs[number] = _Job(process, running)
        self._resume(number, None)
        return number

    @property
    def running_commands(self) -> tuple[int, ...]:
        """The numbers of the commands that are not complete."""
        return tuple(self._jobs)

    def is_running(self, command: int) -> bool:
        """Whether a command is not complete yet."""
        return command in self._jobs

    def interrupt(self, command: int) -> None:
        """Ends a command as Ctrl-C does."""
        job = self._jobs.get(command)
        if job is not None:
            job.running.close()
            self._finish(command, INTERRUPTED)

    def _resume(self, number: int, value: Any) -> None:
        job = self._jobs[number]
        kernel = self.cluster.kernel
        while True:
            try:
                wait = job.running.send(value)
            except StopIteration as stop:
                self._finish(number, stop.value)
                return
            if number not in self._jobs:
                return
            self._flush(number, job.process)
            if isinstance(wait, Until):
                job.until = wait
                held = self._poll(number, job)
                if held is None:
                    return
                value = held
                continue
            if isinstance(wait, Sleep):
                kernel.timer(SHELL_NODE, kernel.now_us + wait.duration_us, "wake", number)
            elif isinstance(wait, Call):
                kernel.request(
                    SHELL_NODE,
                    broker_node(wait.broker_id),
                    wait.api,
                    wait.body,
                    label=wait.label,
                    context=number,
                    timeout_us=wait.timeout_us,
                )
            return

    def _poll(self, number: int, job: _Job) -> bool | None:
        """Whether the predicate holds, or its timeout has passed; None if it has to be checked again."""
        until = job.until
        assert until is not None
        now_us = self.cluster.kernel.now_us
        held = until.predicate(self.cluster)
        if held or now_us >= until.deadline_us:
            job.until = None
            return held
        self.cluster.kernel.timer(SHELL_NODE, min(now_us + until.poll_us, until.deadline_us), "poll", number)
        return None

    def _flush(self, number: int, process: Process) -> None:
        if process.printed:
            lines, process.printed = tuple(process.printed), []
            self.cluster.kernel.emit(CommandPrinted(command=number, lines=lines), SHELL_NODE)

    def _finish(self, number: int, exit_code: int) -> None:
        job = self._jobs.pop(number)
        self._flush(number, job.process)
        self.cluster.kernel.emit(CommandCompleted(command=number, exit_code=exit_code), SHELL_NODE)

    # The node interface.

    def on_request(self, message: Message) -> None:
        """The shell receives no requests."""

    def on_response(self, api: str, body: Any, context: Any) -> None:
        """A broker responded to a command's call."""
        if context in self._jobs:
            self._resume(context, body)

    def on_disconnect(self, api: str, context: Any, why: str) -> None:
        """A broker did not respond."""
        if context in self._jobs:
            self._resume(context, Disconnected(why))

    def on_timer(self, name: str, data: Any) -> None:
        """`wake`: a sleep has ended; `poll`: time to check again."""
        job = self._jobs.get(data)
        if job is None:
            return
        if name == "poll":
            held = self._poll(data, job)
            if held is not None:
                self._resume(data, held)
        else:
            self._resume(data, None)

    def on_watch(self, kind: str, path: str) -> None:
        """The shell has no ZooKeeper session of its own."""
