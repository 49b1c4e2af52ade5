"""Statements run, and their answers brought to where they belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tailrace.query.engine import Engine, Result
from tailrace.query.render import COUNTING

if TYPE_CHECKING:
    from tailrace.query.engine import Batches
    from tailrace.query.files import Destination

Tell = Callable[[str], None]
"Takes a line for the person who asks, not for what reads the answer."


def answer(
    engine: Engine,
    sql: str,
    destination: Destination,
    tell: Tell,
    *,
    timing: bool = False,
    parameters: Mapping[str, Any] | None = None,
) -> list[str]:
    """Every answer of every statement; warnings come before the answer that they are about.

    With `timing`, how long each took is what is returned: it belongs behind the answer, which may not be shown yet.
    """
    times: list[str] = []
    for result in engine.run(sql, parameters, as_arrow=destination.is_binary):
        while engine.warnings:
            tell(f"warning: {engine.warnings.pop(0)}")
        counted = _Counted(result)
        if result.columns:
            destination.write(counted.result)
        if timing:
            seconds = result.clock.used if result.clock else 0.0
            is_told = destination.path is None and destination.form in COUNTING
            has_rows = bool(result.columns) and not is_told
            rows = f"{counted.rows:,} row{'' if counted.rows == 1 else 's'} in " if has_rows else ""
            times.append(f"{rows}{seconds:.3f} s")
    return times


class _Counted:
    """An answer whose rows are counted as they pass."""

    def __init__(self, result: Result) -> None:
        self.rows = 0
        self.result = replace(result, rows=self._each(result.rows), batches=lambda: self._in_batches(result))

    def _each(self, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            self.rows += 1
            yield row

    def _in_batches(self, result: Result) -> Batches:
        assert result.batches is not None
        schema, batches = result.batches()

        def each() -> Iterator[Any]:
            for batch in batches:
                self.rows += batch.num_rows
                yield batch

        return schema, each()
