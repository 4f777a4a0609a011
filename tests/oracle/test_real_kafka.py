"""What compares with a real Kafka finds the jars that Maven has fetched for it."""

from pathlib import Path

import pytest

from devtools.oracle.real_kafka import VERSION, fetch_jars

#: Resolves relative paths from the pom's folder, as Maven does.
MAVEN = """#!/bin/sh
while [ $# -gt 0 ]; do
  case "$1" in
    -f) pom="$2" ;;
    -DoutputDirectory=*) output="${1#*=}" ;;
  esac
  shift
done
cd "$(dirname "$pom")" && mkdir -p "$output" && touch "$output/kafka_2.13-%s.jar"
"""


def test_jars_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    maven = tmp_path / "bin" / "mvn"
    maven.parent.mkdir()
    maven.write_text(MAVEN % VERSION)
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(maven.parent), prepend=":")
    monkeypatch.chdir(tmp_path)
    first = fetch_jars(Path(".oracle"))
    assert (first / f"kafka_2.13-{VERSION}.jar").exists()
    maven.unlink()
    assert fetch_jars(Path(".oracle")) == first
