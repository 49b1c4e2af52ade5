"""`tailrace serve`."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, everywhere

if TYPE_CHECKING:
    from pathlib import Path

    from tailrace.streams.otap_sink import OtapOptions
    from tailrace.streams.settings import ListenerOptions
    from tailrace.streams.sink_options import SinkOptions


@click.command("serve")
@click.option("--spool-size", metavar="SIZE", default="4GB", help="How much may wait to be stored.")
@click.option(
    "--shutdown-timeout", metavar="SECONDS", type=click.FloatRange(min=1), default=60.0,
    help="How long each part may take to end; the spool keeps what is not done by then.",
)  # fmt: skip
@click.option(
    "--engine", type=click.Choice(("local", "spark")), default="local",
    help="Who decodes: this process, or Spark's tasks as a stream.",
)  # fmt: skip
@click.option("--part", type=click.Choice(("listeners", "driver")), hidden=True, help="Run only this part.")
@click.option("--drain", is_flag=True, hidden=True, help="Store what there is, and end.")
@everywhere
def command(
    context: Context, spool_size: str, shutdown_timeout: float, engine: str, part: str | None, drain: bool
) -> None:
    """Run listeners and sinks of the configuration.

    What listeners accept is on disk before it is acknowledged, and is then decoded and published in the sinks' files.
    SIGTERM and Ctrl-C end it: what has been accepted is published first. SIGHUP reads the files of API keys again.

    Exit codes: 0 ended as asked, 3 the configuration is wrong, 5 a port is taken, 6 a spool or sink is held by another
    process.
    """
    from tailrace.cli.settings import load_config
    from tailrace.config.functions import size
    from tailrace.streams.settings import listeners, otap_sinks, sinks

    try:
        most = size(spool_size)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--spool-size") from None
    config = load_config(context)
    found, targets, tables = listeners(config), sinks(config, _here()), otap_sinks(config, _here())
    _require(found, [*targets, *tables])
    spool = context.home_path / "spool" / context.workspace_name
    if part == "listeners":
        _listen(context, found, targets, spool, most)
    elif part == "driver":
        _drive(context, targets, tables, spool, engine, drain=drain)
    else:
        sys.exit(_supervise(shutdown_timeout))


def _here() -> Path:
    from pathlib import Path

    return Path.cwd()


def _require(found: list[ListenerOptions], targets: list[object]) -> None:
    from tailrace.core.errors import ConfigError

    if not found:
        hint = 'write listener "http" "public" { api_keys_file = … }'
        raise ConfigError("no listener is configured", code="serve.no-listener", hint=hint)
    if not targets:
        hint = 'write sink "parquet" "events" { path = … }'
        raise ConfigError("no sink is configured", code="serve.no-sink", hint=hint)


def _supervise(patience: float) -> int:
    from tailrace.streams.supervisor import Supervisor

    return Supervisor([sys.executable, "-m", "tailrace.cli.main", *sys.argv[1:]], patience, _say).run()


def _listen(context: Context, found: list[ListenerOptions], targets: list[SinkOptions], spool: Path, most: int) -> None:
    import asyncio

    from tailrace.streams.listening import Listening
    from tailrace.streams.spool import SpoolLimits

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        listening = Listening(found, targets, spool, SpoolLimits(high_mark=most))
        loop.add_signal_handler(signal.SIGHUP, lambda: _reload(listening))
        try:
            await listening.open()
            if not context.quiet:
                for name, (host, port) in listening.places.items():
                    click.echo(f"listener {name} on {host}:{port}", err=True)
            await stop.wait()
        finally:
            await listening.close()

    try:
        import uvloop
    except ImportError:
        asyncio.run(run())
    else:
        uvloop.run(run())


def _reload(listening: object) -> None:
    from tailrace.cli.main import report
    from tailrace.streams.listening import Listening

    assert isinstance(listening, Listening)
    errors = listening.intake.reload_keys()
    for error in errors:
        report(error)
    click.echo("API keys: " + ("the earlier ones hold" if errors else "read again"), err=True)


def _drive(
    context: Context,
    targets: list[SinkOptions],
    tables: list[OtapOptions],
    spool: Path,
    engine: str,
    *,
    drain: bool,
) -> None:
    import threading

    from tailrace.streams.driver import Driver
    from tailrace.windows.arriving import write_partition

    written = dict.fromkeys(tables, write_partition)
    stop = threading.Event()
    if drain:
        stop.set()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    if engine == "local":
        Driver(spool, targets, _say, written).run(stop)
        return
    from tailrace.cli.settings import session_options
    from tailrace.pipeline.session import session
    from tailrace.streams.spark_stream import SparkDriver

    with session(session_options(context)) as spark:
        # Spark installs a handler of its own.
        signal.signal(signal.SIGTERM, lambda *_: stop.set())
        SparkDriver(spark, spool, targets, _say, written).run(stop)


def _say(text: str) -> None:
    click.echo(text, err=True)
