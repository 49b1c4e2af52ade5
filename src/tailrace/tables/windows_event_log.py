"""Windows event logs exported as JSON, by whichever tool: one row per event."""

from tailrace.core import Common, Json, Preset, Sql, Table, Xml, col


def system(name: str, attribute: str = "") -> str:
    """A value of the event's System part; converters of XML spell attributes and texts in their own ways."""
    texts = [f"system ->> '$.{name}{end}'" for end in ('."#text"', ".Value", "")]
    if attribute:
        inside = (f'."#attributes".{attribute}', f'."@{attribute}"', f".{attribute}", f"_attributes.{attribute}")
        texts = [f"system ->> '$.{name}{end}'" for end in inside]
    return ", ".join(texts)


def told(*expressions: str) -> str:
    """The first of several places that holds anything."""
    return f"coalesce({', '.join(expressions)})"


def detail(name: str) -> str:
    """A named value of the event, which some exporters put beside the others."""
    return told(name, f"try(EventData::json) ->> '{name}'", f"winlog ->> '$.event_data.{name}'")


def moment(text: str) -> str:
    """A time with any offset, as PowerShell writes it, or in seconds since 1970, as UTC."""
    ticks = f"nullif(regexp_extract({text}, '^/Date\\((-?[0-9]+)\\)/$', 1), '')"
    seconds = f"try(make_timestamp(cast(try_cast({text} as double) * 1e6 as bigint)))"
    joined = rf"regexp_replace({text}, ' ([+-]\d\d:?\d\d)$', '\1')"
    written = f"try_cast({joined} as timestamptz) at time zone 'UTC'"
    return f"coalesce(make_timestamp_ms({ticks}::bigint), {written}, {seconds})"


CREATED = system("TimeCreated", "SystemTime")
STARTED = "winlog ->> 'time_created'"
TIME = told("EventTime", "SystemTime", CREATED, "TimeCreated", "TimeGenerated", STARTED, '"@timestamp"')
# NXLog may write the time of its machine without a zone, and when it received the event by the same clock. Where
# Logstash says beside it when that was in UTC, the difference, in quarters of an hour, is the zone.
UNZONED = "EventTime similar to '[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+'"
ASIDE = """epoch(try_cast("@timestamp" as timestamptz) at time zone 'UTC')
  - epoch(try_cast(additional_fields ->> 'EventReceivedTime' as timestamp))"""
QUARTERS = f"round(({ASIDE}) / 900)"
IS_ZONE = f"abs({QUARTERS}) <= 56 and abs({ASIDE} - {QUARTERS} * 900) < 120"
SHIFTED = f"""case when "@timestamp" is not null and {UNZONED} and {IS_ZONE}
  then try_cast(EventTime as timestamp) + to_seconds({QUARTERS} * 900) end"""
RECORD_IDS, PROCESS_IDS = ("EventRecordID", "EventRecordId", "RecordNumber", "RecordId"), ("ProcessID", "ProcessId")
PROVIDER = "winlog ->> 'provider_name'"
EVENT_DATA = "coalesce(try(EventData::json), winlog -> 'event_data')"

TABLE = Table(
    name="windows_event_log",
    doc="Events of Windows and its applications: logins, processes, services, policies and more.",
    format=Json(records="Events", unwrap=("Event", "_source", "records", "value")),
    presets=(Preset("xml", Xml("Event", "Data@Name"), "Events in XML, as Windows and wevtutil write them."),),
    columns=(
        col("time_created", "timestamp", sql=told(SHIFTED, moment(TIME)), doc="When it happened, UTC."),
        col(
            "event_id",
            "integer",
            sql=told("EventID", "EventId", system("EventID"), "winlog ->> 'event_id'", "Id"),
            doc="Kind of event, such as 4624 for a login.",
        ),
        col("channel", sql=told("Channel", system("Channel"), "winlog ->> 'channel'", "LogName"), doc="Security, …"),
        col(
            "provider_name",
            sql=told("SourceName", "ProviderName", "Provider", system("Provider", "Name"), PROVIDER),
            doc="What wrote the event.",
        ),
        col(
            "computer",
            sql=told("Hostname", "Computer", system("Computer"), "winlog ->> 'computer_name'", "MachineName"),
            doc="Machine that the event happened on.",
        ),
        col(
            "level",
            sql=told("LevelDisplayName", "Severity", "winlog ->> 'level'", "Level", system("Level")),
            doc="Error, Warning, Information …, or its number.",
        ),
        col(
            "record_id",
            "bigint",
            sql=told(*RECORD_IDS, system("EventRecordID"), "winlog ->> 'record_id'"),
            doc="Number of the event in its channel.",
        ),
        col(
            "process_id",
            "bigint",
            sql=told(
                "ExecutionProcessID", system("Execution", "ProcessID"), "winlog ->> '$.process.pid'", *PROCESS_IDS
            ),
            doc="Process that wrote the event.",
        ),
        col(
            "user_sid",
            sql=told("UserID", system("Security", "UserID"), "winlog ->> '$.user.identifier'"),
            doc="Security identifier that the event was written under.",
        ),
        col("task", sql=told("Task", system("Task"), "winlog ->> 'task'"), doc="Task of the provider."),
        col("opcode", sql=told("Opcode", system("Opcode"), "winlog ->> 'opcode'"), doc="Step of the task."),
        col("keywords", sql=told("Keywords", system("Keywords"), "winlog ->> 'keywords'"), doc="Audit Success, …"),
        col("message", sql=told("Message", "message", "RenderingInfo::json ->> 'Message'"), doc="The event in words."),
        col("subject_user_name", sql=detail("SubjectUserName"), doc="Account that asked for it."),
        col("subject_domain_name", sql=detail("SubjectDomainName"), doc="Domain of that account."),
        col("target_user_name", sql=detail("TargetUserName"), doc="Account that it is about."),
        col("target_domain_name", sql=detail("TargetDomainName"), doc="Domain of that account."),
        col("logon_type", "integer", sql=detail("LogonType"), doc="2 at the console, 3 network, 10 remote desktop …"),
        col("ip_address", sql=f"nullif({detail('IpAddress')}, '-')", doc="Address that a login came from."),
        col("workstation_name", sql=detail("WorkstationName"), doc="Machine that a login came from."),
        col("process_name", sql=told(detail("NewProcessName"), detail("Image")), doc="Program that was started."),
        col("command_line", sql=detail("CommandLine"), doc="How it was started."),
        col("event_data", "json", sql=EVENT_DATA, doc="All values of the event by name."),
        col("user_data", "json", src="UserData", doc="The same, of events that have a schema of their own."),
        col("system", "json", src="System", doc="The event's head as XML has it."),
        col("winlog", "json", doc="The event as Winlogbeat tells it."),
        col("version", "integer", src="Version", doc="Version of the event's own format."),
        col("additional_fields", "json", src="*", doc="Everything else that the exporter wrote."),
    ),
    common=Common(
        time=("time_created",),
        source_ip="ip_address",
        ips=("ip_address",),
        akas=("computer",),
        usernames=(Sql("list_filter([subject_user_name, target_user_name], lambda name: name <> '-')"),),
    ),
)
