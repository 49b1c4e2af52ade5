"""ArcSight's Common Event Format, with or without a syslog header: one row per event."""

from tailrace.core import Common, Pairs, Preset, Table, col

SPELLED = (
    "%b %d %Y %H:%M:%S.%f",
    "%b %d %Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
    "%b-%d-%Y %H:%M:%S",
    "%b %d %H:%M:%S.%f %Y",
    "%Y/%m/%d %H:%M:%S",
)


def moment(field: str) -> str:
    """Milliseconds or seconds since 1970, or a date in words; the name of a zone at its end is not looked at."""
    number = f"try_cast({field} as double)"
    epoch = f"try(epoch_ms(cast(if(abs({number}) < 1e11, {number} * 1000, {number}) as bigint)))"
    text = f"regexp_replace({field}, ' [A-Z]{{3,4}}$', '')"
    shifted = rf"regexp_replace({field}, ' ?(?:GMT|UTC)?([+-]\d\d:?\d\d)$', ' \1')"
    zoned = f"try_strptime({shifted}, {[f'{pattern} %z' for pattern in SPELLED]}) at time zone 'UTC'"
    plain = f"try_strptime({text}, {list(SPELLED)})"
    return f"coalesce({epoch}, {plain}, {zoned}, try_cast(try_cast({text} as timestamptz) as timestamp))"


TIMES = ("rt", "start", '"end"', "syslog_time", "concat_ws(' ', date, time)")

TABLE = Table(
    name="cef",
    doc="Events of security devices in the Common Event Format.",
    format=Pairs("cef"),
    presets=(
        Preset("cef", Pairs("cef"), "The Common Event Format."),
        Preset("leef", Pairs("leef"), "QRadar's Log Event Extended Format, versions 1.0 and 2.0."),
    ),
    columns=(
        col(
            "timestamp",
            "timestamp",
            sql=f"coalesce({', '.join(map(moment, TIMES))})",
            doc="When the event was received by the device, began, ended or was sent: the first that is known.",
        ),
        col("device_receipt_time", "timestamp", sql=moment("rt"), doc="When the device received the event."),
        col("start_time", "timestamp", sql=moment("start"), doc="When the event began."),
        col("end_time", "timestamp", sql=moment('"end"'), doc="When the event ended."),
        col("version", doc="Version of the format."),
        col("device_vendor", doc="Who makes the device."),
        col("device_product", doc="The device."),
        col("device_version", doc="Version of the device."),
        col("device_event_class_id", doc="Kind of event, as the device numbers it."),
        col("name", doc="The event in words."),
        col("severity", doc="0 to 10, or Low, Medium, High, Very-High."),
        col("message", src="msg", doc="Details of the event."),
        col("device_action", src="act", doc="What the device did."),
        col("device_event_category", src="cat", doc="Category that the device gives the event."),
        col("event_outcome", src="outcome", doc="success or failure."),
        col("reason", doc="Why."),
        col("external_id", src="externalId", doc="Id that the device gave the event."),
        col("base_event_count", "bigint", "cnt", "How many times it was seen."),
        col("application_protocol", src="app", doc="HTTP, SSH …"),
        col("transport_protocol", src="proto", doc="TCP, UDP …"),
        col("source_address", src="src", doc="Address that the event came from."),
        col("source_host_name", src="shost", doc="Host that the event came from."),
        col("source_port", "integer", "spt", "Port that the event came from."),
        col("source_mac_address", src="smac", doc="Hardware address that the event came from."),
        col("source_user_id", src="suid", doc="Id of the user behind the event."),
        col("source_user_name", src="suser", doc="User behind the event."),
        col("source_process_name", src="sproc", doc="Process behind the event."),
        col("destination_address", src="dst", doc="Address that the event went to."),
        col("destination_host_name", src="dhost", doc="Host that the event went to."),
        col("destination_port", "integer", "dpt", "Port that the event went to."),
        col("destination_mac_address", src="dmac", doc="Hardware address that the event went to."),
        col("destination_user_id", src="duid", doc="Id of the user that the event concerns."),
        col("destination_user_name", src="duser", doc="User that the event concerns."),
        col("destination_process_name", src="dproc", doc="Process that the event concerns."),
        col("device_address", src="dvc", doc="Address of the device."),
        col("device_host_name", src="dvchost", doc="Name of the device."),
        col("bytes_in", "bigint", "in", "Bytes from the source."),
        col("bytes_out", "bigint", "out", "Bytes to the source."),
        col("request_url", src="request", doc="URL that was asked for."),
        col("request_method", src="requestMethod", doc="GET, POST …"),
        col("request_client_application", src="requestClientApplication", doc="What the client says it is."),
        col("file_name", src="fname", doc="The file."),
        col("file_path", src="filePath", doc="Path of the file."),
        col("file_hash", src="fileHash", doc="Hash of the file."),
        col("file_size", "bigint", "fsize", "Bytes of the file."),
    ),
    common=Common(
        time=("timestamp",),
        source_ip="source_address",
        destination_ip="destination_address",
        ips=("source_address", "destination_address", "device_address"),
        domains=("source_host_name", "destination_host_name"),
        akas=("device_host_name",),
        usernames=("source_user_name", "destination_user_name"),
    ),
)
