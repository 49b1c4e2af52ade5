"""Azure activity log, as storage accounts, Event Hubs and the Monitor API write it: one row per event."""

from tailrace.core import Common, Json, Sql, Table, camel, col, pascal, struct

CLAIM = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/"


def given(name: str, *others: str) -> str:
    """A field as Azure spells it, or as its SDK does; the API puts some into an object with their translation.

    Log Analytics begins names with a capital, which makes no difference to SQL: it is enough that they are named.
    """
    spelled = {camel(name): pascal(name), name: name} if camel(name) != name else {name: pascal(name)}
    texts = [f"case when {n} like '{{%' then try({n} ->> 'value') else {same} end" for n, same in spelled.items()]
    return f"coalesce({', '.join([*texts, *others])})"


def inside(holder: str, key: str, *others: str) -> str:
    """A field of an object that one of two spellings names, the first with a capital as well."""
    same = pascal(holder).replace("Http", "HTTP")
    names = {f'coalesce("{camel(holder)}", "{same}")': camel(key), f'"{holder}"': key}
    texts = [f"try({n}::json) ->> '{k}'" for n, k in names.items()]
    return f"coalesce({', '.join([*texts, *others])})"


# Nearly all ids are of this kind: DuckDB takes them apart once for all columns.
USUAL_ID = "(?i)^/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/(([^/]+)/[^/]+)"
PARTS = ["subscription_id", "resource_group_name", "resource_type", "resource_provider_name"]
RESOURCE = given("resource_id")


def part_of_id(name: str, pattern: str, *others: str) -> str:
    """A field that the storage shape only tells as part of the resource's id."""
    usual = f"nullif(regexp_extract({RESOURCE}, '{USUAL_ID}', {PARTS}).{name}, '')"
    # Not `nullif`, which names its text twice: DuckDB would look for it in every row, to have it once.
    return given(name, *others, usual, f"regexp_extract_all({RESOURCE}, '(?i){pattern}', 1)[1]")


def moment(text: str) -> str:
    """A time with any offset, as UTC; some services write it as is usual in America."""
    zoned = f"try_strptime({text}, ['%m/%d/%Y %I:%M:%S %p %z', '%m/%d/%Y %H:%M:%S %z']) at time zone 'UTC'"
    plain = f"try_strptime({text}, ['%m/%d/%Y %I:%M:%S %p', '%m/%d/%Y %H:%M:%S'])"
    return f"coalesce(try_cast({text} as timestamptz) at time zone 'UTC', {plain}, {zoned})"


# Of storage accounts, of application gateways, of Log Analytics.
TIMES = ("time", '"timestamp"', "timeStamp", "TimeGenerated")
AUTHORIZATION = f"""{{
  'action': {inside("authorization", "action", "identity ->> '$.authorization.action'")},
  'scope': {inside("authorization", "scope", "identity ->> '$.authorization.scope'")},
  'role': {inside("authorization", "role", "identity ->> '$.authorization.evidence.role'")}
}}"""
HTTP_REQUEST = f"""{{
  'client_ip_address': {inside("http_request", "client_ip_address", "callerIpAddress", "CallerIpAddress")},
  'client_request_id': {inside("http_request", "client_request_id")},
  'method': {inside("http_request", "method")},
  'uri': {inside("http_request", "uri")}
}}"""
OPERATION = f"coalesce(OperationNameValue, {given('operation_name')})"
CLAIMS = "coalesce(try(coalesce(claims, Claims)::json), identity -> '$.claims')"
CALLER = f"""coalesce(caller, Caller, {CLAIMS} ->> 'name', {CLAIMS} ->> '$."{CLAIM}upn"', {CLAIMS} ->> 'appid')"""
MAILS = f"list_filter([caller, claims ->> '$.\"{CLAIM}emailaddress\"'], lambda name: contains(name, '@'))"

TABLE = Table(
    name="azure_activity_log",
    doc="Operations on Azure resources from the outside, and what happened to the resources.",
    format=Json(records="records", unwrap=("value",)),
    columns=(
        col("event_timestamp", "timestamp", sql=moment(given("event_timestamp", *TIMES)), doc="When it was, UTC."),
        col(
            "submission_timestamp",
            "timestamp",
            sql=moment(given("submission_timestamp")),
            doc="When it could be queried.",
        ),
        col(
            "category",
            sql=given("category", "CategoryValue"),
            doc="Administrative, Security, ServiceHealth, Alert, Policy …",
        ),
        col("operation_name", sql=OPERATION, doc="What was done, such as Microsoft.Compute/disks/delete."),
        col("event_name", sql=given("event_name", OPERATION), doc="BeginRequest, EndRequest …"),
        col(
            "status",
            sql=given("status", "resultType", "ActivityStatusValue", "ActivityStatus"),
            doc="Started, Succeeded, Failed, Active, Resolved …",
        ),
        col(
            "sub_status",
            sql=given("sub_status", "resultSignature", "ActivitySubstatusValue", "ActivitySubstatus"),
            doc="More on the status, such as the HTTP status.",
        ),
        col("level", sql="coalesce(level, Level)", doc="Critical, Error, Warning, Informational, or its number."),
        col("caller", sql=CALLER, doc="User, or application, that did it."),
        col("resource_id", sql=f"coalesce({RESOURCE}, _ResourceId)", doc="Resource that it was done to."),
        col(
            "resource_group_name",
            sql=part_of_id("resource_group_name", "/resourceGroups/([^/]+)", "ResourceGroup"),
            doc="Its group.",
        ),
        col(
            "resource_provider_name",
            sql=part_of_id("resource_provider_name", "/providers/([^/]+)", "ResourceProviderValue"),
            doc="Its kind.",
        ),
        col(
            "resource_type",
            sql=part_of_id("resource_type", "/providers/([^/]+/[^/]+)", "ResourceType"),
            doc="Its type.",
        ),
        col("subscription_id", sql=part_of_id("subscription_id", "/subscriptions/([^/]+)"), doc="Its subscription."),
        col(
            "tenant_id",
            sql=given("tenant_id", "properties ->> 'TenantID'", "properties ->> 'TenantId'"),
            doc="Tenant of the subscription.",
        ),
        col(
            "authorization_info",
            struct(
                col("action", doc="Permission that was needed."), col("scope"), col("role", doc="Role that gave it.")
            ),
            sql=AUTHORIZATION,
            doc="Why it was allowed.",
        ),
        col(
            "http_request",
            struct(col("client_ip_address"), col("client_request_id"), col("method"), col("uri")),
            sql=HTTP_REQUEST,
            doc="Request through which it was done.",
        ),
        col("claims", "json", sql=CLAIMS, doc="Claims of the token that was used."),
        col("properties", "json", decode="json", doc="What else the event tells, by category."),
        col("identity", "json", doc="Authorization and claims, as storage accounts hold them."),
        col("correlation_id", sql=given("correlation_id"), doc="Id that the events of one operation share."),
        col("operation_id", sql=given("operation_id"), doc="Id that the events of one step share."),
        col("event_data_id", sql=given("event_data_id"), unique=True, doc="Id of the event."),
        col(
            "id",
            sql="coalesce(id, correlationId, CorrelationId)",
            doc="Id of the event with its resource, or of the operation.",
        ),
        col("description", sql="coalesce(nullif(description, ''), resultDescription)", doc="The event in a sentence."),
        col("duration_ms", "bigint", src="durationMs", doc="Milliseconds that it took."),
    ),
    common=Common(
        time=("event_timestamp", "submission_timestamp"),
        source_ip="http_request.client_ip_address",
        ips=("http_request.client_ip_address",),
        akas=("resource_id",),
        emails=(Sql(MAILS),),
        usernames=("caller",),
    ),
    file_layout=(
        (
            "azure_blob_storage",
            "/SUBSCRIPTIONS/%{DATA:subscription_id}/y=%{YEAR:year}/m=%{MONTHNUM:month}/d=%{MONTHDAY:day}/"
            "h=%{HOUR:hour}/m=%{MINUTE:minute}/%{DATA:filename}.json",
        ),
    ),
)
