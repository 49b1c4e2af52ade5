"""Okta's system log: one row per event."""

from tailrace.core import Common, Json, Sql, Table, col, struct

OTHERS = col("additional_properties", "json", src="*", doc="Fields that Okta added since.")
GEOGRAPHY = struct(
    col("city"),
    col("state"),
    col("country"),
    col("postal_code"),
    col("geolocation", struct(col("lat", "double"), col("lon", "double"))),
)
CHAIN = "json_extract_string(request.ip_chain, '$[*].ip')"
TARGETS = "list_concat([actor.alternate_id], json_extract_string(target, '$[*].alternateId'))"

TABLE = Table(
    name="okta_system_log",
    doc="Logins, and changes to users, groups, applications and policies in Okta.",
    format=Json(keys="camel", unwrap=("detail", "data.events", "events")),
    columns=(
        col("published", "timestamp", doc="When it happened, UTC."),
        col("uuid", unique=True, doc="Id of the event."),
        col("event_type", doc="What happened, such as user.session.start."),
        col("legacy_event_type", doc="The same in the words of the former events API."),
        col("display_message", doc="The event in a sentence."),
        col("severity", doc="DEBUG, INFO, WARN or ERROR."),
        col("version", doc="Version of the event's own format."),
        col("sub_domain", doc="Okta organization that the event belongs to."),
        col(
            "actor",
            struct(
                col("id"),
                col("type", doc="User, SystemPrincipal, PublicClientApp …"),
                col("alternate_id", doc="Login, mostly a mail address."),
                col("display_name"),
                col("detail_entry", "json"),
                OTHERS,
            ),
            doc="Who did it.",
        ),
        col(
            "client",
            struct(
                col("id"),
                col("ip_address", doc="Address of the client."),
                col("device", doc="Computer, Mobile …"),
                col("zone", doc="Network zone of the address."),
                col("user_agent", struct(col("raw_user_agent"), col("os"), col("browser"))),
                col("geographical_context", GEOGRAPHY),
            ),
            doc="From where it was done.",
        ),
        col("outcome", struct(col("result", doc="SUCCESS, FAILURE, DENY …"), col("reason")), doc="What came of it."),
        col("target", "json", doc="Users, groups and applications that it was done to."),
        col(
            "authentication_context",
            struct(
                col("authentication_provider"),
                col("authentication_step", "integer"),
                col("credential_provider"),
                col("credential_type"),
                col("external_session_id", doc="Session that the event belongs to."),
                col("interface"),
                col("issuer", struct(col("id"), col("type"), OTHERS)),
                OTHERS,
            ),
            doc="How the actor was authenticated.",
        ),
        col(
            "security_context",
            struct(
                col("as_number", "integer", doc="Autonomous system of the address."),
                col("as_org"),
                col("isp"),
                col("domain"),
                col("is_proxy", "boolean"),
            ),
            doc="What Okta knows of the address.",
        ),
        col("request", struct(col("ip_chain", "json", doc="Addresses on the way.")), doc="The request."),
        col("transaction", struct(col("id"), col("type"), col("detail", "json")), doc="Transaction it belongs to."),
        col("debug_context", struct(col("debug_data", "json")), doc="What else is known, by kind of event."),
        OTHERS,
    ),
    common=Common(
        time=("published",),
        source_ip="client.ip_address",
        ips=("client.ip_address", Sql(CHAIN)),
        domains=("security_context.domain",),
        emails=(Sql(f"list_filter({TARGETS}, lambda name: contains(name, '@'))"),),
        usernames=("actor.display_name", "actor.id", "actor.alternate_id"),
    ),
)
