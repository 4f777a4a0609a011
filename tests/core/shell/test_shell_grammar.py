"""Lines into words and options, complaints, completion."""

import pytest

from broker_core.shell.grammar.parser import (
    Option,
    OptionError,
    ParsedOptions,
    ShellError,
    command_and_input,
    duration_us,
    quoted,
    split,
    usage_lines,
)
from broker_core.shell.grammar.registry import Grammar, usage_error
from broker_core.shell.tools import COMMANDS
from tests.support.shell_runs import ShellRun

OPTIONS = (
    Option("list", "List all."),
    Option("topic", "The topic.", "topic"),
    Option("partitions", "How many.", "# of partitions", "Integer"),
    Option("config", "A configuration.", "name=value", repeats=True),
)


@pytest.fixture(scope="module")
def shell() -> ShellRun:
    run = ShellRun()
    run.at("kafka-topics.sh --create --topic orders --partitions 2 --replication-factor 3")
    run.at("producer open p")
    return run


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b'\"c\"", ["abc"]),
        ("''", [""]),
        (r"a\ b \'", ["a b", "'"]),
        (r'"a\"b" "a\b" "\\"', ['a"b', r"a\b", "\\"]),
        (r"'a\b'", [r"a\b"]),
        ("$HOME *.txt | x", ["$HOME", "*.txt", "|", "x"]),
    ],
)
def test_words_split_as_in_a_posix_shell(line: str, words: list[str]) -> None:
    assert split(line) == words


@pytest.mark.parametrize("word", ["", "plain", "two words", "it's", 'say "x"', "a\\b", "$x", "{1,2}"])
def test_a_quoted_word_is_read_back(word: str) -> None:
    assert split(quoted(word)) == [word]


@pytest.mark.parametrize("line", ["wait 'x", 'say "x', "a 'b' \"c"])
def test_an_open_quote_is_refused(line: str) -> None:
    with pytest.raises(ShellError, match="A quote is not closed"):
        split(line)


def test_input_stands_below_the_command() -> None:
    assert command_and_input("tool --x\n< a\n<\n< b ") == ("tool --x", ["a", "", "b "])
    with pytest.raises(ShellError, match="second command"):
        command_and_input("one\ntwo")


@pytest.mark.parametrize(
    ("word", "time_us"), [("500ms", 500_000), ("2s", 2_000_000), ("1.5", 1_500_000), ("1m", 60_000_000)]
)
def test_times(word: str, time_us: int) -> None:
    assert duration_us(word) == time_us


def test_input_stands_behind_three_arrows() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2")
    assert shell.at("kafka-console-producer.sh --topic orders <<< 'a b' <<< c", "d") == []
    printed = shell.at("kafka-console-consumer.sh --topic orders --partition 0 --from-beginning --max-messages 3")
    assert printed == ["a b", "c", "d", "! Processed a total of 3 messages"]
    with pytest.raises(ShellError, match="Nothing follows <<<"):
        shell.at("kafka-console-producer.sh --topic orders <<<")


def test_a_time_that_is_none() -> None:
    with pytest.raises(ShellError, match="'soon' is no time"):
        duration_us("soon")


def test_options_are_read_as_joptsimple_reads_them() -> None:
    options = ParsedOptions(OPTIONS).parse(
        ["--topic=a", "--config", "x=1", "rest", "--config", "--list", "--partitions", "-1"]
    )
    assert options.value("topic") == "a"
    assert options.values("config") == ["x=1", "--list"]
    assert options.integer("partitions") == -1
    assert options.operands == ["rest"]
    assert "list" not in options


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nosuch"], "nosuch is not a recognized option"),
        (["--topic"], "Option topic requires an argument"),
    ],
)
def test_bad_options(words: list[str], message: str) -> None:
    with pytest.raises(OptionError) as caught:
        ParsedOptions(OPTIONS).parse(words)
    assert caught.value.message == message


def test_bad_values_are_noticed_when_they_are_asked_for() -> None:
    options = ParsedOptions(OPTIONS).parse(["--partitions", "x", "--topic", "a", "--topic", "b"])
    with pytest.raises(OptionError, match="Cannot parse argument 'x' of option partitions"):
        options.integer("partitions")
    with pytest.raises(OptionError, match="Found multiple arguments for option topic"):
        options.value("topic")
    with pytest.raises(OptionError, match="Cannot parse argument"):
        ParsedOptions(OPTIONS).parse(["--partitions", "3000000000"]).integer("partitions")


def test_usage_lists_every_option() -> None:
    lines = usage_lines(OPTIONS)
    assert lines[0].split() == ["Option", "Description"]
    assert [line.split()[0] for line in lines[2:]] == ["--config", "--list", "--partitions", "--topic"]
    assert max(map(len, lines)) <= 80


def complaint(name: str, what: str) -> ShellError:
    return usage_error(Grammar(COMMANDS).commands[name], what)


def test_a_complaint_about_a_verb_of_many_forms_says_those_that_were_meant() -> None:
    unknown = complaint("producer", "producer rate p1 orders-0 50 is not understood.").expected
    assert unknown.startswith("one of producer open, producer begin, ") and "NAME" not in unknown
    known = complaint("producer", "producer stream p1 is not complete.").expected
    assert known == "producer stream NAME T-P|T RATE"
    opened = complaint("producer", "producer open is not understood.").expected
    assert "--max-in-flight N" in opened and "producer send" not in opened
    assert "consumer freeze NAME / thaw NAME" in complaint("consumer", "consumer thaw is not understood.").expected
    assert complaint("broker", "broker kil 1 is not understood.").expected.startswith("broker kill N | ")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("", "The line is empty"),
        ("kafka-nosuch.sh", "There is no command 'kafka-nosuch.sh'"),
        ("broker kill 9", "There is no broker '9'"),
        ("broker kil 1", "broker kil 1 is not understood"),
        ("broker kill", "broker kill is not understood"),
        ("link cut 1 1", "1 has no link to itself"),
        ("link cut 1 mars", "There is no node 'mars'"),
        ('wait "leader orders == 1" 5s', "is no condition"),
        ('wait "leader orders-0 == 1"', "wait needs a condition"),
        ('wait "leader orders-0 == 1" long', "'long' is no time"),
        ("sleep", "sleep needs a time"),
        ("zk", "zk alone says nothing"),
        ("zk get orders", "'orders' is no path"),
        ("zk get /a//b", "is no path"),
        ("log describe orders", "'orders' is no partition"),
        ("consumer follow b1 orders-0", "'b1' is no name for a client"),
        ("producer open x --partitioner dice", "partitioner is 'dice'"),
        ("producer open x --lingering 5", "no options of producer open"),
        ("producer stream p orders-0 -5", "'-5' is no number"),
        ("producer burst p orders-0 0", "'0' is no number from 1"),
        ("consumer follow c orders-0 --from sometime", "'sometime' is no place to start"),
        ("kafka-configs.sh --describe --zookeeper f", "has no --zookeeper here yet"),
        ("help nosuch", "There is no help on 'nosuch'"),
        ("interrupt 99", "99 is no command that runs"),
        ("sleep 1s\nsleep 2s", "second command"),
    ],
)
def test_a_line_that_cannot_be_run_leaves_no_trace(shell: ShellRun, line: str, what: str) -> None:
    before = shell.run.seq
    with pytest.raises(ShellError) as caught:
        shell.run.submit(line, "test")
    assert what in caught.value.what
    assert caught.value.expected
    assert caught.value.todo
    assert shell.run.seq == before
    assert all(recorded.text != line for recorded in shell.run.take_inputs())


@pytest.mark.parametrize(
    ("line", "items"),
    [
        ("kafka-to", ["kafka-topics.sh"]),
        ("kafka-topics.sh --de", ["--delete", "--delete-config", "--describe"]),
        ("kafka-topics.sh --describe --topic ", ["orders"]),
        ("kafka-topics.sh --describe --topic o", ["orders"]),
        ("kafka-topics.sh --list --li", []),
        ("broker ", ["freeze", "kill", "powerloss", "start", "stop", "thaw"]),
        ("broker kill ", ["1", "2", "3"]),
        ("broker start ", []),
        ("link cut 1 ", ["2", "3", "p", "shell", "zk"]),
        ("producer send p ", ["orders", "orders-0", "orders-1"]),
        ("producer close ", ["p"]),
        ("zk get /brokers/i", ["/brokers/ids"]),
        ("zk get /contr", ["/controller", "/controller_epoch"]),
        ("log ", ["clean", "describe"]),
        ("hw orders-", ["orders-0", "orders-1"]),
        ("kafka-configs.sh --describe --entity-type b", ["broker-loggers", "brokers"]),
        ("kafka-configs.sh --describe --broker ", ["1", "2", "3"]),
        ("kafka-leader-election.sh --election-type p", ["preferred"]),
        ("help zk", []),
        ("nosuch ", []),
    ],
)
def test_completion(shell: ShellRun, line: str, items: list[str]) -> None:
    begin, found = shell.run.complete(line, len(line))
    assert found == items
    assert line[begin:] == line.rpartition(" ")[2]


def test_files_that_were_written_complete(shell: ShellRun) -> None:
    shell.at("file plan.json", "{}")
    line = "kafka-reassign-partitions.sh --verify --reassignment-json-file p"
    assert shell.run.complete(line, len(line))[1] == ["plan.json"]


def test_completion_looks_at_the_cursor_only(shell: ShellRun) -> None:
    assert shell.run.complete("brok kill 1", 4) == (0, ["broker"])


def test_help_names_every_command_and_every_form(shell: ShellRun) -> None:
    everything = shell.at("help")
    for name, command in Grammar(COMMANDS).commands.items():
        assert any(line.startswith(name) for line in everything)
        printed = "\n".join(shell.at(f"help {name}"))
        assert all(form in printed for form, _ in command.forms)
        assert all(f"--{option.name}" in printed for option in command.options)
