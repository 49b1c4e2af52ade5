"""Syslog: one row per message."""

from tailrace.core import Common, Syslog, Table, col

SEVERITIES = "['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug']"
FACILITIES = (
    "['kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'cron', 'authpriv', 'ftp', 'ntp',"
    " 'security', 'console', 'solaris-cron', 'local0', 'local1', 'local2', 'local3', 'local4', 'local5', 'local6',"
    " 'local7']"
)
# Writers without a priority may write the level as a word, short or long.
LEVELS = "when 'error' then 'err' when 'warn' then 'warning' when 'panic' then 'emerg'"
WORD = f"case lower(level) {LEVELS} else lower(level) end"

TABLE = Table(
    name="syslog",
    doc="Messages of systems and services, RFC 3164 and 5424.",
    format=Syslog(),
    columns=(
        col("timestamp", "timestamp", doc="When it was written; without a zone taken as UTC, without a year guessed."),
        col("hostname", doc="Who sent it: name or address."),
        col("app_name", doc="Program that wrote it."),
        col("proc_id", doc="Process that wrote it, mostly a number."),
        col("message", doc="The message."),
        col(
            "severity",
            sql=f"coalesce({SEVERITIES}[priority::integer % 8 + 1], {WORD})",
            doc="emerg, alert, crit, err, warning, notice, info or debug.",
        ),
        col(
            "facility",
            sql=f"coalesce({FACILITIES}[priority::integer // 8 + 1], facility_name)",
            doc="kern, user, mail, auth, local0 …",
        ),
        col("priority", "integer", doc="Facility times eight plus severity."),
        col("version", "tinyint", doc="Version of the protocol, 1; RFC 5424 only."),
        col("msg_id", doc="Kind of message; RFC 5424 only."),
        col("structured_data", "json", doc="Parameters by element: `{id: {name: value}}`; RFC 5424 only."),
    ),
    common=Common(time=("timestamp",), ips=("hostname",), akas=("hostname",)),
)
