"""Turbot Pipes' audit log: one row per action."""

from tailrace.core import Common, Json, Table, col

TABLE = Table(
    name="pipes_audit_log",
    doc="What users of Turbot Pipes did in their workspaces and organizations.",
    format=Json(records="items"),
    columns=(
        col("created_at", "timestamp", doc="When it happened, UTC."),
        col("id", unique=True, doc="Id of the event."),
        col("action_type", doc="What was done, such as workspace.create."),
        col("actor_handle", doc="Who did it."),
        col("actor_id", doc="Id of the actor."),
        col("actor_display_name", doc="Name of the actor."),
        col("actor_avatar_url", doc="Picture of the actor."),
        col("actor_ip", doc="Address that the actor came from."),
        col("identity_handle", doc="User or organization that it was done in."),
        col("identity_id", doc="Id of that user or organization."),
        col("target_handle", doc="What it was done to."),
        col("target_id", doc="Id of that."),
        col("tenant_id", doc="Tenant."),
        col("process_id", doc="Process that did it."),
        col("data", "json", doc="What changed."),
    ),
    common=Common(
        time=("created_at",),
        source_ip="actor_ip",
        ips=("actor_ip",),
        akas=("target_id",),
        usernames=("actor_handle", "actor_id"),
    ),
)
