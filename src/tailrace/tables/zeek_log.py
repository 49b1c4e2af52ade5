"""Any of Zeek's logs, as tab-separated text or JSON: one row per entry."""

from dataclasses import replace

from tailrace.core import Common, Table, Zeek, col

TABLE = Table(
    name="zeek_log",
    doc="Entries of any of Zeek's logs, together in one table.",
    format=Zeek(),
    columns=(
        col("ts", "timestamp", time="epoch_s", doc="When it happened, UTC."),
        col("path", src="_path", doc="Name of the log: conn, dns, http, ssl …"),
        col("uid", doc="Id of the connection, the same in all of Zeek's logs."),
        col("id_orig_h", src="id.orig_h", doc="Address of the originator."),
        col("id_orig_p", "integer", "id.orig_p", "Port of the originator."),
        col("id_resp_h", src="id.resp_h", doc="Address of the responder."),
        col("id_resp_p", "integer", "id.resp_p", "Port of the responder."),
        col("proto", doc="tcp, udp or icmp."),
        col("host", doc="Host that was asked for, or that the entry is about."),
        col("query", doc="Name that was asked for."),
        col("server_name", doc="Name that the client asked TLS for."),
        col("user", doc="User name."),
    ),
    common=Common(
        time=("ts",),
        source_ip="id_orig_h",
        destination_ip="id_resp_h",
        ips=("id_orig_h", "id_resp_h"),
        akas=("uid",),
        domains=("query", "server_name", "host"),
        usernames=("user",),
    ),
)


def named(name: str) -> Table:
    """The table of one log, such as `zeek_dns`: its header, or its first records, say what other columns it has."""
    return replace(TABLE, name=name, doc=f"Entries of Zeek's {name.removeprefix('zeek_')}.log.", map_fields=("*",))
