"""Events after Segment's specification, as Segment, RudderStack, Jitsu and others write them: one row per call."""

from tailrace.core import Common, Json, Sql, Table, col, struct

PAGE = struct(
    col("url"),
    col("path"),
    col("title"),
    col("referrer"),
    col("search"),
    col("referring_domain", src="referring_domain"),
)
CONTEXT = struct(
    col("ip", doc="Address of the client."),
    col("user_agent", doc="What the client says it is."),
    col("locale"),
    col("timezone"),
    col("group_id"),
    col("page", PAGE, doc="Page that it happened on."),
    col("library", struct(col("name"), col("version")), doc="Library that sent it."),
    col("campaign", "json"),
    col("app", "json"),
    col("device", "json"),
    col("os", "json"),
    col("screen", "json"),
    col("network", "json"),
    col("location", "json"),
    col("referrer", "json"),
    col("traits", "json", doc="Traits of the user, where the call is none of identify."),
    col("session_id"),
)
MAILS = """list_filter(
  [traits ->> 'email', context.traits ->> 'email', properties ->> 'email', user_id], lambda m: contains(m, '@'))"""

TABLE = Table(
    name="segment_event",
    doc="What users did on sites and in apps: track, page, screen, identify, group and alias calls.",
    format=Json(keys="camel", unwrap=("batch", "message")),
    columns=(
        col("timestamp", "timestamp", time="epoch", doc="When it happened, UTC, by the server's clock."),
        col("original_timestamp", "timestamp", time="epoch", doc="When it happened by the client's clock."),
        col("sent_at", "timestamp", time="epoch", doc="When the client sent it, by its own clock."),
        col("received_at", "timestamp", time="epoch", doc="When the server received it, UTC."),
        col("message_id", unique=True, doc="Id of the call."),
        col("type", doc="track, page, screen, identify, group or alias."),
        col("event", doc="What was done, in track calls."),
        col("name", doc="Name of the page or screen."),
        col("category", doc="Category of the page or screen."),
        col("user_id", doc="Who did it."),
        col("anonymous_id", doc="The same before it is known who that is."),
        col("previous_id", doc="Former id, in alias calls."),
        col("group_id", doc="Company or team, in group calls."),
        col("properties", "json", doc="What the event tells."),
        col("traits", "json", doc="What is known of the user or group."),
        col("context", CONTEXT, doc="Where and how it happened."),
        col("integrations", "json", doc="Where it may go."),
        col("channel", doc="browser, server, mobile …"),
        col("write_key", doc="Source that it was sent to."),
        col("project_id", doc="Project of the source."),
        col("request_ip", src="request_ip", doc="Address that the server saw."),
        col("version", doc="Version of the message's own format."),
    ),
    common=Common(
        time=("timestamp", "original_timestamp", "received_at", "sent_at"),
        source_ip="context.ip",
        ips=("context.ip", "request_ip"),
        domains=("context.page.referring_domain",),
        emails=(Sql(MAILS),),
        usernames=("user_id",),
    ),
)
