"""Names that are paths, or too long for one, are rejected: each verb reports it in one sentence, also on a real
disk.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.run import Run, RunConfig
from broker_core.shell.grammar.parser import ShellError
from broker_core.shell.grammar.transcript import ready_line, run_command
from broker_core.sim.real_disk import RealDisk
from broker_core.zk.memory_store import MemoryStore

NAMES = (
    "../x-0",
    "../../x-0",
    "..-0",
    ".-0",
    "a/b-0",
    r"'x\y-0'",
    "'x y-0'",
    "t" * 250 + "-0",
    "x-" + "9" * 5000,
    "/etc-0",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    root: Path = tmp_path_factory.mktemp("disk")
    (root / "x-0").mkdir()
    (root / "x-0" / f"{0:020d}.log").write_bytes(b"not yours")
    run = Run(RunConfig(brokers=(1, 2)), disk=RealDisk(root / "cluster"), zk=MemoryStore())
    run_command(run, ready_line((1, 2)))
    yield run


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("verb", ["segments {}", "hw {}", "log describe {}", "log clean {}", "consumer open c {}"])
def test_path_is_not_a_partition(run: Run, verb: str, name: str) -> None:
    with pytest.raises(ShellError) as caught:
        run_command(run, verb.format(name))
    assert caught.value.id in ("shell.invalid_partition", "shell.not_understood")


@pytest.mark.parametrize("name", [name.strip("'") for name in NAMES])
def test_conditions_reject_names_with_paths(run: Run, name: str) -> None:
    for condition in (
        f"isr {name} == [1]",
        f"leader {name} == 1",
        f"replicas {name} == [1]",
        f"end {name} broker 1 == 0",
    ):
        with pytest.raises(ShellError) as caught:
            run_command(run, f'wait "{condition}" 1s')
        assert caught.value.id == "shell.invalid_condition"


@pytest.mark.parametrize("path", ["/a/../b", "/./x", "//x", "/a/", "/.."])
def test_znode_has_a_plain_path(run: Run, path: str) -> None:
    with pytest.raises(ShellError) as caught:
        run_command(run, f'wait "znode {path} exists" 1s')
    assert caught.value.id == "shell.invalid_condition"


@pytest.mark.parametrize("name", ["../x", "..", ".", "a/b", "/etc", "t" * 250])
def test_conditions_reject_such_topics(run: Run, name: str) -> None:
    with pytest.raises(ShellError) as caught:
        run_command(run, f'wait "topic {name} exists" 1s')
    assert caught.value.id == "shell.invalid_condition"
