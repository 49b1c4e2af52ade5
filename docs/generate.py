"""Writes the parts of the documentation that the code knows: between `<!-- generated: … -->` and `<!-- end -->`.

Everything else in a page is written by hand and stays. `make docs` writes; `--check` only tells what is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import benchmark_pages
import block_pages
import click
import conformance_pages
from block_pages import attribute_table, table_of

from tailrace.cli.main import COMMANDS, cli
from tailrace.cli.options import Context
from tailrace.config import declare
from tailrace.config.attributes import Attrs
from tailrace.config.declare_sources import KINDS, SOURCE
from tailrace.core import TP_COLUMNS, Column, Struct, Table, errors
from tailrace.core.registry import find_table, table_names
from tailrace.formats.grok_patterns import standard_patterns

DOCS = Path(__file__).resolve().parent
REGION = re.compile(r"(<!-- generated: (?P<what>[^\n]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
NEW_TABLE = """\
# {name}

{doc}

## Configure

```hcl
partition "{name}" "main" {{
  source "file" {{ paths = ["/var/log/{name}"] }}
}}
```

## Collect

```sh
tailrace collect {name}
```

## Query

```sql
select * from {name} order by tp_timestamp desc limit 10
```

## Columns

<!-- generated: columns {name} -->
<!-- end -->
"""
SEE_ALSO = "[Options of every command](README.md#options-of-every-command) · [exit codes](README.md#exit-codes)"
EVERYWHERE = frozenset(field.name for field in fields(Context))
"Options that every command takes."


def pages() -> list[Path]:
    """All pages, the index last: it is made from the others."""
    found = sorted([*DOCS.rglob("*.md"), *DOCS.parent.glob("README.md")])
    return sorted(found, key=lambda page: page == DOCS / "README.md")


def rendered(text: str) -> str:
    """A page with all its regions written anew."""

    def fill(region: re.Match[str]) -> str:
        what, *arguments = region["what"].split()
        return f"{region[1]}\n{WRITERS[what](*arguments).strip()}\n\n{region[3]}"

    return REGION.sub(fill, text)


def regions(text: str) -> list[str]:
    """What a page has generated."""
    return [region["what"] for region in REGION.finditer(text)]


# Commands


def commands(group: click.Group = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its path, groups included."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


def command_region(*path: str) -> str:
    command = dict(commands())[path]
    context = click.Context(command, info_name=" ".join(("tailrace", *path)))
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    own = [p for p in command.params if isinstance(p, click.Option) and p.name not in EVERYWHERE]
    parts = [f"```text\n{usage}\n```", _paragraphs(command.help or "")]
    if own:
        parts.append(_options(own))
    if not isinstance(command, click.Group):
        parts.append(SEE_ALSO)
    return "\n\n".join(parts)


def common_options_region() -> str:
    return _options([p for p in cli.params if isinstance(p, click.Option) and p.name in EVERYWHERE])


def commands_region() -> str:
    rows = [(f"[`tailrace {name}`]({name}.md)", text) for name, text in COMMANDS.items()]
    return table_of(("command", "what it does"), rows)


def exit_codes_region() -> str:
    rows: dict[int, list[str]] = {}
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, errors.TailraceError):
            rows.setdefault(kind.exit_code, []).append(f"`{kind.code}`: {_paragraphs(kind.__doc__ or '')}")
    told = [(str(code), " ".join(sorted(texts))) for code, texts in sorted(rows.items())]
    return table_of(("code", "meaning"), [("0", "All well."), *told, ("130", "Interrupted.")])


def _options(options: list[click.Option]) -> str:
    rows = []
    for option in options:
        names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
        kind = option.type
        value = "" if option.is_flag or option.count else option.metavar or kind.name.upper()
        if isinstance(kind, click.Choice):
            value = "|".join(map(str, kind.choices))
        chosen = option.default if isinstance(kind, click.Choice) else None
        default = f" Default: `{chosen}`." if isinstance(chosen, str) else ""
        rows.append((f"{names}{f' `{value}`' if value else ''}", (option.help or "") + default))
    return table_of(("option", "meaning"), rows)


def _paragraphs(text: str) -> str:
    # Markdown would take `<home>` for a tag.
    text = inspect.cleandoc(text).replace("<", "&lt;")
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


# Tables


def known_table(name: str) -> Table:
    table = find_table(name)
    assert table is not None, f"there is no table {name}"
    return table


def columns_region(name: str) -> str:
    table = known_table(name)
    shared = "All tables have [the `tp_*` columns](README.md#shared-columns) besides."
    rows = [row for column in table.columns for row in _column_rows(column)]
    return "\n\n".join([table_of(("column", "type", "description"), rows), shared])


def _column_rows(column: Column, prefix: str = "") -> Iterator[tuple[str, str, str]]:
    nested = isinstance(column.type, Struct)
    yield f"`{prefix}{column.name}`", "struct" if nested else str(column.type), column.doc
    if isinstance(column.type, Struct):
        for inner in column.type.columns:
            yield from _column_rows(inner, f"{prefix}{column.name}.")


def shared_columns_region() -> str:
    rows = [(f"`{c.name}`", str(c.type), c.doc) for c in TP_COLUMNS]
    return table_of(("column", "type", "description"), rows)


def tables_region() -> str:
    rows = [(f"[{name}]({name}.md)", known_table(name).doc) for name in table_names()]
    return table_of(("table", "what a row tells"), rows)


def presets_region(name: str) -> str:
    rows = [(f"`format.{name}.{preset.name}`", preset.doc) for preset in known_table(name).presets]
    return table_of(("format", "what it reads"), rows)


# Configuration

ATTRIBUTES: Mapping[str, Attrs] = {
    "source": SOURCE,
    **{name: kind.attributes for name, kind in KINDS.items()},
    "layout": declare.OF_TABLE,
    **declare.FORMATS,
}


def attributes_region(name: str) -> str:
    return attribute_table(ATTRIBUTES[name])


def ignored_region() -> str:
    return ", ".join(f"`{name}`" for name in sorted(declare.IGNORED_DELIMITED))


def patterns_region() -> str:
    return ", ".join(f"`{name}`" for name in sorted(standard_patterns()))


# Index


def index_region() -> str:
    lines = []
    for directory in (DOCS, *(DOCS / name for name in ("config", "commands", "tables", "sources", "formats"))):
        inner = sorted(p for p in directory.glob("*.md") if p != DOCS / "README.md")
        heads = [p for p in inner if p.name in ("README.md", "index.md")]
        for page in (*heads, *(p for p in inner if p not in heads)):
            indent = "  " if heads and page not in heads else ""
            lines.append(f"{indent}- [{_title(page)}]({page.relative_to(DOCS)})")
    return "\n".join(lines)


def _title(page: Path) -> str:
    return page.read_text().splitlines()[0].removeprefix("# ")


WRITERS: Mapping[str, Callable[..., str]] = {
    "command": command_region,
    "commands": commands_region,
    "common-options": common_options_region,
    "exit-codes": exit_codes_region,
    "columns": columns_region,
    "shared-columns": shared_columns_region,
    "tables": tables_region,
    "presets": presets_region,
    "attributes": attributes_region,
    "block": block_pages.block_region,
    "blocks": block_pages.blocks_region,
    "inner": block_pages.inner_region,
    "codes": block_pages.codes_region,
    "ignored": ignored_region,
    "patterns": patterns_region,
    "conformance-sets": conformance_pages.sets_region,
    "conformance-refused": conformance_pages.refused_region,
    "conformance-inputs": conformance_pages.inputs_region,
    "benchmarks": benchmark_pages.comparison,
    "index": index_region,
}


def out_of_date() -> dict[Path, str]:
    """Pages that would change, with the text they should have."""
    texts = {page: page.read_text() for page in pages()}
    return {page: new for page, text in texts.items() if (new := rendered(text)) != text}


def main() -> None:
    """Writes what has changed; with `--check`, tells it and fails."""
    check = "--check" in sys.argv[1:]
    for name in table_names():
        page = DOCS / "tables" / f"{name}.md"
        if not page.exists() and not check:
            page.write_text(NEW_TABLE.format(name=name, doc=known_table(name).doc))
    for name in block_pages.PAGES:
        page = DOCS / "config" / f"{name}.md"
        if not page.exists() and not check:
            page.write_text(block_pages.NEW_BLOCK.format(name=name))
    changed = out_of_date()
    for page, text in changed.items():
        click.echo(f"{'out of date' if check else 'written'}: {page.relative_to(DOCS.parent)}")
        if not check:
            page.write_text(text)
    sys.exit(check and bool(changed))


if __name__ == "__main__":
    main()
