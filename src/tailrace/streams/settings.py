"""`listener` and `sink` blocks → what listeners and sinks are told."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tailrace.config import Config, Reference
from tailrace.config.declare_live import LISTENERS, SINKS
from tailrace.config.functions import duration, size
from tailrace.config.live import live_partition
from tailrace.config.model import OtherBlock
from tailrace.config.tables import tables_for
from tailrace.core import ConfigError, Format, Json, Jsonl, Syslog
from tailrace.formats.again import framing
from tailrace.streams.addresses import Proxies
from tailrace.streams.api_keys import WORKSPACES
from tailrace.streams.kinds import LOGS
from tailrace.streams.lake_sink import LakeOptions
from tailrace.streams.otap_sink import OtapOptions
from tailrace.streams.pull_settings import named_by, pull_id, scheduled, sinks_of
from tailrace.streams.sink_options import CODECS, SinkOptions
from tailrace.streams.transform_blocks import transforms
from tailrace.streams.transforms import Chains, Transform

_TIMEOUT = 30.0
_PORTS = 65535


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

    @property
    def proxies(self) -> Proxies:
        """Who is believed to say for whom it speaks."""
        return Proxies(self.args.get("trusted_proxies") or ())


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
    of_listeners = _of_listeners(config)
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
    found = []
    for block in config.of("sink"):
        if block.type != "otap" or not block.args.get("enabled", True):
            continue
        takes = _takes(block, config, known)
        values = _values(block, SINKS["otap"].attributes)
        path = directory / Path(str(values["path"])).expanduser()
        found.append(OtapOptions(
            block.name, path, CODECS[str(values["compression"])], values["flush_interval"],
            bool(values["metrics_enabled"]), values["metrics_interval"], takes, values["retention"],
            Chains(transforms(block), _of_listeners(config)),
        ))  # fmt: skip
    return found


def lake_sinks(config: Config, directory: Path) -> list[LakeOptions]:
    """Sinks of the lake that are in use; in `directory` they note how far they are."""
    known = [f"{b.type}.{b.name}" for b in config.of("listener")]
    found: dict[str, LakeOptions] = {}
    for block in config.of("sink"):
        if block.type != "lake" or not block.args.get("enabled", True):
            continue
        takes = _takes(block, config, known)
        values = _values(block, SINKS["lake"].attributes)
        partition = live_partition(config, block)
        chains = Chains(transforms(block), _of_listeners(config))
        _check_readable(block, config, partition.table, chains, known if takes is None else takes)
        if (other := found.get(partition.full_name)) is not None:
            message = f"sinks {other.name} and {block.name} fill the same partition {partition.full_name}"
            hint = "give one another 'partition', or let one take the listeners of both"
            raise ConfigError(message, code="serve.same-partition", where=str(block.where), hint=hint)
        found[partition.full_name] = LakeOptions(
            block.name, partition, directory / block.name, _format(config, values["format"]),
            frozenset(values["kinds"]), values["flush_interval"], bool(values["metrics_enabled"]),
            values["metrics_interval"], takes, chains, values["max_lateness"],
        )  # fmt: skip
    return [*found.values()]


def _check_readable(block: OtherBlock, config: Config, table: str, chains: Chains, listeners: Iterable[str]) -> None:
    """Rows that transforms have looked at have the columns of their kind: a format of lines finds no line in them."""
    changed = [one for one in listeners if chains.of(one)]
    own = tables_for(config, table).format
    lines = framing(own) is not None and not isinstance(own, Json | Jsonl | Syslog)
    if changed and (block.args.get("format") or (lines and any(one.startswith("syslog.") for one in changed))):
        message = "a format reads what was sent, and transforms give decoded rows"
        hint = "use 'filter' in place of transforms, or name other listeners"
        raise ConfigError(message, code="serve.transform-format", where=str(block.where), hint=hint)


def _of_listeners(config: Config) -> dict[str, tuple[Transform, ...]]:
    return {f"{block.type}.{block.name}": chain for block in config.of("listener") if (chain := transforms(block))}


def takes(sink: SinkOptions | OtapOptions | LakeOptions, listener: ListenerOptions) -> bool:
    """May anything that a listener accepts come into that sink?"""
    if sink.listeners is not None and listener.id not in sink.listeners:
        return False
    if isinstance(sink, OtapOptions):
        return listener.type == "otlp"
    if isinstance(sink, LakeOptions):
        return LOGS in sink.kinds or listener.type in ("http", "tcp")
    return True


def _format(config: Config, reference: object) -> Format | None:
    if not isinstance(reference, Reference):
        return None
    return next(spec.format for spec in config.formats if ("format", spec.type, spec.name) == reference.path)


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
    _check(block, values, port)
    return ListenerOptions(block.type, block.name, host, port, keys, int(values.pop("workspace_id", 0) or 0), values)


def _check(block: OtherBlock, values: Mapping[str, Any], port: int) -> None:
    """What would otherwise be found out when clients come, or not at all."""
    if not 0 <= port <= _PORTS:
        raise _wrong(block, f"{port} is no port", f"write a number up to {_PORTS}")
    if (values.get("tls_cert") is None) != (values.get("tls_key") is None):
        raise _wrong(block, "'tls_cert' and 'tls_key' belong together", "give both, or none: it would not encrypt")
    workspace = values.get("workspace_id", 1)
    if not 0 < workspace < WORKSPACES or workspace != int(workspace):
        raise _wrong(block, f"{workspace:g} is no workspace", f"write a number from 1 to {WORKSPACES - 1}")
    for text in values.get("trusted_proxies") or ():
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise _wrong(block, f"'trusted_proxies': {error}", 'write networks such as "10.0.0.0/8"') from None


def _wrong(block: OtherBlock, message: str, hint: str) -> ConfigError:
    return ConfigError(message, code="serve.listener", where=str(block.where), hint=hint)


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
