"""`tailrace mcp`."""

from __future__ import annotations

import os
import sys

import click

from tailrace.cli.options import Context, without_spark


@click.command("mcp")
@click.option("--max-rows", type=click.IntRange(min=1), default=1000, metavar="N", help="Most rows of an answer.")
@click.option("--timeout", default="60s", metavar="SPAN", help="Most time for a statement (30s, 5m).")
@click.option("--memory", default="1GB", metavar="SIZE", help="Most memory for a query (512MB, 4GB).")
@without_spark()
def command(context: Context, max_rows: int, timeout: str, memory: str) -> None:
    """Serve the lake to assistants by the Model Context Protocol, on stdin and stdout.

    Tools list and describe tables and partitions, tell what was collected lately, suggest queries and run SQL. SQL runs
    in a sandbox: it looks at the lake's tables, and can neither read other files nor write, attach, install or load
    anything, nor change a setting. Ends when stdin is closed.
    """
    from tailrace.cli.asking import seconds_of
    from tailrace.cli.mcp_server import Server
    from tailrace.cli.mcp_tools import INSTRUCTIONS, Tools
    from tailrace.query.limits import Limits
    from tailrace.version import __version__

    if sys.stdin.isatty() and not context.quiet:
        click.echo("note: an assistant starts this and talks to it; see docs/commands/mcp.md", err=True)
    # Whatever else writes to stdout would break the protocol: it goes to stderr.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out:
        sys.stdout.flush()
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        tools = Tools(context, Limits(sandboxed=True, seconds=seconds_of(timeout), memory=memory), max_rows)
        Server("tailrace", __version__, INSTRUCTIONS, tools.all(), out).serve(sys.stdin.buffer)
