"""Command lines of the tools with commands, as argparse4j reads them: answers recorded from 3.9.1's own tools."""

import pytest

from tests.support.shell_runs import ShellRun


@pytest.fixture(scope="module")
def shell() -> ShellRun:
    return ShellRun()


def test_help_lists_arguments_of_each_command(shell: ShellRun) -> None:
    assert shell.at("kafka-cluster.sh -h") == [
        "usage: kafka-cluster [-h] {cluster-id,unregister} ...",
        "",
        "The Kafka cluster tool.",
        "",
        "positional arguments:",
        "  {cluster-id,unregister}",
        "    cluster-id           Get information about the ID of a cluster.",
        "    unregister           Unregister a broker.",
        "",
        "optional arguments:",
        "  -h, --help             show this help message and exit",
    ]
    assert shell.exit_code == 1
    assert shell.at("kafka-features.sh disable --help")[-4:] == [
        "  --feature FEATURE      A feature flag to disable.",
        "  --unsafe               Disable  this  feature   flag   even   if  it  may",
        "                         irreversibly destroy metadata.",
        "  --dry-run              Perform a dry-run of this disable operation.",
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("kafka-features.sh bogus", "invalid  choice:  'bogus'  (choose  from 'describe',|'upgrade', 'downgrade', 'd"),
        ("kafka-features.sh --version", "unrecognized arguments: '--version'"),
        ("kafka-features.sh dis --feature a --fe b --dr --x", "unrecognized arguments: '--x'"),
        ("kafka-features.sh downgrade --metadata a --unsafe=1", "argument --unsafe: ignore implicit argument '1'"),
        ("kafka-transactions.sh -c list", "unrecognized arguments: '-c'"),
        ("kafka-transactions.sh list x -h", "unrecognized arguments: 'x -h'"),
        ("kafka-transactions.sh list -- x", "unrecognized arguments: 'x'"),
        ("kafka-transactions.sh list --duration-filter -5 x", "unrecognized arguments: 'x'"),
        ("kafka-transactions.sh describe-producers --topic --partition 1", "argument --topic: expected one argument"),
        ("kafka-cluster.sh unregister -i 3x", "argument --id/-i: could  not  convert '3x' to Integer|(For input strin"),
        ("kafka-cluster.sh cluster-id -b", "error:   argument   --bootstrap-server/-b:   expected   one|arg"),
    ],
)
def test_parse_error_is_printed_below_the_usage(shell: ShellRun, line: str, complaint: str) -> None:
    printed = "|".join(text.removeprefix("! ") for text in shell.at(line))
    assert shell.exit_code == 1
    assert printed.startswith("usage: ")
    assert complaint in printed


def test_option_prefixes_are_accepted_and_the_last_value_is_used(shell: ShellRun) -> None:
    assert shell.at("kafka-transactions.sh --version") == ["3.9.1 (Commit:f745dfdcee2b9851)"]
    header = shell.at("kafka-transactions.sh list")
    assert header[0].startswith("TransactionalId")
    assert shell.at("kafka-transactions.sh li --dur 5") == header
    assert shell.at("kafka-transactions.sh find --topic a --topic b") == [
        "! Failed to describe 1 topics: This server does not host this topic-partition.. Enable debug logging for "
        "additional detail."
    ]
    assert shell.at("kafka-cluster.sh unreg -i 3") == [
        "The target cluster does not support the broker unregistration API."
    ]
