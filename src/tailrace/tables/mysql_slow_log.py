"""MySQL, MariaDB and Percona slow query log: one row per statement."""

from tailrace.core import Common, Regex, Table, col

# What the server writes as it starts, and times that the next statement shares with those after it.
BETWEEN = r"# Time: [^\n]*|[^\n]*, Version: [^\n]*started with:|Tcp port: [^\n]*|Time\s+Id Command\s+Argument"
RECORD = (
    r"^(?:# Time: (?<time>[^\n]*)\n)?"
    r"# User@Host: (?<user_name>[^\[\n]*)\[(?<current_user>[^\]]*)\] @ (?<host>\S*) \[(?<client_ip>[^\]]*)\]"
    r"(?:\s+Id:\s*(?<thread_id>\d+))?[^\n]*(?:\n(?<details>#[^\n]*(?:\n#[^\n]*)*))?"
    r"(?:\nuse (?<database_name>[^;\n]+);)?"
    rf"(?:\nSET timestamp=(?<set_timestamp>[0-9.]+);)?(?:\n(?<statement>.*?))?(?:\n(?:{BETWEEN}))*\s*$"
)


def told(name: str, value: str = r"([0-9.]+)") -> str:
    """A figure of the comment lines: `# Query_time: 2.47  Lock_time: 0.0`."""
    return rf"nullif(regexp_extract(details, '{name}: *{value}', 1), '')"


# Servers of old pad the hour with a blank.
OLD_TIME = "try_strptime(replace(time, '  ', ' 0'), '%y%m%d %H:%M:%S')"
TOLD_TIME = f"coalesce(time, {told('Start', '([0-9T:.Z+-]+)')})"

TABLE = Table(
    name="mysql_slow_log",
    doc="Statements that took long on MySQL, MariaDB and Percona servers.",
    format=Regex(RECORD, start="^# User@Host: ", lead="^# Time: ", skip=rf"^(?:{BETWEEN})$"),
    columns=(
        col("timestamp", "timestamp", "set_timestamp", "When the statement began, UTC.", time="epoch_s"),
        col(
            "logged_at",
            "timestamp",
            sql=f"case when time[7] = ' ' then {OLD_TIME} else try_cast({TOLD_TIME} as timestamptz) end",
            doc="When it was written to the log, or began; without a zone taken as UTC.",
        ),
        col("user_name", null_if="", doc="User who signed in."),
        col("current_user", null_if="", doc="User whose rights hold."),
        col("host", null_if="", doc="Host of the client."),
        col("client_ip", null_if="", doc="Address of the client."),
        col("thread_id", "bigint", sql=f"coalesce(thread_id, {told('Thread_id')})", doc="Connection."),
        col(
            "database_name",
            sql=r"coalesce(database_name, nullif(regexp_extract(details, 'Schema: ([^ \n]+)', 1), ''))",
            doc="Database that was in use.",
        ),
        col("query_time", "double", sql=told("Query_time"), doc="Seconds that the statement took."),
        col("lock_time", "double", sql=told("Lock_time"), doc="Seconds spent waiting for locks."),
        col("rows_sent", "bigint", sql=told("Rows_sent"), doc="Rows sent to the client."),
        col("rows_examined", "bigint", sql=told("Rows_examined"), doc="Rows looked at."),
        col("rows_affected", "bigint", sql=told("Rows_affected"), doc="Rows changed."),
        col("bytes_sent", "bigint", sql=told("Bytes_sent"), doc="Bytes sent to the client."),
        col("full_scan", "boolean", sql=told("Full_scan", "(Yes|No)"), doc="Whether a table was read as a whole."),
        col("full_join", "boolean", sql=told("Full_join", "(Yes|No)"), doc="Whether tables were joined without index."),
        col("tmp_table", "boolean", sql=told("Tmp_table", "(Yes|No)"), doc="Whether a temporary table was made."),
        col("filesort", "boolean", sql=told("Filesort", "(Yes|No)"), doc="Whether rows were sorted in a file."),
        col("killed", "integer", sql=told("Killed"), doc="Error with which it was stopped; 0 if it was not."),
        col("last_errno", "integer", sql=told("Last_errno"), doc="Error of the statement; 0 if there was none."),
        col("statement", null_if="", doc="The statement."),
        col("details", doc="The comment lines before the statement."),
    ),
    common=Common(
        time=("timestamp", "logged_at"),
        source_ip="client_ip",
        ips=("client_ip",),
        akas=("database_name",),
        usernames=("user_name",),
    ),
)
