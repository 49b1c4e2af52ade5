"""OpenTelemetry logs: one row per log record, with its resource and scope."""

from tailrace.core import Common, Otlp, Sql, Table, col

ADDRESSES = ("client.address", "source.address", "destination.address", "network.peer.address", "net.peer.ip")
USERS = ("user.name", "enduser.id")


def _among_attributes(*names: str) -> Sql:
    pointers = ", ".join(f"'$.\"{name}\"'" for name in names)
    return Sql(f"json_extract_string(attributes, [{pointers}])")


TABLE = Table(
    name="otlp_log",
    doc="Log records of OpenTelemetry, from JSON, JSON lines or protobuf files.",
    format=Otlp(),
    columns=(
        col("time", "timestamp", "time_unix_nano", time="epoch_ns", doc="When the event happened, UTC."),
        col(
            "observed_time",
            "timestamp",
            "observed_time_unix_nano",
            time="epoch_ns",
            doc="When the collection system saw it, UTC.",
        ),
        col("time_unix_nano", "bigint", doc="When the event happened, in nanoseconds since 1970."),
        col("observed_time_unix_nano", "bigint", doc="When it was seen, in nanoseconds since 1970."),
        col("severity_number", "integer", doc="1–4 trace, 5–8 debug, 9–12 info, 13–16 warn, 17–20 error, 21–24 fatal."),
        col("severity_text", doc="Severity as the source calls it."),
        col("body", doc="The message: its text, or JSON where it is an object, a list or a number."),
        col("event_name", doc="Name of the kind of event; what has one is an event."),
        col("attributes", "json", doc="Attributes of the record: an object."),
        col("dropped_attributes_count", "bigint", doc="Attributes that were left out by a limit."),
        col("trace_id", doc="Trace that the record belongs to, in hexadecimal."),
        col("span_id", doc="Span that the record belongs to, in hexadecimal."),
        col("flags", "bigint", doc="Bits 0–7 are the flags of the trace: 1 = sampled."),
        col("service_name", doc="The resource's attribute `service.name`."),
        col("service_namespace", doc="The resource's attribute `service.namespace`."),
        col("service_instance_id", doc="The resource's attribute `service.instance.id`."),
        col("host_name", doc="The resource's attribute `host.name`."),
        col("resource_attributes", "json", doc="Attributes of what sent the record: an object."),
        col("resource_dropped_attributes_count", "bigint", doc="Attributes of the resource that were left out."),
        col("resource_schema_url", doc="Schema of the resource's attributes."),
        col("scope_name", doc="Instrumentation scope, mostly the name of a logger or library."),
        col("scope_version", doc="Version of the scope."),
        col("scope_attributes", "json", doc="Attributes of the scope: an object."),
        col("scope_dropped_attributes_count", "bigint", doc="Attributes of the scope that were left out."),
        col("scope_schema_url", doc="Schema of the scope's and the record's attributes."),
    ),
    common=Common(
        time=("time", "observed_time"),
        ips=(_among_attributes(*ADDRESSES),),
        akas=("service_name",),
        domains=("host_name",),
        usernames=(_among_attributes(*USERS),),
    ),
)
