"""Another clock for one module: `time.sleep` itself is everybody's, also that of threads other tests have left."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest


def give(monkeypatch: pytest.MonkeyPatch, module: str, **functions: Callable[..., object]) -> None:
    """The module's `time` has these functions instead of its own."""
    monkeypatch.setattr(f"{module}.time", SimpleNamespace(**(vars(time) | functions)))
