"""`listener` and `sink` blocks → what listeners and sinks are told."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.config import Config, Reference
from tailrace.config.declare_live import LISTENERS, SINKS
from tailrace.config.functions import duration, size
from tailrace.config.live import live_partition
from tailrace.config.model import OtherBlock
from tailrace.core import ConfigError, Format
from tailrace.streams.lake_sink import LakeOptions
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.pull_settings import named_by, pull_id, scheduled, sinks_of
from tailrace.streams.sink_options import CODECS, SinkOptions
from tailrace.streams.transform_blocks import transforms
from tailrace.streams.transforms import Transform

_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class ListenerOptions:
    """A `listener` block, with what holds by default."""

    type: str
    name: str
    host: str
    port: int
    api_keys_file: Path | None = None
    workspace: int = 0
    args: Mapping[str, Any] = field(default_factory=dict)
    "Sizes in bytes, durations in seconds, everything else as declared."

    @property
    def id(self) -> str:
        """As records of the spool name it."""
        return f"{self.type}.{self.name}"


def timeout_of(options: ListenerOptions) -> float:
    """Seconds for headers, and again for a body."""
    given = options.args.get("request_timeout")
    return float(given.total_seconds()) if given else _TIMEOUT


def tls(options: ListenerOptions) -> ssl.SSLContext | None:
    """What a listener shows to those who connect; None = it does not encrypt."""
    certificate, key = options.args.get("tls_cert"), options.args.get("tls_key")
    if not certificate:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"cannot use the certificate: {error}", code="serve.tls", where=options.id) from None
    return context


def listeners(config: Config) -> list[ListenerOptions]:
    """Those that are in use."""
    found = [_listener(block) for block in config.of("listener") if block.args.get("enabled", True)]
    places: dict[tuple[str, int, bool], ListenerOptions] = {}
    for one in found:
        udp = one.args.get("protocol") == "udp"
        other = places.setdefault((one.host, one.port, udp), one)
        if other is not one and one.port:
            raise ConfigError(
                f"listeners {other.id} and {one.id} both want port {one.port}",
                code="serve.port",
                hint="give one another port",
            )
    return found


def sinks(config: Config, directory: Path) -> list[SinkOptions]:
    """Parquet sinks that are in use; a relative path counts from `directory`."""
    known = [f"{b.type}.{b.name}" for b in config.of("listener")]
    of_listeners = {
        f"{block.type}.{block.name}": chain for block in config.of("listener") if (chain := transforms(block))
    }
    found = []
    for block in config.of("sink"):
        if not block.args.get("enabled", True) or block.type != "parquet":
            continue
        found.append(_sink(block, directory, _takes(block, config, known), of_listeners))
    paths: dict[Path, str] = {}
    for options in found:
        other = paths.setdefault(options.path, options.name)
        if other != options.name:
            raise ConfigError(f"sinks {other} and {options.name} have the same path", code="serve.path")
    return found


def otap_sinks(config: Config, directory: Path) -> list[OtapOptions]:
    """Sinks of OTAP tables that are in use."""
    known = [f"{b.type}.{b.name}" for b in config.of("listener")]
    changing = {f"{block.type}.{block.name}" for block in config.of("listener") if block.blocks}
    found = []
    for block in config.of("sink"):
        if block.type != "otap" or not block.args.get("enabled", True):
            continue
        takes = _takes(block, config, known)
        if block.blocks or changing & set(known if takes is None else takes):
            raise _not_yet("a transform before OTAP tables", block, "take it out, or name other listeners")
        values = _values(block, SINKS["otap"].attributes)
        path = directory / Path(str(values["path"])).expanduser()
        found.append(OtapOptions(
            block.name, path, CODECS[str(values["compression"])], values["flush_interval"],
            bool(values["metrics_enabled"]), values["metrics_interval"], takes, values["retention"],
        ))  # fmt: skip
    return found


def lake_sinks(config: Config, directory: Path) -> list[LakeOptions]:
    """Sinks of the lake that are in use; in `directory` they note how far they are."""
    known = [f"{b.type}.{b.name}" for b in config.of("listener")]
    changing = {f"{block.type}.{block.name}" for block in config.of("listener") if block.blocks}
    found: dict[str, LakeOptions] = {}
    for block in config.of("sink"):
        if block.type != "lake" or not block.args.get("enabled", True):
            continue
        takes = _takes(block, config, known)
        if block.blocks or changing & set(known if takes is None else takes):
            raise _not_yet("a transform before a table of the lake", block, "use 'filter', or name other listeners")
        values = _values(block, SINKS["lake"].attributes)
        partition = live_partition(config, block)
        if (other := found.get(partition.full_name)) is not None:
            message = f"sinks {other.name} and {block.name} fill the same partition {partition.full_name}"
            hint = "give one another 'partition', or let one take the listeners of both"
            raise ConfigError(message, code="serve.same-partition", where=str(block.where), hint=hint)
        found[partition.full_name] = LakeOptions(
            block.name, partition, directory / block.name, _format(config, values["format"]),
            frozenset(values["kinds"]), values["flush_interval"], bool(values["metrics_enabled"]),
            values["metrics_interval"], takes,
        )  # fmt: skip
    return [*found.values()]


def _format(config: Config, reference: object) -> Format | None:
    if not isinstance(reference, Reference):
        return None
    return next(spec.format for spec in config.formats if ("format", spec.type, spec.name) == reference.path)


def _not_yet(what: str, block: OtherBlock, hint: str) -> ConfigError:
    return ConfigError(f"{what} cannot be served yet", code="serve.not-yet", where=str(block.where), hint=hint)


def _takes(block: OtherBlock, config: Config, known: Sequence[str]) -> frozenset[str] | None:
    """Listeners whose rows a sink takes: those it names, and not those that name other sinks only."""
    named = block.args.get("listeners")
    chosen = named_by(named) if named else set(known)
    elsewhere = False
    for listener in config.of("listener"):
        named_sinks = sinks_of(listener)
        if named_sinks and f"{block.type}.{block.name}" not in named_sinks:
            chosen.discard(f"{listener.type}.{listener.name}")
            elsewhere = True
    for source in scheduled(config):
        if f"{block.type}.{block.name}" in sinks_of(source):
            chosen.add(pull_id(source))
        else:
            elsewhere = True
    return frozenset(chosen) if named or elsewhere else None


def _values(block: OtherBlock, declared: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, attr in declared.items():
        given = block.args.get(name, attr.default)
        if given is not None and attr.kind == "duration":
            given = duration(str(given))
        elif given is not None and attr.kind == "size":
            given = size(str(given))
        values[name] = given
    return values


def _listener(block: OtherBlock) -> ListenerOptions:
    values = _values(block, LISTENERS[block.type].attributes)
    file = values.pop("api_keys_file", None)
    keys = Path(str(file)).expanduser() if file else None
    if keys is None and block.type in ("http", "tcp"):
        raise ConfigError(
            f"listener {block.name} needs 'api_keys_file'", code="serve.keys", where=str(block.where),
            hint="name a file of `key:workspace:name` lines",
        )  # fmt: skip
    port, host = int(values.pop("port")), str(values.pop("host"))
    return ListenerOptions(block.type, block.name, host, port, keys, int(values.pop("workspace_id", 0) or 0), values)


def _sink(
    block: OtherBlock,
    directory: Path,
    takes: frozenset[str] | None,
    of_listeners: Mapping[str, tuple[Transform, ...]],
) -> SinkOptions:
    values = _values(block, SINKS["parquet"].attributes)
    for name in ("enabled", "description"):
        values.pop(name)
    path = directory / Path(str(values.pop("path"))).expanduser()
    values["row_group_size"] = int(values["row_group_size"])
    return SinkOptions(
        block.name, Path(str(path)), listeners=takes, transforms=transforms(block), of_listeners=of_listeners, **values
    )
