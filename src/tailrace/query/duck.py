"""DuckDB as most questions need it: its engine alone. To import the package around it takes three times as long.

The package adds relations, Arrow and functions of one's own to the classes of the engine, and says which release it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb
else:
    try:
        import _duckdb as duckdb
    except ImportError:  # a release that calls its engine otherwise
        import duckdb

__all__ = ["duckdb", "with_arrow"]


def with_arrow() -> None:
    """From now on connections have relations, and give and take Arrow."""
    import duckdb  # noqa: F401
