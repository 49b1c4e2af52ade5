"""GitHub's audit log of organizations and enterprises: one row per action."""

from tailrace.core import Common, Json, Sql, Table, col

TABLE = Table(
    name="github_audit_log",
    doc="What members of a GitHub organization did: who, when, from where and to what.",
    format=Json(unwrap=("Records", "events")),
    columns=(
        col("timestamp", "timestamp", src="@timestamp", time="epoch", doc="When it happened, UTC."),
        col("created_at", "timestamp", time="epoch", doc="When it was recorded, UTC."),
        col("action", doc="What was done, such as repo.create."),
        col("operation_type", doc="create, modify, access, remove, authentication, transfer …"),
        col("actor", doc="Who did it."),
        col("actor_id", "bigint", doc="Number of the actor."),
        col("actor_ip", doc="Address that the actor came from."),
        col("actor_location", "json", doc="Where that address is."),
        col("user", doc="User that it was done to."),
        col("user_id", "bigint", doc="Number of that user."),
        col("org", doc="Organization."),
        col("org_id", doc="Number of the organization."),
        col("repo", sql="coalesce(repo, repository)", doc="Repository."),
        col("business", doc="Enterprise."),
        col("business_id", "bigint", doc="Number of the enterprise."),
        col("external_identity_name_id", src="external_identity_nameid", doc="Name at the identity provider."),
        col("external_identity_username", doc="User name at the identity provider."),
        col("hashed_token", doc="Hash of the token that was used."),
        col("token_id", "bigint", doc="Number of the token."),
        col("token_scopes", doc="What the token allows, separated by commas."),
        col("document_id", src="_document_id", unique=True, doc="Id of the event."),
        col("additional_fields", "json", src="*", doc="What else this kind of action tells."),
    ),
    common=Common(
        time=("timestamp", "created_at"),
        source_ip="actor_ip",
        ips=("actor_ip",),
        akas=("repo",),
        emails=(Sql("case when contains(external_identity_name_id, '@') then external_identity_name_id end"),),
        usernames=("actor", "user"),
    ),
)
