"""Wildcards over names of tables, partitions, indexes and stores."""

from __future__ import annotations

from fnmatch import fnmatchcase


def fits(name: str, pattern: str) -> bool:
    """Does a wildcard fit the name of a table or partition? SQL does not tell upper case from lower."""
    return fits_exactly(name.lower(), pattern.lower())


def fits_exactly(name: str, pattern: str) -> bool:
    """As `fits`, but upper case is told from lower: indexes are values, not names."""
    return name == pattern or fnmatchcase(name, pattern)
