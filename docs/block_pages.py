"""What the declarations of the configuration language say, as Markdown: a page per block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tailrace.config.attributes import KIND_WORDS, Attr, Attrs, BlockType
from tailrace.config.codes import CODES
from tailrace.config.declare import BLOCK_TYPES, IGNORED_DELIMITED

ON_OTHER_PAGES = {"column": "table", "tier": "store", "locals": "index", "variable": "index"}
"Blocks that are described with another one."
PAGES = tuple(name for name in BLOCK_TYPES if name not in ON_OTHER_PAGES)
NEW_BLOCK = """\
# {name}

<!-- generated: block {name} -->
<!-- end -->
"""
NOT_ACTIVE = "*Not active yet: it is read, checked and shown, but nothing acts on it.*"
_HEAD = ("attribute", "value", "default", "meaning")


def table_of(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table; bars inside of cells are escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def attribute_table(attributes: Attrs) -> str:
    """Every attribute; those without any effect are told of elsewhere."""
    has_ignored = attributes.keys() >= IGNORED_DELIMITED
    shown = {name: attr for name, attr in attributes.items() if not (has_ignored and name in IGNORED_DELIMITED)}
    rows = [(f"`{name}`", _value(attr), _default(attr), _meaning(attr)) for name, attr in shown.items()]
    return table_of(_HEAD, rows)


def block_region(name: str) -> str:
    """All that is declared of a block."""
    return "\n\n".join(_sections(BLOCK_TYPES[name], "##"))


def inner_region(name: str) -> str:
    """A block that has no page of its own."""
    return "\n\n".join([_usage(BLOCK_TYPES[name]), *_attributes(BLOCK_TYPES[name])])


def blocks_region() -> str:
    """Which blocks there are, and where they are described."""
    rows = []
    for name, block in BLOCK_TYPES.items():
        also = f" Also written `{block.synonyms[0]}`." if block.synonyms else ""
        rows.append((f"[`{name}`]({_link(name)})", block.doc + also, "yes" if block.active else "not yet"))
    return table_of(("block", "what it says", "active"), rows)


def codes_region() -> str:
    """Every code of an error or a warning."""
    return table_of(("code", "what is wrong"), [(f"`{code}`", meaning) for code, meaning in CODES.items()])


def _link(name: str) -> str:
    """From one of the pages to where a block is described."""
    page = ON_OTHER_PAGES.get(name, name)
    if page == "index":
        return f"{page}.md#locals-and-variables"
    return f"{page}.md" if page == name else f"{page}.md#{name}"


def _sections(block: BlockType, level: str) -> Iterator[str]:
    yield block.doc if block.active else f"{block.doc} {NOT_ACTIVE}"
    yield _usage(block)
    if block.example:
        yield f"```hcl\n{block.example}\n```"
    yield from _attributes(block)
    for kind in block.types.values():
        yield f'{level} {block.name} "{kind.name}"'
        yield from _nested(kind, active=block.active)
    for word, inner in block.blocks.items():
        if word in inner.synonyms:
            continue
        if inner.name in BLOCK_TYPES:
            yield f"{level} {word} inside\n\n{inner.doc} [What it takes]({_link(inner.name)})."
        else:
            yield f"{level} {word} inside"
            yield from _nested(inner, active=block.active)


def _nested(block: BlockType, active: bool) -> Iterator[str]:
    """A type of a block, or a block inside; `active`: is what it belongs to?"""
    yield block.doc if block.active or not active else f"{block.doc} {NOT_ACTIVE}"
    yield from _attributes(block)
    for kind in block.types.values():
        yield f'**{block.name} "{kind.name}"**: {kind.doc}'
        yield from _attributes(kind)
        yield from _inside(kind)
    yield from _inside(block)


def _inside(block: BlockType) -> Iterator[str]:
    for word, inner in block.blocks.items():
        yield f"**`{word}` inside**: {inner.doc}"
        yield from _attributes(inner)


def _attributes(block: BlockType) -> Iterator[str]:
    if block.attributes:
        yield attribute_table(block.attributes)
    if block.either:
        yield f"One of {' and '.join(f'`{name}`' for name in block.either)} has to be given."


def _usage(block: BlockType) -> str:
    labels = "".join(f' "{label.upper()}"' for label in block.labels)
    forms = [f"{word}{labels} {{ … }}" for word in (block.name, *block.synonyms)]
    return "```text\n" + "\n".join(forms) + "\n```"


def _value(attr: Attr) -> str:
    if attr.kind in ("reference", "references"):
        heads = " or ".join(f"`{head}.…`" for head in attr.to)
        return heads if attr.kind == "reference" else f"{heads}, or a list"
    return KIND_WORDS[attr.kind]


def _default(attr: Attr) -> str:
    if attr.required:
        return "required"
    shown: Mapping[type, Callable[[object], str]] = {
        bool: lambda value: str(value).lower(),
        tuple: lambda value: ", ".join(map(str, value)),  # type: ignore[call-overload]
    }
    default = attr.default
    return "" if default is None else f"`{shown.get(type(default), str)(default)}`"


def _meaning(attr: Attr) -> str:
    parts = [attr.doc]
    if attr.choices:
        parts.append(f"One of {', '.join(f'`{choice}`' for choice in attr.choices)}.")
    if attr.secret:
        parts.append("Secret: never shown.")
    if not attr.active:
        parts.append("*Not active yet.*")
    return " ".join(parts)
