"""Helpers for tests of the configuration language."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from textwrap import dedent

import pytest

from tailrace.config import Config, ConfigErrors, Problem
from tailrace.config.load import load as load_files
from tailrace.config.load import load_texts
from tailrace.config.places import Text

Load = Callable[..., Config]
Fail = Callable[..., tuple[Problem, ...]]
NOW = datetime(2024, 3, 31, 12, 30, 5)


@pytest.fixture
def load() -> Load:
    """Texts (files a.tpc, b.tpc …) → Config."""

    def run(*texts: str, environ: Mapping[str, str] | None = None, directory: str = ".") -> Config:
        files = [Text(f"{chr(97 + i)}.tpc", dedent(text).encode(), directory) for i, text in enumerate(texts)]
        return load_texts(files, now=NOW, environ=environ or {"HOME": "/home/me"})

    return run


@pytest.fixture
def fail(load: Load) -> Fail:
    """Texts → the problems they raise."""

    def run(*texts: str, **options: object) -> tuple[Problem, ...]:
        with pytest.raises(ConfigErrors) as raised:
            load(*texts, **options)
        return raised.value.errors

    return run


@pytest.fixture
def load_path() -> Load:
    """Paths → Config."""

    def run(*paths: Path) -> Config:
        return load_files(paths, now=NOW, environ={})

    return run
