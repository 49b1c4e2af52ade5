"""What a query need not import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _PandasUnasked:
    """pyarrow imports pandas, where there is one, to see whether a list that it is given is of its kind.

    That takes longer than most questions.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("a query needs no pandas", name="pandas")


_UNASKED = _PandasUnasked()


def without_pandas() -> None:
    """For programs of our own only, until Spark is needed, which imports it by itself."""
    if "pandas" not in sys.modules and _UNASKED not in sys.meta_path:
        sys.meta_path.insert(0, _UNASKED)


def allow_pandas() -> None:
    """As if nothing had been said."""
    if _UNASKED in sys.meta_path:
        sys.meta_path.remove(_UNASKED)
