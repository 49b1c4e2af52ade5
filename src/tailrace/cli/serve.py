"""`tailrace serve`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tailrace.cli.options import Context, everywhere

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from tailrace.cli.serve_again import DriverAgain
    from tailrace.config import Config
    from tailrace.pipeline.arriving import LivePartition
    from tailrace.streams.lake_sink import LakeOptions
    from tailrace.streams.otap_sink import OtapOptions
    from tailrace.streams.pull_settings import PullOptions
    from tailrace.streams.settings import ListenerOptions
    from tailrace.streams.sink_options import SinkOptions
    from tailrace.streams.status import Told


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

    What listeners accept is on disk before it is acknowledged, and is then decoded and published in the sinks' files
    and tables. SIGTERM and Ctrl-C end it: what has been accepted is published first. SIGHUP reads the configuration and
    the files of API keys again: what did not change goes on, and one that is wrong leaves everything as it was.

    Exit codes: 0 ended as asked, 3 the configuration is wrong, 5 a port is taken, 6 a spool or sink is held by another
    process.
    """
    from tailrace.config.functions import size

    try:
        most = size(spool_size)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--spool-size") from None
    served = _read(context)
    spool = spool_of(context)
    if part == "listeners":
        _listen(context, served, spool, most, drain=drain)
    elif part == "driver":
        sys.exit(_drive(context, served, spool, engine, drain=drain))
    else:
        for _, store in _stores(context, served):
            store.check()
        sys.exit(_supervise(shutdown_timeout))


@dataclass(frozen=True, slots=True)
class Served:
    """What a configuration asks for."""

    config: Config
    listeners: list[ListenerOptions]
    pulls: list[PullOptions]
    files: list[SinkOptions]
    tables: list[OtapOptions]
    lakes: list[LakeOptions]

    @property
    def told(self) -> Sequence[Told]:
        """Sinks whose counters are shown."""
        return [*self.files, *self.tables, *self.lakes]

    @property
    def stored(self) -> Sequence[object]:
        """All that concerns the driver."""
        return self.files, self.tables, self.lakes, self.config.tables if self.lakes else ()


def _read(context: Context) -> Served:
    from tailrace.cli.settings import load_config
    from tailrace.streams.pull_settings import pulls
    from tailrace.streams.settings import lake_sinks, listeners, otap_sinks, sinks

    config = load_config(context)
    lakes = lake_sinks(config, lake_state(spool_of(context)))
    files, tables = sinks(config, _here()), otap_sinks(config, _here())
    served = Served(config, listeners(config), pulls(config), files, tables, lakes)
    _require(served)
    return served


def _here() -> Path:
    from pathlib import Path

    return Path.cwd()


def spool_of(context: Context) -> Path:
    """What was accepted and is not stored yet."""
    return context.home_path / "spool" / context.workspace_name


def lake_state(spool: Path) -> Path:
    """Where sinks of the lake note how far they are."""
    return spool.with_name(f"{spool.name}.lake")


def _require(served: Served) -> None:
    from tailrace.core.errors import ConfigError
    from tailrace.streams.settings import takes

    if not served.listeners and not served.pulls:
        hint = 'write listener "http" "public" { api_keys_file = … }'
        raise ConfigError("no listener is configured", code="serve.no-listener", hint=hint)
    if not any(served.stored):
        hint = 'write sink "parquet" "events" { path = … }'
        raise ConfigError("no sink is configured", code="serve.no-sink", hint=hint)
    every: list[SinkOptions | OtapOptions | LakeOptions] = [*served.files, *served.tables, *served.lakes]
    for listener in served.listeners:
        if not any(takes(sink, listener) for sink in every):
            # What it accepts would be acknowledged, and stored nowhere.
            message = f"no sink that is in use takes what listener {listener.id} accepts"
            hint = "name it in 'listeners' of a sink, or switch it off with enabled = false"
            raise ConfigError(message, code="serve.unheard", hint=hint)


def _supervise(patience: float) -> int:
    from tailrace.streams.supervisor import Supervisor

    return Supervisor([sys.executable, "-m", "tailrace.cli.main", *sys.argv[1:]], patience, _say).run()


def _listen(context: Context, served: Served, spool: Path, most: int, *, drain: bool) -> None:
    import asyncio

    from tailrace.cli.serve_again import ListenersAgain
    from tailrace.streams.listening import Listening
    from tailrace.streams.spool import Spool, SpoolLimits

    if drain:
        Spool(spool).close()
        return

    async def run() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, stop.set)
        limits = SpoolLimits(high_mark=most)
        listening = Listening(served.listeners, served.told, spool, limits, served.pulls, _say)
        again = ListenersAgain(listening, lambda: _read(context), lambda text: None if context.quiet else _say(text))
        try:
            await listening.open()
            again.tell()
            loop.add_signal_handler(signal.SIGHUP, again.heed)
            await stop.wait()
        finally:
            await listening.close()

    try:
        import uvloop
    except ImportError:
        asyncio.run(run())
    else:
        uvloop.run(run())


def _drive(context: Context, served: Served, spool: Path, engine: str, *, drain: bool) -> int:
    """Its exit code."""
    import threading

    from tailrace.cli.serve_again import DriverAgain
    from tailrace.streams.driver import Driver
    from tailrace.streams.supervisor import AGAIN
    from tailrace.windows.arriving import write_partition

    written = dict.fromkeys(served.tables, write_partition)
    lakes = _stores(context, served)
    stop = threading.Event()
    if drain:
        stop.set()
    again = DriverAgain(served, lambda: _read(context), stop)
    _heed(stop, again)
    if engine == "local" or drain:  # what is left is stored before Spark would have begun
        Driver(spool, served.files, _say, written, lakes).run(stop)
        return AGAIN if again.is_due else 0
    from tailrace.cli.settings import session_options
    from tailrace.pipeline.session import session
    from tailrace.streams.spark_stream import SparkDriver

    with session(session_options(context)) as spark:
        # Spark installs a handler of its own.
        _heed(stop, again)
        SparkDriver(spark, spool, served.files, _say, written, lakes).run(stop)
    return AGAIN if again.is_due else 0


def _stores(context: Context, served: Served) -> list[tuple[LakeOptions, LivePartition]]:
    if not served.lakes:
        return []
    from tailrace.cli.settings import open_lake
    from tailrace.pipeline.arriving import LivePartition

    lake = open_lake(context, served.config)
    config = served.config
    return [(one, LivePartition(lake, config, one.partition, one.format, one.max_lateness)) for one in served.lakes]


def _heed(stop: threading.Event, again: DriverAgain) -> None:
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, again.look)


def _say(text: str) -> None:
    click.echo(text, err=True)
