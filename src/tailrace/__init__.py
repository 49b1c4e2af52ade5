"""Tailrace: logs in, typed tables in an open lakehouse, SQL out."""

__version__ = "0.1.0"
