"""The bound of a process: of several statements, and as it was behind the last."""

from __future__ import annotations

import resource

import duckdb
import pytest

from tailrace.query.process_memory import bounded


def soft() -> int:
    return resource.getrlimit(resource.RLIMIT_AS)[0]


def test_statements_that_end_in_another_order() -> None:
    before = soft()
    with (
        duckdb.connect(config={"memory_limit": "64MB"}) as small,
        duckdb.connect(config={"memory_limit": "2GB"}) as large,
    ):
        first, second = bounded(small), bounded(large)
        first.__enter__()
        alone = soft()
        second.__enter__()
        both = soft()
        first.__exit__(None, None, None)
        assert soft() == both > alone
        second.__exit__(None, None, None)
    assert soft() == before


def test_what_is_made_at_a_go_is_refused() -> None:
    with duckdb.connect(config={"memory_limit": "64MB"}) as connection, bounded(connection):
        with pytest.raises(duckdb.OutOfMemoryException):
            connection.execute("SELECT len(range(3000000000))").fetchall()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]


def test_a_bound_that_the_process_has_already_stays() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    own = 64 << 30
    try:
        resource.setrlimit(resource.RLIMIT_AS, (own, before[1]))
        with duckdb.connect(config={"memory_limit": "100TB"}) as connection, bounded(connection):
            assert soft() == own
        assert soft() == own
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
