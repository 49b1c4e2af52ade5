"""Texts with holes → texts: `${value}`, `%{if …}…%{else}…%{endif}`, `%{for x in list}…%{endfor}`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tailrace.config.strings import Hole, Pieces
from tailrace.config.values import Value

if TYPE_CHECKING:
    from tree_sitter import Node

Scope = Mapping[str, Value]


class Template:
    """One text; `expressions` are those of its holes, in order."""

    def __init__(
        self,
        pieces: Pieces,
        expressions: list[Node],
        *,
        show: Callable[[Node, Scope], str],
        holds: Callable[[Node, Scope], bool],
        pairs: Callable[[Node, Scope], list[tuple[Value, Value]]],
    ) -> None:
        self.pieces = pieces
        computed = [at for at, piece in enumerate(pieces) if isinstance(piece, Hole) and piece.computed]
        self.expressions = dict(zip(computed, expressions, strict=True))
        self.ends = _ends(pieces)
        self.show = show
        self.holds = holds
        self.pairs = pairs

    def text(self, scope: Scope) -> str:
        """All of it, with the holes filled."""
        return self._between(0, len(self.pieces), scope)

    def _between(self, at: int, stop: int, scope: Scope) -> str:
        out: list[str] = []
        while at < stop:
            piece = self.pieces[at]
            if isinstance(piece, str):
                out.append(piece)
            elif piece.word == "":
                out.append(self.show(self.expressions[at], scope))
            else:
                out.append(self._directive(piece, at, scope))
                at = self._last(at)
            at += 1
        return "".join(out)

    def _directive(self, hole: Hole, at: int, scope: Scope) -> str:
        expression, end = self.expressions[at], self.ends[at]
        if hole.word == "if":
            if self.holds(expression, scope):
                return self._between(at + 1, end, scope)
            return self._between(end + 1, self._last(at), scope)
        names, parts = hole.names, []
        for key, value in self.pairs(expression, scope):
            inner = {**scope, names[0]: key if len(names) > 1 else value, names[-1]: value}
            parts.append(self._between(at + 1, end, inner))
        return "".join(parts)

    def _last(self, at: int) -> int:
        """The `endif` or `endfor` of a directive."""
        end = self.ends[at]
        return self.ends.get(end, end)


def _ends(pieces: Pieces) -> dict[int, int]:
    """Of each `if`, its `else` or `endif`; of each `else`, its `endif`; of each `for`, its `endfor`."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    for at, piece in enumerate(pieces):
        if isinstance(piece, Hole):
            if piece.word in ("else", "endif", "endfor"):
                ends[opened.pop()] = at
            if piece.word in ("if", "else", "for"):
                opened.append(at)
    return ends
