"""One XML element → the object that stands for it."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

TEXT = "#text"
_DEEPEST = 100
Node = dict[str, Any]


class Builder:
    """Attributes become `@name`, elements their tag without its prefix, repeated ones a list. An element that holds
    text alone is that text; beside attributes it is `#text`.
    """

    def __init__(self, named: str) -> None:
        """`named`: `Data@Name` takes `<Data Name="x">` for an element `x`."""
        self._tag, _, self._attribute = named.partition("@")

    def build(self, raw: bytes) -> Node:
        """The content of the element; raises ExpatError for what is none."""
        parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        growing = _Growing(self._tag, self._attribute)
        parser.StartElementHandler = growing.start
        parser.EndElementHandler = growing.end
        parser.CharacterDataHandler = growing.text
        parser.Parse(raw, True)
        found = growing.found
        return found if isinstance(found, dict) else {TEXT: found}


class _Growing:
    def __init__(self, tag: str, attribute: str) -> None:
        self.tag, self.attribute = tag, attribute
        self.found: Any = None
        self.names: list[str] = []
        self.nodes: list[Node] = []
        self.texts: list[list[str]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.nodes) >= _DEEPEST:
            raise RecursionError(f"elements more than {_DEEPEST} deep")
        name = tag.rpartition(":")[2]
        if name == self.tag and attributes.get(self.attribute):
            name = attributes.pop(self.attribute)
        self.names.append(name)
        self.nodes.append(
            {
                f"@{key.rpartition(':')[2]}": value
                for key, value in attributes.items()
                if key != "xmlns" and not key.startswith("xmlns:")
            }
        )
        self.texts.append([])

    def text(self, text: str) -> None:
        self.texts[-1].append(text)

    def end(self, _tag: str) -> None:
        name, node, text = self.names.pop(), self.nodes.pop(), "".join(self.texts.pop())
        value: Any = node
        if not node:
            value = text or None
        elif text.strip():
            node[TEXT] = text.strip()
        if not self.nodes:
            self.found = value
            return
        around = self.nodes[-1]
        if name not in around:
            around[name] = value
        elif isinstance(around[name], list):
            around[name].append(value)
        else:
            around[name] = [around[name], value]
