"""Blocks that are read as they are declared: stores, tiers, schemas, sinks, listeners, windows."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.config.attributes import Attrs, BlockType, checked, filled, not_active, require
from tailrace.config.declare import BLOCK_SYNONYMS, BLOCK_TYPES, OTHER_BLOCKS
from tailrace.config.model import OtherBlock
from tailrace.config.names import Names, SchemaNames
from tailrace.config.places import Report, Where
from tailrace.config.rules import check_rules
from tailrace.config.syntax import Block
from tailrace.config.values import Settings, called, settings_of


class Others:
    """Reads such blocks and keeps those of the top level by name."""

    def __init__(self, report: Report, settings: Callable[[Block], Settings]) -> None:
        self.report = report
        self.settings = settings
        self.named: dict[str, Names[OtherBlock]] = {kind: Names(kind, report) for kind in sorted(OTHER_BLOCKS)}
        self.named["schema"] = SchemaNames(report)
        self.found: list[OtherBlock] = []

    def declare(self, block: Block) -> None:
        """A block of the top level."""
        self.keep(block, BLOCK_TYPES[BLOCK_SYNONYMS.get(block.kind, block.kind)])

    def keep(self, block: Block, kind: BlockType) -> None:
        """Read a block as one of that kind and keep it under its name."""
        spec = self.read(block, kind)
        if spec is None or not spec.name:
            if spec is not None:
                hint = f'write {block.kind} "name" {{ … }}'
                self.report.error(block.where, f"a {block.kind} needs a name", "labels", hint)
            return
        self.found.append(spec)
        self.named[kind.name].add((spec.type, spec.name) if spec.type else (spec.name,), spec, block.where)
        for inner in spec.blocks:
            if inner.kind in self.named:
                self.named[inner.kind].add((spec.name, inner.name), inner, inner.where)
        if not kind.active:
            not_active(self.report, block.where, f"a {kind.name}")
        elif spec.type and not kind.types[spec.type].active:
            not_active(self.report, block.where, f"a {kind.name} of type {spec.type}")

    def read(self, block: Block, kind: BlockType) -> OtherBlock | None:
        """The block as a value; None, and a note in the report, when its type or name cannot be told."""
        settings = self.settings(block)
        named = self._type_and_name(block, settings, kind)
        if named is None:
            return None
        type_name, name = named
        own = kind.types[type_name] if type_name else kind
        inner_types = {**kind.blocks, **own.blocks}
        inner = [self._inner(child, inner_types) for child in block.blocks]
        inner += self._maps(settings, inner_types, _attributes(kind, type_name))
        what = f"{type_name} {kind.name}".strip()
        require(own, what, filled(block.attributes, settings), block.where, self.report)
        values = checked(settings, _attributes(kind, type_name), self.report)
        blocks = tuple(child for child in inner if child is not None)
        spec = OtherBlock(kind.name, type_name, name, values, blocks, block.where)
        return check_rules(spec, settings, self.report)

    def _inner(self, block: Block, known: dict[str, BlockType]) -> OtherBlock | None:
        if block.kind not in known:
            self.report.unknown(block.where, "block", block.kind, known)
            return None
        return self.read(block, known[block.kind])

    def _maps(self, settings: Settings, known: dict[str, BlockType], declared: Attrs) -> list[OtherBlock | None]:
        """`sampling = { … }` means the block of that name."""
        found: list[OtherBlock | None] = []
        for name in [name for name in settings if name in known and name not in declared]:
            setting = settings.pop(name)
            if not isinstance(setting.value, dict) or known[name].types:
                message = f"'{name}' must be a block, not {called(setting.value)}"
                self.report.error(setting.where, message, "wrong-type", f"write {name} {{ … }}")
                continue
            inner = settings_of(setting.value, setting)
            require(known[name], name, filled(inner, inner), setting.where, self.report)
            values = checked(inner, known[name].attributes, self.report)
            found.append(OtherBlock(known[name].name, "", "", values, (), setting.where))
        return found

    def _type_and_name(self, block: Block, settings: Settings, kind: BlockType) -> tuple[str, str] | None:
        labels, asked = list(block.labels), None
        place = block.label_places[0] if labels else block.where
        if kind.types:
            asked = settings.pop("type", None)
            type_name = asked.value if asked else labels[0] if labels else None
            place = asked.where if asked else place
            if isinstance(type_name, str) and len(labels) <= len(kind.labels) - (asked is not None):
                if type_name not in kind.types:
                    self._unknown_type(place, type_name, block, kind)
                    return None
                return type_name, (labels[-1] if labels else type_name) if "name" in kind.labels else ""
        elif len(labels) <= len(kind.labels):
            return "", labels[0] if labels else ""
        if "type" in block.attributes and asked is None and kind.types:
            return None
        words = " and ".join(f"a {word}" for word in kind.labels) or "no label"
        form = " ".join((block.kind, *(f'"{word}"' for word in kind.labels)))
        self.report.error(block.where, f"a {block.kind} takes {words}", "labels", f"write {form} {{ … }}")
        return None

    def _unknown_type(self, place: Where, type_name: str, block: Block, kind: BlockType) -> None:
        if "name" in kind.labels and len(block.labels) == 1 and "type" not in block.attributes:
            hint = f"add type = …; known: {', '.join(kind.types)}"
            self.report.error(block.where, f"{kind.name} {type_name} has no type", "missing-attribute", hint)
        else:
            self.report.unknown(place, f"{kind.name} type", type_name, kind.types)


def _attributes(kind: BlockType, type_name: str) -> Attrs:
    return {**kind.attributes, **(kind.types[type_name].attributes if type_name else {})}


def as_tier(block: Block) -> bool:
    """Is this `partition` block a place where days rest?"""
    return len(block.labels) < 2 and bool({"path", "location"} & block.attributes.keys())
