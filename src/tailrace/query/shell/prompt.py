"""The line that is edited: colours, completion, history. The one place that knows prompt-toolkit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import DEFAULT_BUFFER
from prompt_toolkit.filters import completion_is_selected, has_focus
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from tailrace.query.shell.completing import complete
from tailrace.query.shell.names import Names
from tailrace.query.shell.session import is_whole
from tailrace.query.tokens import all_tokens

PROMPT = "tailrace> "
FURTHER = "      ... "
_STYLE = Style.from_dict({
    "keyword": "ansiblue bold",
    "string": "ansigreen",
    "number": "ansicyan",
    "comment": "ansibrightblack italic",
    "function": "ansimagenta",
    "command": "ansiyellow",
    "prompt": "bold",
})  # fmt: skip
_CLASSES = {
    "keyword": "class:keyword",
    "string_const": "class:string",
    "numeric_const": "class:number",
    "comment": "class:comment",
}


def asker(names: Names, history: Path | None, is_coloured: bool = True) -> Callable[[], str]:
    """Asks for one command or for SQL up to its semicolon."""
    session: PromptSession[str] = PromptSession(
        history=_history(history),
        auto_suggest=AutoSuggestFromHistory(),
        completer=_Completer(names),
        complete_while_typing=False,
        complete_in_thread=True,
        lexer=_Lexer(),
        style=_STYLE,
        color_depth=None if is_coloured else ColorDepth.DEPTH_1_BIT,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, number, is_soft: "" if is_soft else FURTHER,
    )
    return lambda: session.prompt([("class:prompt", PROMPT)])


def _history(path: Path | None) -> History:
    """What was asked may hold secrets: it is for its owner alone."""
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))


def _keys() -> KeyBindings:
    keys = KeyBindings()
    # Not in the line that searches what was asked before.
    is_here = has_focus(DEFAULT_BUFFER)

    @keys.add("enter", filter=is_here & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("enter", filter=is_here & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    return keys


class _Completer(Completer):
    def __init__(self, names: Names) -> None:
        self.names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for found in complete(document.text_before_cursor, document.text_after_cursor, self.names):
            yield Completion(found.text, start_position=-found.replaced, display_meta=found.kind[:30])


class _Lexer(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        painted = paint(document.text)
        return lambda number: painted[number] if number < len(painted) else []


def paint(text: str) -> list[StyleAndTextTuples]:
    """Each line with its colours."""
    if text.lstrip().startswith("."):
        return [[("class:command", line)] for line in text.split("\n")]
    encoded, done = text.encode(), 0
    pieces: list[tuple[str, str]] = []
    found = all_tokens(text)
    for number, token in enumerate(found):
        style = _CLASSES.get(token.kind, "")
        if token.text == ".":
            style = ""
        elif number + 1 < len(found) and found[number + 1].text == "(" and token.kind == "identifier":
            style = "class:function"
        pieces += [("", encoded[done : token.start].decode()), (style, token.text)]
        done = token.end
    pieces.append(("", encoded[done:].decode()))
    lines: list[StyleAndTextTuples] = [[]]
    for style, piece in pieces:
        first, *others = piece.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return lines
