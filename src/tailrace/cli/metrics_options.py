"""`--metrics-file`, `--metrics-port` and `--metrics-host`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tailrace.cli.options import Context

if TYPE_CHECKING:
    from tailrace.cli.metrics import Metrics

LOOPBACK = "127.0.0.1"
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class MetricsOptions:
    """Where metrics go, if anywhere."""

    file: str | None
    port: int | None
    host: str

    @contextmanager
    def opened(self, context: Context) -> Iterator[Metrics | None]:
        """Metrics for as long as the command runs; None where nobody asked for them."""
        if self.file is None and self.port is None:
            yield None
            return
        from tailrace.cli.metrics import Metrics
        from tailrace.cli.metrics_file import MetricsFile
        from tailrace.cli.metrics_server import metrics_server

        metrics = Metrics(None if self.file is None else MetricsFile(Path(self.file).expanduser().absolute()))
        with ExitStack() as stack:
            if self.port is not None:
                address = stack.enter_context(metrics_server(self.host, self.port, metrics.text))
                if not context.quiet:
                    click.echo(f"metrics at {address}", err=True)
            yield metrics


def metrics_options(function: F) -> F:
    """Adds the options; the command gets them as `metrics`."""

    @functools.wraps(function)
    def with_metrics(
        *args: Any, metrics_file: str | None, metrics_port: int | None, metrics_host: str, **kwargs: Any
    ) -> Any:
        return function(*args, metrics=MetricsOptions(metrics_file, metrics_port, metrics_host), **kwargs)

    options = (
        click.option("--metrics-file", metavar="PATH", type=click.Path(), help="Keep Prometheus metrics in this file."),
        click.option("--metrics-port", metavar="N", type=click.IntRange(0, 65535), help="Serve them at /metrics."),
        click.option("--metrics-host", metavar="HOST", default=LOOPBACK, help="Address to serve them on."),
    )
    for option in reversed(options):
        with_metrics = option(with_metrics)
    return with_metrics  # type: ignore[return-value]
