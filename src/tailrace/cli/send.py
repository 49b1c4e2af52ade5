"""`tailrace send`."""

from __future__ import annotations

import sys

import click

from tailrace.cli.options import Context, report_option, without_spark


@click.command("send")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "--to", "url", metavar="URL", required=True, help="http[s]://, syslog://, syslog+udp:// or tcp://HOST:PORT."
)
@click.option("--key", metavar="HEX", envvar="TAILRACE_API_KEY", default="", help="API key (or TAILRACE_API_KEY).")
@click.option(
    "--kind", type=click.Choice(("events", "logs", "snapshots")), default="events", help="What the lines of HTTP are."
)
@click.option("--batch", type=click.IntRange(1, 10_000), default=1000, help="Lines of a request.")
@click.option("--gzip/--no-gzip", "compress", default=False, help="Compress requests.")
@report_option
@without_spark()
def command(
    context: Context, files: tuple[str, ...], url: str, key: str, kind: str, batch: int, compress: bool, output: str
) -> None:
    """Send files to a listener.

    JSON lines go over HTTP, lines of syslog over TCP or UDP, and files of framed FlatBuffers over TCP. A request that
    finds the listener full or away is tried again for two minutes, under the same name: it is stored once.

    Exit codes: 0 everything was accepted, 4 some lines were rejected, 5 the listener refused or cannot be reached.
    """
    from pathlib import Path

    import msgspec

    from tailrace.streams.sending import Target

    sent = Target(url, key, kind, batch, compress).send([Path(file) for file in files])
    if output == "json":
        click.echo(msgspec.json.encode(sent).decode())
    elif not context.quiet:
        click.echo(
            f"{sent.accepted} accepted, {sent.rejected} rejected, {sent.requests} requests, {sent.retries} again"
        )
        if sent.first_rejected is not None:
            click.echo(f"first rejected: {sent.first_rejected}", err=True)
    sys.exit(4 if sent.rejected else 0)
