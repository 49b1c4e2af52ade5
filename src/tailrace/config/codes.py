"""Every code that an error or a warning about a configuration can have, and what it means."""

from __future__ import annotations

CODES = {
    # the files
    "config.no-such-path": "A configuration path does not exist.",
    "config.unreadable": "A file cannot be read.",
    "config.encoding": "A file is not UTF-8 text.",
    "config.syntax": 'The text is not of the form `name = value` or `kind "label" { … }`.',
    "config.escape": "A backslash in a text is followed by a sign that makes no escape; both are kept (a warning).",
    # expressions
    "config.expression": "An expression cannot be computed.",
    "config.function": "A function refuses its arguments.",
    "config.unknown-function": "There is no such function.",
    "config.unknown-name": "A bare word, a local or a variable that does not exist.",
    "config.circular-reference": "Names or workspaces that depend on themselves.",
    "config.missing-variable": "A variable has neither a value nor a default.",
    "config.unknown-variable": "A value is given for a variable that no block declares.",
    # blocks and attributes
    "config.unknown-block": "There is no such block here.",
    "config.labels": "A block has too many labels, or too few.",
    "config.unknown-attribute": "A block takes no such attribute.",
    "config.missing-attribute": "A block needs an attribute that is absent.",
    "config.duplicate-attribute": "An attribute or a key of a map is given twice.",
    "config.duplicate-name": "Two blocks of a kind bear the same name.",
    "config.bad-name": "A text cannot be the name of this.",
    "config.reserved-name": "The name is Tailrace's own.",
    "config.contradiction": "Two attributes exclude each other.",
    # values
    "config.wrong-type": "A value is of another kind than its attribute takes.",
    "config.wrong-value": "A value is of the right kind, but not one that its attribute takes.",
    "config.bad-duration": "A text is not a duration such as `90s`, `168h` or `7d`.",
    "config.bad-time": "A text is not a date or a time.",
    "config.bad-size": "A text is not a size such as `512MB`.",
    "config.bad-command": "A command line cannot be cut into words.",
    "config.bad-path": "A path or URL is not of the form that its source takes.",
    "config.bad-argument": "A source does not take this value.",
    # references
    "config.dangling-reference": "A reference to a block that does not exist.",
    "config.unknown-table": "There is no such table.",
    "config.unknown-source": "There is no such kind of source.",
    "config.unknown-argument": "A source takes no such argument.",
    "config.unknown-format": "There is no such format.",
    "config.unknown-format-type": "There is no such type of format.",
    "config.unknown-connection-type": "There is no such type of connection.",
    "config.unknown-sink-type": "There is no such type of sink.",
    "config.unknown-transform-type": "There is no such type of transform.",
    "config.unknown-listener-type": "There is no such type of listener.",
    "config.unknown-environment": "There is no such cloud of Azure.",
    "config.unknown-workspace": "There is no such workspace.",
    "config.missing-source": "A partition has no source.",
    # packages
    "config.plugin-conflict": "Several packages provide one name; `prefer_plugins` says which of them wins.",
    "config.plugin-broken": "A package names a module that cannot be used.",
    # tables, filters and patterns
    "config.missing-time": "A table does not say when its events happened.",
    "config.unknown-type": "There is no such type of column or variable.",
    "config.unknown-column": "There is no such column.",
    "config.bad-expression": "A filter or transform is no SQL expression over one row.",
    "config.format": "A format is of a dialect that does not exist.",
    "config.grok": "A grok pattern cannot be read.",
    "config.unknown-grok-pattern": "A grok pattern refers to one that does not exist.",
    "config.unknown-grok-type": "There is no such type of grok captures.",
    "config.regex": "A regular expression cannot be read.",
    "config.start": "The pattern that begins a record of several lines cannot be read.",
    "config.layout": "A layout cannot be read.",
    "config.bad-layout": "A `file_layout` cannot be read.",
    "config.slow-layout": "A `file_layout` takes too long to match a path.",
    # what works otherwise than expected
    "config.no-effect": "Something is taken but does nothing (a warning).",
    "config.no-format": "No format is named, so JSON lines are assumed (a warning).",
    "config.not-active": "Something is checked and shown, but nothing acts on it yet (a warning).",
    "config.missing-package": "A kind of source needs a Python package that is not installed.",
    "config.not-available": "Something is understood but cannot be done yet.",
    "config.source-not-available": "A kind of source that cannot be collected from yet.",
    "config.table-not-available": "A table that is not built in yet.",
}
"Code → its meaning in one line. A code never changes its meaning."
