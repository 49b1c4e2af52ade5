"""Kubernetes audit log, also as EKS and AKS deliver it: one row per stage of a request to the API server."""

from tailrace.core import Common, Json, Sql, Table, col, struct

USER = struct(
    col("username", doc="Name of the user or service account."),
    col("uid", doc="Id that stays when the name is given to somebody else."),
    col("groups", "varchar[]", doc="Groups the user is in."),
    col("extra", "json", doc="What else the authenticator tells."),
)
MAILS = "list_filter([user.username, impersonated_user.username], lambda name: contains(name, '@'))"

TABLE = Table(
    name="kubernetes_audit_log",
    doc="Requests to the Kubernetes API: who asked for what, and what came of it.",
    format=Json(
        records="items",
        keys="camel",
        # AKS (Event Hubs, storage, Log Analytics), EKS (CloudWatch subscription), and what log shippers make of lines.
        unwrap=("records", "properties.log", "log_s", "logEvents.message", "events.message", "log", "message"),
    ),
    columns=(
        col("request_received_timestamp", "timestamp", doc="When the request reached the API server, UTC."),
        col("stage_timestamp", "timestamp", doc="When the request reached this stage, UTC."),
        col("timestamp", "timestamp", doc="When the request reached the server, in events of version v1beta1."),
        col("audit_id", src="auditID", unique=True, doc="Id of the request, the same in all its stages."),
        col("level", doc="Metadata, Request or RequestResponse: how much the event tells."),
        col("stage", doc="RequestReceived, ResponseStarted, ResponseComplete or Panic."),
        col("verb", doc="get, list, watch, create, update, patch, delete …"),
        col("request_uri", src="requestURI", doc="Target of the request as sent by the client."),
        col("user", USER, doc="Who made the request."),
        col("impersonated_user", USER, doc="In whose name it was made, if not the user's own."),
        col("source_ips", "varchar[]", src="sourceIPs", doc="Addresses of the client and of proxies on the way."),
        col("source_ip", sql="source_ips[1]", doc="The first of them: the client as it was told."),
        col("user_agent", doc="What the client says it is."),
        col(
            "object_ref",
            struct(
                col("resource", doc="Kind of object, such as pods."),
                col("subresource", doc="Part of it, such as exec or log."),
                col("namespace"),
                col("name"),
                col("uid"),
                col("api_group"),
                col("api_version"),
                col("resource_version"),
            ),
            doc="The object that the request is about.",
        ),
        col(
            "response_status",
            struct(
                col("code", "integer", doc="HTTP status."),
                col("status", doc="Success or Failure."),
                col("reason", doc="Why it failed, in a word."),
                col("message"),
                col("details", "json"),
                col("metadata", "json"),
            ),
            doc="What came of the request.",
        ),
        col("request_object", "json", doc="Object of the request, from level Request on."),
        col("response_object", "json", doc="Object of the response, at level RequestResponse."),
        col("annotations", "json", doc="What plugins noted: the decision of the authorizer and its reason, for one."),
        col("authentication_metadata", "json", doc="How the user was authenticated."),
        col("metadata", "json", doc="Metadata of the event itself, in version v1beta1."),
        col("kind", doc="Event."),
        col("api_version", doc="Version of the event's own format."),
    ),
    common=Common(
        time=("request_received_timestamp", "stage_timestamp", "timestamp"),
        source_ip="source_ip",
        ips=("source_ips",),
        akas=("object_ref.name", "object_ref.uid"),
        emails=(Sql(MAILS),),
        usernames=("user.username", "impersonated_user.username"),
    ),
)
