"""Lines into words and options, complaints, completion."""

import pytest

from broker_core.events.console import MESSAGE_MARK, shown
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
from broker_core.shell.grammar.registry import Grammar, not_understood, usage_error
from broker_core.shell.tools import COMMANDS
from broker_core.texts import LANGUAGES, render, text
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
def test_quoted_word_round_trips(word: str) -> None:
    assert split(quoted(word)) == [word]


@pytest.mark.parametrize("line", ["wait 'x", 'say "x', "a 'b' \"c"])
def test_open_quote_is_refused(line: str) -> None:
    with pytest.raises(ShellError) as caught:
        split(line)
    assert caught.value.id == "shell.quote_open"


def test_input_follows_the_command_on_the_next_lines() -> None:
    assert command_and_input("tool --x\n< a\n<\n< b ") == ("tool --x", ["a", "", "b "])
    with pytest.raises(ShellError) as caught:
        command_and_input("one\ntwo")
    assert caught.value.what == text("shell.second_command.what", line="two")


@pytest.mark.parametrize(
    ("word", "time_us"), [("500ms", 500_000), ("2s", 2_000_000), ("1.5", 1_500_000), ("1m", 60_000_000)]
)
def test_times_are_parsed(word: str, time_us: int) -> None:
    assert duration_us(word) == time_us


def test_input_follows_three_arrows() -> None:
    shell = ShellRun()
    shell.at("kafka-topics.sh --create --topic orders --replica-assignment 1:2")
    assert shell.at("kafka-console-producer.sh --topic orders <<< 'a b' <<< c", "d") == []
    printed = shell.at("kafka-console-consumer.sh --topic orders --partition 0 --from-beginning --max-messages 3")
    assert printed == ["a b", "c", "d", "! Processed a total of 3 messages"]
    with pytest.raises(ShellError) as caught:
        shell.at("kafka-console-producer.sh --topic orders <<<")
    assert caught.value.id == "shell.here_string_empty"


def test_invalid_time_is_refused() -> None:
    with pytest.raises(ShellError) as caught:
        duration_us("soon")
    assert str(caught.value) == (
        "Invalid time 'soon'. Expected a number with ms, s or m, such as 500ms or 30s. Correct the time."
    )


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


def test_bad_values_are_reported_when_read() -> None:
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


def test_usage_error_lists_the_forms_of_the_verb() -> None:
    def forms(command: str, *arguments: str) -> str:
        what = not_understood(command, arguments).what
        return str(usage_error(Grammar(COMMANDS).commands[command], what, arguments[0]).expected)

    unknown = forms("producer", "rate", "p1", "orders-0", "50")
    assert unknown.startswith("Expected one of producer open, producer begin, ") and "NAME" not in unknown
    assert forms("producer", "stream", "p1") == "Expected: producer stream NAME T-P|T RATE"
    assert "--max-in-flight N" in forms("producer", "open") and "producer send" not in forms("producer", "open")
    assert "consumer freeze NAME / thaw NAME" in forms("consumer", "thaw")
    assert forms("broker", "kil", "1").startswith("Expected: broker kill N | ")


def test_unknown_command_suggests_similar_names() -> None:
    def expected(word: str) -> str:
        with pytest.raises(ShellError) as refused:
            Grammar(COMMANDS).find([word, "2"])
        return str(refused.value.expected)

    assert expected("kill") == "Expected a command, perhaps broker kill N | consumer kill NAME | pipeline kill NAME."
    assert "kafka-topics.sh" in expected("kafka-topic.sh")
    # Not forty names: the sentence is shown next to the picture.
    assert len(expected("xyz")) < 120 and "broker" in expected("xyz")


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("", "line_empty"),
        ("kafka-nosuch.sh", "unknown_command_near"),
        ("nosuch", "unknown_command"),
        ("broker kill 9", "unknown_broker"),
        ("broker kil 1", "not_understood"),
        ("broker kill", "not_understood"),
        ("link cut 1 1", "link_to_itself"),
        ("link cut 1 mars", "unknown_node"),
        ('wait "leader orders == 1" 5s', "invalid_condition"),
        ('wait "leader orders-0 == 1"', "wait_incomplete"),
        ('wait "leader orders-0 == 1" long', "invalid_time"),
        ("sleep", "sleep_incomplete"),
        ("zk", "zk_incomplete"),
        ("zk get orders", "invalid_path"),
        ("zk get /a//b", "invalid_path"),
        ("log describe orders", "invalid_partition"),
        ("consumer follow b1 orders-0", "invalid_client_name"),
        ("producer open x --partitioner dice", "option_choice"),
        ("producer open x --lingering 5", "invalid_options"),
        ("producer stream p orders-0 -5", "invalid_number"),
        ("producer burst p orders-0 0", "invalid_number"),
        ("consumer follow c orders-0 --from sometime", "invalid_start"),
        ("kafka-configs.sh --describe --zk-tls-config-file f", "option_not_supported"),
        ("help nosuch", "unknown_help"),
        ("interrupt 99", "command_not_running"),
        ("sleep 1s\nsleep 2s", "second_command"),
    ],
)
def test_refused_line_is_not_recorded(shell: ShellRun, line: str, what: str) -> None:
    before = shell.run.seq
    with pytest.raises(ShellError) as caught:
        shell.run.submit(line, "test")
    assert caught.value.id == f"shell.{what}"
    for language in LANGUAGES:
        assert all(render(part, language) for part in (caught.value.what, caught.value.expected, caught.value.todo))
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


def test_written_files_are_completed(shell: ShellRun) -> None:
    shell.at("file plan.json", "{}")
    line = "kafka-reassign-partitions.sh --verify --reassignment-json-file p"
    assert shell.run.complete(line, len(line))[1] == ["plan.json"]


def test_completion_looks_at_the_cursor_only(shell: ShellRun) -> None:
    assert shell.run.complete("brok kill 1", 4) == (0, ["broker"])


def test_help_names_every_command_and_every_form(shell: ShellRun) -> None:
    everything = list(map(shown, shell.at("help")))
    for name, command in Grammar(COMMANDS).commands.items():
        assert any(line.startswith(name) for line in everything)
        printed = "\n".join(map(shown, shell.at(f"help {name}")))
        assert all(form in printed for form, _ in command.forms)
        assert all(f"--{option.name}" in printed for option in command.options)


def test_help_describes_every_command_and_every_form_in_chinese(shell: ShellRun) -> None:
    for command in Grammar(COMMANDS).commands.values():
        about, *forms = shell.at(f"help {command.name}")[: 1 + len(command.forms)]
        assert is_chinese(about.removeprefix(MESSAGE_MARK)), command.name
        for (form, what), line in zip(command.forms, forms, strict=True):
            assert render(line.removeprefix(MESSAGE_MARK), "zh-CN").startswith(f"  {form} ")
            assert is_chinese(what.code), form


def is_chinese(message: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in render(message, "zh-CN")) or "help.sleep_time" in message


@pytest.mark.parametrize(
    ("line", "terminal"),
    [
        ("* shell.log_clean_already?broker=2", "broker 2: nothing to clean"),
        ("* a record", "* a record"),
        ("shell.log_clean_already?broker=2", "shell.log_clean_already?broker=2"),
        ("! shell.incomplete?line=x", "! Incomplete command: x"),
        ("! Processed a total of 2 messages", "! Processed a total of 2 messages"),
    ],
)
def test_printed_line_is_rendered_only_where_it_is_marked(line: str, terminal: str) -> None:
    assert shown(line) == terminal
