"""Files of two strengths: a block of the stronger ones replaces that of the same name in the weaker ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tailrace.config.declare import BLOCK_SYNONYMS
from tailrace.config.syntax import Block

Key = tuple[str, tuple[str, ...]]


def without_replaced(files: Sequence[Block], weaker: Collection[str]) -> list[Block]:
    """The files, those named `weaker` without the blocks and locals that another one has as well."""
    if not weaker:
        return list(files)
    strong = {key for file in files if file.where.file not in weaker for key in _names(file)}
    return [_reduced(file, strong) if file.where.file in weaker else file for file in files]


def _names(file: Block) -> Iterator[Key]:
    for block in file.blocks:
        if block.kind == "locals":
            yield from (("local", (name,)) for name in block.attributes)
        else:
            yield _key(block)


def _key(block: Block) -> Key:
    return (BLOCK_SYNONYMS.get(block.kind, block.kind), block.labels)


def _reduced(file: Block, strong: Collection[Key]) -> Block:
    kept = []
    for block in file.blocks:
        if block.kind == "locals":
            own = {name: value for name, value in block.attributes.items() if ("local", (name,)) not in strong}
            kept.append(replace(block, attributes=own))
        elif _key(block) not in strong:
            kept.append(block)
    return replace(file, blocks=tuple(kept))
