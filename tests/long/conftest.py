"""`--results FILE` keeps what the long tests found: a row per module, newer runs in place of older ones."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sparkcluster import Cluster, packed, running_cluster

HEAD = """# What the long tests found

`make long` writes this. Figures of several tests are summed, those called largest are not.

| tests | result | figures | minutes | date | commit |
|---|---|---|--:|---|---|
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--results", type=Path, metavar="FILE", help="keep results and figures in this file")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--results")
    if file is not None:
        config.pluginmanager.register(Results(file))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """They may take longer than a test that hangs; this is asked of all tests that are collected."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.timeout(2 * 3600))


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For executors that have neither Python nor Tailrace."""
    return packed(tmp_path_factory.mktemp("packed"))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers; not beside the tests of other modules, some of which measure memory."""
    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


class Results:
    """Gathers outcomes and what tests told through `record_property`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.reports: dict[str, list[pytest.TestReport]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reports.setdefault(Path(report.fspath).stem, []).append(report)

    def pytest_sessionfinish(self) -> None:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| test_")}
        rows |= {name: self.row(name) for name in self.reports}
        self.file.write_text(HEAD + "".join(f"{rows[name]}\n" for name in sorted(rows)))

    def row(self, name: str) -> str:
        reports = self.reports[name]
        outcomes = Counter(report.outcome for report in reports if report.when == "call" or report.failed)
        told = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        minutes = sum(report.duration for report in reports) / 60
        commit = _told_by_git("describe", "--always")
        if _told_by_git("status", "--porcelain", "--untracked-files=no", "--", ".", f":!{self.file}"):
            commit += "-dirty"
        cells = (name, told, "; ".join(figures(reports)), f"{minutes:.1f}", f"{datetime.now(UTC):%Y-%m-%d}", commit)
        return f"| {' | '.join(cells)} |"


def figures(reports: list[pytest.TestReport]) -> list[str]:
    """Sums of what was told under one name, and the greatest of what is called largest."""
    found: dict[str, list[int]] = {}
    for report in reports:
        if report.when == "call":
            for name, value in report.user_properties:
                found.setdefault(name, []).append(int(str(value)))
    return [f"{name} {max(all_) if name.startswith('largest') else sum(all_):,}" for name, all_ in found.items()]


def _told_by_git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()
