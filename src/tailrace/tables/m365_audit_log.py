"""Microsoft 365's unified audit log: one row per operation."""

from tailrace.core import Common, Json, Sql, Table, col

# Exchange writes `[2001:db8::1]:443`, others `198.51.100.4:443`, most the address alone.
CLIENT_IP = "coalesce(nullif(ClientIP, ''), nullif(ClientIPAddress, ''), nullif(ActorIpAddress, ''))"

TABLE = Table(
    name="m365_audit_log",
    doc="What users and administrators did in Microsoft 365: Exchange, SharePoint, Teams, Entra ID and others.",
    format=Json(unwrap=("AuditData", "auditData", "records", "value")),
    columns=(
        col("creation_time", "timestamp", src="CreationTime", doc="When it happened, UTC."),
        col("id", src="Id", unique=True, doc="Id of the record."),
        col("operation", src="Operation", doc="What was done, such as FileDownloaded or Set-Mailbox."),
        col("workload", src="Workload", doc="Exchange, SharePoint, OneDrive, AzureActiveDirectory …"),
        col("record_type", "integer", src="RecordType", doc="Kind of record, as a number."),
        col("result_status", src="ResultStatus", null_if="", doc="Succeeded, Failed, True …"),
        col("user_id", src="UserId", doc="Who did it, mostly a user principal name."),
        col("user_key", src="UserKey", doc="The same as an id that stays."),
        col("user_type", "integer", src="UserType", doc="0 user, 2 administrator, 3 system, 4 application …"),
        col("client_ip", sql=CLIENT_IP, doc="Address that it was done from."),
        col("object_id", src="ObjectId", null_if="", doc="File, mailbox, policy … that it was done to."),
        col("organization_id", src="OrganizationId", doc="Tenant."),
        col("organization_name", src="OrganizationName", null_if="", doc="Name of the tenant."),
        col("user_agent", src="UserAgent", null_if="", doc="What the client says it is."),
        col("app_id", src="AppId", null_if="", doc="Application that did it."),
        col("client_app_id", src="ClientAppId", null_if="", doc="Application through which it was done."),
        col("external_access", "boolean", src="ExternalAccess", doc="Done by somebody outside of the organization."),
        col("originating_server", src="OriginatingServer", doc="Server that did it."),
        col("site_url", src="SiteUrl", doc="SharePoint site."),
        col("source_file_name", src="SourceFileName", doc="File."),
        col("source_relative_url", src="SourceRelativeUrl", doc="Folder of the file."),
        col("mailbox_owner_upn", src="MailboxOwnerUPN", doc="Whose mailbox it is."),
        col("logon_type", "integer", src="LogonType", doc="0 owner, 1 administrator, 2 delegate."),
        col("target_user_or_group_name", src="TargetUserOrGroupName", doc="With whom it was shared."),
        col("parameters", "json", src="Parameters", doc="Parameters of an administrator's command."),
        col("extended_properties", "json", src="ExtendedProperties", doc="What else Entra ID tells."),
        col("modified_properties", "json", src="ModifiedProperties", doc="What changed."),
        col("version", "integer", src="Version", doc="Version of the record's own format."),
        col("additional_fields", "json", src="*", doc="What else this kind of record tells."),
    ),
    common=Common(
        time=("creation_time",),
        source_ip="client_ip",
        ips=("client_ip",),
        akas=("object_id",),
        domains=("organization_name",),
        emails=(Sql("list_filter([user_id, mailbox_owner_upn], lambda name: contains(name, '@'))"),),
        usernames=("user_id", "mailbox_owner_upn"),
    ),
)
