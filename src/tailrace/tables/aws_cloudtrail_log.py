"""AWS CloudTrail: one row per API call."""

from dataclasses import replace

from tailrace.core import Common, Json, Preset, Sql, StartsWith, Table, col, struct

# Resources are named by ARN; people search for the account, bucket, instance or volume inside it as well.
RESOURCE_NAMES = """
flatten(list_transform(json_extract_string(resources, '$[*].ARN'), lambda a: [
  a, split_part(a, ':', 5),
  case split_part(a, ':', 3) when 's3' then split_part(split_part(a, ':', 6), '/', 1)
                             when 'ec2' then split_part(a, '/', 2) end]))
"""

DEFAULT = Json(
    records="Records",
    keys="camel",
    # Events of EventBridge, of a CloudWatch subscription, and as commands look them up.
    unwrap=("detail", "logEvents.message", "events.message", "Events.CloudTrailEvent", "CloudTrailEvent"),
    # Digests, which lie beside the logs and prove that none is missing.
    skip=("digestS3Object",),
)
LOGSTASH = replace(DEFAULT, field_map=(("event_time", "@timestamp"),))

TABLE = Table(
    name="aws_cloudtrail_log",
    doc="Calls to the AWS API: who made them, from where, with what, and what came of it.",
    format=DEFAULT,
    presets=(Preset("logstash", LOGSTASH, "Events that Logstash has passed on, which puts their time elsewhere."),),
    columns=(
        col("event_time", "timestamp", doc="When the request was made, UTC."),
        col("event_name", doc="The action that was requested."),
        col("event_source", doc="The service that the request was made to."),
        col("aws_region", doc="Region that the request was made to."),
        col("source_ip_address", src="sourceIPAddress", doc="Address of the caller, or the name of an AWS service."),
        col("user_agent", doc="The agent through which the request was made."),
        col("error_code", doc="Error of the service, if the request failed."),
        col("error_message", doc="Description of the error."),
        col("event_type", doc="AwsApiCall, AwsServiceEvent, AwsConsoleAction, AwsConsoleSignIn …"),
        col("event_version", doc="Version of the event's own format."),
        col("event_category", doc="Management, Data, NetworkActivity or Insight."),
        col("event_id", src="eventID", unique=True, doc="Id that CloudTrail gave the event."),
        col("request_id", src="requestID", unique=True, doc="Id that the service gave the request."),
        col("shared_event_id", src="sharedEventID", doc="Id shared by the copies that several accounts receive."),
        col("recipient_account_id", doc="Account that received the event."),
        col("api_version", doc="Version of the API that was called."),
        col("read_only", "boolean", doc="Whether the operation changes nothing."),
        col("management_event", "boolean", doc="Whether the event is a management event."),
        col("vpc_endpoint_id", doc="VPC endpoint through which the request came."),
        col("session_credential_from_console", doc="Whether the request came from a console session."),
        col("request_parameters", "json", doc="Parameters of the request."),
        col("response_elements", "json", doc="Response of an action that changes something."),
        col("additional_event_data", "json", doc="What else the service tells of the event."),
        col("service_event_details", "json", doc="What triggered a service event."),
        col("edge_device_details", "json", doc="Edge devices that the request concerned."),
        col("resources", "json", doc="Resources that the event touched."),
        col(
            "user_identity",
            struct(
                col("type"),
                col("principal_id"),
                col("arn"),
                col("account_id"),
                col("access_key_id"),
                col("user_name"),
                col("invoked_by"),
                col("identity_provider"),
                col(
                    "session_context",
                    struct(
                        col(
                            "session_issuer",
                            struct(col("type"), col("principal_id"), col("arn"), col("account_id"), col("user_name")),
                        ),
                        col(
                            "attributes",
                            struct(
                                col("creation_date", "bigint", time="iso", doc="Milliseconds since 1970."),
                                col("mfa_authenticated"),
                            ),
                        ),
                        col("ec2_role_delivery"),
                        col("web_id_federation_data", struct(col("attributes", "json"), col("federated_provider"))),
                    ),
                ),
            ),
            doc="Who made the request.",
        ),
        col(
            "tls_details",
            struct(col("tls_version"), col("cipher_suite"), col("client_provided_host_header")),
            doc="TLS of the connection.",
        ),
    ),
    common=Common(
        time=("event_time",),
        source_ip="source_ip_address",
        ips=("source_ip_address",),
        akas=("user_identity.arn", "user_identity.session_context.session_issuer.arn", Sql(RESOURCE_NAMES)),
        usernames=(
            "user_identity.user_name",
            "user_identity.session_context.session_issuer.user_name",
            StartsWith("user_identity.access_key_id", "AKIA"),
        ),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/CloudTrail/%{DATA:region}/"
            "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.json.gz",
        ),
    ),
    aliases=("aws_cloudtrail",),
)
