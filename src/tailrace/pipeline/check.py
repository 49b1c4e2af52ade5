"""What a configuration's formats, filters and transforms get wrong, found before anything is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from tailrace.config.inside import character_place
from tailrace.config.live import live_partitions
from tailrace.config.model import Config, PartitionSpec, SourceSpec
from tailrace.config.places import ConfigErrors, Outline, Problem, Where
from tailrace.config.tables import table_name, tables_for
from tailrace.core import ConfigError, Format, Grok, Layout, Regex, Table
from tailrace.core.errors import PatternError
from tailrace.formats import field_names

if TYPE_CHECKING:
    from tailrace.pipeline.binding import Fault


def check(config: Config) -> list[Problem]:
    """All problems of all partitions and tables, sorted, each once. DuckDB is asked only where there is SQL."""
    found = {(problem.place, problem.message): problem for problem in _all(config)}
    return [found[key] for key in sorted(found)]


def _all(config: Config) -> Iterator[Problem]:
    checks = Checks(config)
    by_table: dict[str, list[PartitionSpec]] = {spec.name: [] for spec in config.tables}
    for spec in (*config.partitions, *live_partitions(config)):
        by_table.setdefault(spec.table, []).append(spec)
    for name, partitions in by_table.items():
        try:
            table = tables_for(config, name)
        except ConfigError:  # it is unknown or could not be read, which has been said
            continue
        try:
            yield from checks.transforms(table, partitions)
            for spec in partitions:
                yield from checks.partition(table, spec, learns=True)
        except ConfigError:  # a column of an unknown type
            continue
    for source in config.sources:
        yield from checks.layout_of_files(source)
    for named in config.formats:
        yield from checks.format(named.format, named.where)
    for declared in config.tables:
        if declared.format is not None:
            yield from checks.format(declared.format, declared.where)


def check_patterns(config: Config, specs: Iterable[PartitionSpec]) -> None:
    """Raise what is wrong with layouts and formats of these partitions: no source has to be asked for that."""
    checks = Checks(config)
    found = {(p.place, p.message): p for spec in specs for p in checks.patterns(spec)}
    _raise_any([found[key] for key in sorted(found)])


def check_expressions(table: Table, spec: PartitionSpec, config: Config | None = None) -> None:
    """Raise what is wrong with a partition whose table is known to the last column."""
    checks = Checks(config or Config())
    _raise_any([*checks.partition(table, spec, learns=False), *checks.transforms(table, [spec])])


def _raise_any(problems: list[Problem]) -> None:
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise ConfigErrors(problems)


class Checks:
    """Checks of one configuration; what was bound once is not bound again."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.outline: Outline = config.outline
        self._faults: dict[tuple[object, ...], Fault | None] = {}
        self._sound: set[tuple[object, ...]] = set()

    def partition(self, table: Table, spec: PartitionSpec, *, learns: bool) -> Iterator[Problem]:
        """Patterns, `tp_index` and filter; `learns`: fields that map themselves may become columns yet."""
        yield from self.patterns(spec)
        if spec.tp_index is not None and not (learns and table.map_fields):
            yield from self._index(table, spec, spec.tp_index)
        if spec.filter is not None:
            globs = tuple(table.map_fields) if learns else ()
            yield from self._problems(self._filter(spec.filter, table, globs), "filter", spec.where, "filter")

    def patterns(self, spec: PartitionSpec) -> Iterator[Problem]:
        """Layouts of paths, and formats: those of the sources, else what a `table` block says."""
        declared = self.config.table(table_name(spec.table))
        for source in spec.sources:
            yield from self.layout_of_files(source)
            if source.format is not None:
                yield from self.format(source.format, source.where)
            elif declared is not None and declared.format is not None:
                yield from self.format(declared.format, declared.where)

    def _index(self, table: Table, spec: PartitionSpec, name: str) -> Iterator[Problem]:
        from tailrace.pipeline.binding import index_fault

        if not any(name in source.path_fields() for source in spec.sources):
            yield from self._problems(index_fault(name, table), "tp_index", spec.where, "tp_index")

    def transforms(self, table: Table, partitions: Iterable[PartitionSpec]) -> Iterator[Problem]:
        """The columns that the configuration computes; its formats may say which fields there are."""
        declared = self.config.table(table.name)
        columns = [c for c in (declared.columns if declared else ()) if c.sql is not None]
        if declared is None or not columns:
            return
        from tailrace.pipeline.binding import transform_fault

        sources = [source for spec in partitions for source in spec.sources]
        fields = _fields(table, [source.format or table.format for source in sources])
        for column in columns:
            fault = transform_fault(str(column.sql), table, fields)
            place = f"column {column.name}"
            yield from self._problems(fault, f"transform of column {column.name}", declared.where, place, "transform")

    def format(self, fmt: Format, near: Where) -> Iterator[Problem]:
        """A pattern or layout that cannot be read."""
        from tailrace.formats.dialects import parse_layout
        from tailrace.formats.grok import expressions_of

        if isinstance(fmt, Grok | Regex):
            yield from self._tried(lambda: expressions_of(fmt), near)
            if fmt.start is not None:
                yield from self._start(fmt.start, near)
        elif isinstance(fmt, Layout):
            yield from self._tried(lambda: parse_layout(fmt), near)

    def _start(self, pattern: str, near: Where) -> Iterator[Problem]:
        from tailrace.formats.multiline import Starts

        yield from self._tried(lambda: Starts(pattern), near)

    def layout_of_files(self, source: SourceSpec) -> Iterator[Problem]:
        """A `file_layout`, or one of its `patterns`, that cannot be read."""
        layout, patterns = source.args.get("file_layout"), source.args.get("patterns")
        if isinstance(layout, str):
            from tailrace.sources.layout import compile_layout

            own = {str(name): str(text) for name, text in patterns.items()} if isinstance(patterns, dict) else {}
            key = (layout, *own.items())
            if key not in self._sound:
                problems = list(self._tried(lambda: compile_layout(layout, own), source.where))
                yield from problems
                # Hundreds of partitions may share one layout; one that is wrong is wrong at each place.
                self._sound |= set() if problems else {key}

    def _tried(self, make: Callable[[], object], near: Where) -> Iterator[Problem]:
        try:
            make()
        except PatternError as error:
            start = self.outline.find_text(error.pattern, near)
            where = character_place(self.outline.texts[start.file], start, error.at) if start else near
            message = error.message.partition(" at character ")[0] if start else str(error)
            yield self.outline.problem(where, message, error.code.removeprefix("config."), error.hint)
        except ConfigError as error:
            where = next((w for w in (self.outline.value(near, a) for a in ("layout", "format")) if w != near), near)
            yield self.outline.problem(where, error.message, error.code.removeprefix("config."), error.hint)

    def _filter(self, text: str, table: Table, globs: tuple[str, ...]) -> Fault | None:
        from tailrace.pipeline.binding import filter_fault

        key = (text, table.name, globs)
        if key not in self._faults:
            self._faults[key] = filter_fault(text, table, lambda name: any(fnmatchcase(name, glob) for glob in globs))
        return self._faults[key]

    def _problems(self, fault: Fault | None, what: str, block: Where, *path: str) -> Iterator[Problem]:
        """The fault at the attribute, and at the character in it where that is known."""
        if fault is None:
            return
        where = self.outline.value(block, *path)
        text = self.outline.texts.get(where.file)
        if text is not None and fault.at is not None and self.outline.find_text(fault.expression, where) == where:
            where = character_place(text, where, fault.at)
        yield self.outline.problem(where, f"{what}: {fault.message}", fault.code, fault.hint)


def _fields(table: Table, formats: list[Format]) -> frozenset[str] | None:
    """The source fields, where all formats name theirs; None where only the data tells."""
    names: set[str] = set()
    for fmt in formats or [table.format]:
        try:
            named = field_names(fmt)
        except ConfigError:
            named = None
        if named is None:
            return None
        names.update(named)
    return frozenset(names)
