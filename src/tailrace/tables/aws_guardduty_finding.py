"""Amazon GuardDuty findings: one row per export of a finding, new or updated."""

from tailrace.core import Common, Json, Sql, Table, col, struct

PROCESS = struct(
    col("name"),
    col("executable_path"),
    col("executable_sha256"),
    col("namespace_pid", "integer"),
    col("pwd"),
    col("pid", "integer"),
    col("start_time", "timestamp", time="epoch"),
    col("uuid"),
    col("parent_uuid"),
    col("user"),
    col("user_id", "integer"),
    col("euid", "integer"),
    col("lineage", "json"),
)
CONTEXT = struct(
    col("address_family"),
    col("command_line_example"),
    col("file_system_type"),
    col("flags", "varchar[]"),
    col("iana_protocol_number", "integer"),
    col("ld_preload_value"),
    col("library_path"),
    col("memory_regions", "varchar[]"),
    col("modified_at", "timestamp", time="epoch"),
    col("modifying_process", PROCESS),
    col("module_file_path"),
    col("module_name"),
    col("module_sha256"),
    col("mount_source"),
    col("mount_target"),
    col("release_agent_path"),
    col("runc_binary_path"),
    col("script_path"),
    col("service_name"),
    col("shell_history_path", src="shellHistoryFilePath"),
    col("socket_path"),
    col("target_process", PROCESS),
    col("threat_file_path"),
    col("tool_category"),
    col("tool_name"),
)
# Where the other side of an action stands depends on its kind.
REMOTE = """
list_concat([service.action.action_details ->> '$.remoteIpDetails.ipAddressV4'],
            json_extract_string(service.action.action_details, '$.portProbeDetails[*].remoteIpDetails.ipAddressV4'))
"""
ASKED = "service.action.action_details ->> '$.domain'"

TABLE = Table(
    name="aws_guardduty_finding",
    doc="Threats that Amazon GuardDuty found: what happened, to which resource, and how severe it is.",
    format=Json(keys="camel", unwrap=("detail", "Findings", "findings")),
    columns=(
        col("id", doc="Id of the finding; its updates have the same."),
        col("arn", doc="ARN of the finding."),
        col("type", doc="Purpose, resource and threat, such as Recon:EC2/PortProbeUnprotectedPort."),
        col("title", doc="The finding in one sentence."),
        col("description", doc="The finding in full."),
        col("severity", "double", doc="From 1 (low) to 10 (critical)."),
        col("created_at", "timestamp", time="epoch", doc="When the finding was made, UTC."),
        col("updated_at", "timestamp", time="epoch", doc="When the finding was last updated, UTC."),
        col("account_id", doc="Account in which it happened."),
        col("region", doc="Region in which it happened."),
        col("partition", doc="Partition of the region: aws, aws-cn or aws-us-gov."),
        col("schema_version", doc="Version of the finding's format."),
        col(
            "resource",
            struct(
                col("resource_type", doc="AccessKey, Instance, S3Bucket, EKSCluster …"),
                col(
                    "access_key_details",
                    struct(col("access_key_id"), col("principal_id"), col("user_name"), col("user_type")),
                    doc="The access key, if one was used.",
                ),
                col("resource_details", "json", src="*", doc="The resource itself; several by their kind."),
            ),
            doc="The resource that the finding is about.",
        ),
        col(
            "service",
            struct(
                col("service_name"),
                col("detector_id"),
                col(
                    "action",
                    struct(
                        col("action_type", doc="NETWORK_CONNECTION, PORT_PROBE, DNS_REQUEST, AWS_API_CALL …"),
                        col("action_details", "json", src="*", doc="The action itself."),
                    ),
                    doc="What was done.",
                ),
                col("resource_role", doc="TARGET or ACTOR."),
                col("additional_info", struct(col("type"), col("value"))),
                col("event_first_seen", doc="When it was first seen."),
                col("event_last_seen", doc="When it was last seen."),
                col("archived", "boolean"),
                col("count", "integer", doc="How often it was seen."),
                col("feature_name"),
                col("user_feedback"),
                col("evidence", "json"),
                col("detection", "json"),
                col("ebs_volume_scan_details", "json"),
                col("malware_scan_details", "json"),
                col("runtime_details", struct(col("process", PROCESS), col("context", CONTEXT))),
            ),
            doc="What GuardDuty knows of the event.",
        ),
    ),
    common=Common(
        # A finding is exported again when it is updated: each row stands at the time of its own export.
        time=("updated_at", "created_at"),
        ips=(Sql(REMOTE),),
        akas=("arn",),
        domains=(Sql(ASKED),),
        usernames=(
            "resource.access_key_details.access_key_id",
            "resource.access_key_details.user_name",
            "resource.access_key_details.principal_id",
        ),
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/GuardDuty/%{DATA:region_path}/%{YEAR:year}/"
            "%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.jsonl.gz",
        ),
    ),
)
