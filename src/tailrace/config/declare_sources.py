"""The vocabulary of sources and connections: kinds, and what each of them takes."""

from __future__ import annotations

from collections.abc import Mapping

from tailrace.config.attributes import Attr, Attrs, BlockType

SOURCE: Attrs = {
    "type": Attr("text", "Kind of source, where no label says it."),
    "name": Attr("text", "Name of the source, where no label says it."),
    "connection": Attr("reference", "Credentials: `connection.aws.prod`.", to=("connection",)),
    "format": Attr("format", "How the bytes are read; without it, as the table says."),
}
_LAYOUT: Attrs = {
    "file_layout": Attr("text", "A grok pattern over the path; others are left out."),
    "patterns": Attr("map", "Own grok patterns for `file_layout`."),
}
FILE: Attrs = {"paths": Attr("texts", "Files, directories or globs.", required=True), **_LAYOUT}
_PREFIX: Attrs = {"prefix": Attr("text", "What the names of all objects begin with."), **_LAYOUT}
_BUCKET: Attrs = {"bucket": Attr("text", "Name of the bucket."), **_PREFIX}
_REGION: Attrs = {"region": Attr("text", "Region of the service; the connection's when absent.")}
_POLITE: Attrs = {
    "request_timeout": Attr("number", "Seconds after which a request is given up.", default=60, fraction=True),
    "max_retries": Attr("number", "How often a request is tried again.", default=5),
    "max_backoff": Attr("number", "Longest pause between two tries, in seconds.", default=30, fraction=True),
}
_SLICED: Attrs = {
    "slice": Attr("duration", "How much time is asked for at once; a day is made of whole slices.", default="1h"),
    "settle": Attr("duration", "How long after its end a slice may still get late events.", default="1h"),
}
_BY_DAY: Attrs = {**_SLICED, "slice": Attr("duration", "How much time is asked for at once.", default="24h")}


def _kind(name: str, doc: str, attributes: Attrs, either: tuple[str, ...] = ()) -> BlockType:
    return BlockType(name, doc, attributes, ("kind", "name"), either=either)


def _later(name: str, doc: str, attributes: Attrs, either: tuple[str, ...] = ()) -> BlockType:
    return BlockType(name, doc, attributes, ("kind", "name"), either=either, active=False)


def _kinds(*kinds: BlockType) -> Mapping[str, BlockType]:
    return {kind.name: kind for kind in kinds}


KINDS = _kinds(
    _kind("file", "Files of this machine.", FILE),
    _kind(
        "aws_s3_bucket", "Objects of an S3 bucket.",
        {
            **_BUCKET, **_REGION,
            "paths": Attr("texts", "In place of `bucket` and `prefix`: `s3://bucket/AWSLogs/*/CloudTrail/*`."),
            "sqs_queue_url": Attr("text", "Queue that announces new objects, which are then not listed."),
        },
        ("bucket", "paths"),
    ),
    _kind(
        "aws_cloudwatch_log_group", "Events of a CloudWatch log group.",
        {
            "log_group_name": Attr("text", "Name of the log group."),
            "log_stream_names": Attr("texts", "Names or wildcards of streams; all when absent."),
            "log_streams": Attr("texts", "In place of both: `group/stream_*`, split at the last `/`."),
            "filter_pattern": Attr("text", "A filter that CloudWatch applies."),
            **_REGION, **_SLICED,
        },
        ("log_group_name", "log_streams"),
    ),
    _kind(
        "gcp_storage_bucket", "Objects of a Google Cloud Storage bucket.",
        {**_BUCKET, "paths": Attr("texts", "In place of `bucket` and `prefix`: `gs://bucket/prefix/*`.")},
        ("bucket", "paths"),
    ),
    _kind(
        "gcp_audit_log_api", "Audit logs from Cloud Logging.",
        {
            "log_types": Attr(
                "texts", "Which logs; all when absent.", choices=("activity", "data_access", "system_event", "policy")
            ),
            "filter": Attr("text", "A filter that Cloud Logging applies."),
            **_SLICED, **_POLITE,
        },
    ),
    _kind(
        "azure_blob_storage", "Blobs of a container.",
        {
            "account_name": Attr("text", "Name of the storage account.", required=True),
            "container": Attr("text", "Name of the container.", required=True),
            **_PREFIX,
        },
    ),
    _kind("azure_activity_log_api", "Activity log from Azure Monitor.", {**_SLICED, **_POLITE}),
    _kind(
        "github_audit_log_api", "Audit log of an organisation.",
        {
            "organization": Attr("text", "Whose log.", required=True),
            "phrase": Attr("text", "A search phrase that GitHub applies."),
            "include": Attr("text", "Which events.", choices=("web", "git", "all"), default="web"),
            **_SLICED, **_POLITE,
        },
    ),
    _kind("pipes_audit_log_api", "Audit log of Turbot Pipes.", {**_BY_DAY, **_POLITE}),
    _kind(
        "okta_system_log_api", "System log of Okta.",
        {"filter": Attr("text", "A filter that Okta applies."), **_SLICED, **_POLITE},
    ),
    _later("crowdstrike_s3_bucket", "Bucket of the Falcon Data Replicator.", {**_BUCKET, **_REGION}, ("bucket",)),
    _later(
        "kubernetes_pod_logs", "Logs of pods.",
        {
            "pod_name_pattern": Attr("text", "Wildcard over names of pods."),
            "log_levels": Attr("texts", "Levels that are taken."),
            "label_selectors": Attr("any", "Labels that a pod must have."),
            "tail_lines": Attr("number", "Last lines only."),
            "limit_bytes": Attr("number", "At most so many bytes of each pod."),
        },
    ),
    _later(
        "kubernetes_events", "Events of a cluster.",
        {
            "event_types": Attr("texts", "Normal or Warning."),
            "object_kinds": Attr("texts", "Kinds of objects."),
            "object_names": Attr("texts", "Names of objects."),
            "source_components": Attr("texts", "Components that report."),
            "message_pattern": Attr("text", "Pattern of the message."),
            "reason_pattern": Attr("text", "Pattern of the reason."),
            "limit": Attr("number", "At most so many events."),
            "watch": Attr("flag", "Wait for new events."),
            "watch_timeout": Attr("any", "How long to wait."),
        },
    ),
    _later(
        "kubernetes_audit_logs", "Audit log of the API server.",
        {
            "method": Attr("text", "How it is reached.", choices=("file", "apiserver", "daemonset")),
            "audit_log_paths": Attr("texts", "Files."),
            "api_only": Attr("flag", "Without files."),
        },
    ),
    _kind(
        "http", "A paged JSON API.",
        {
            "url": Attr("text", "Where the first page is.", required=True),
            "method": Attr("text", "How it is asked.", choices=("GET", "POST"), default="GET"),
            "headers": Attr("map", "Headers of every request.", secret=True),
            "params": Attr("map", "Parameters; `{from}` and `{to}`, here, in `url` or `body`, stand for a slice."),
            "secret_params": Attr("map", "Parameters that hold credentials.", secret=True),
            "body": Attr("any", "Body of a POST, sent as JSON."),
            "records": Attr("text", "Dotted path of the array that holds the records; the answer itself when absent."),
            "time_format": Attr(
                "text", "How `{from}` and `{to}` are written.", choices=("rfc3339", "date", "epoch", "epoch_ms"),
                default="rfc3339",
            ),
            "time_field": Attr("text", "Dotted path of a record's time: what lies outside the slice is left out."),
            "pagination": Attr(
                "text", "How the next page is found.", choices=("none", "link", "cursor", "page", "offset"),
                default="none",
            ),
            "cursor_path": Attr("text", "Dotted path of the next cursor, or URL, in the answer."),
            "cursor_param": Attr("text", "Parameter that takes the cursor, the page or the offset."),
            "first_page": Attr("number", "Number of the first page.", default=1),
            "page_size": Attr("number", "Records of a page.", least=1),
            "page_size_param": Attr("text", "Parameter that takes `page_size`."),
            "rate_limit": Attr("number", "Requests a second, of all tasks of a machine.", fraction=True),
            "schedule": Attr("duration", "How often `serve` asks, for the sinks that it feeds."),
            "sinks": Attr("references", "Sinks that take its records as snapshots.", to=("sink",)),
            "entity": Attr("text", "Dotted path of a snapshot's `entity` in a record.", default="id"),
            "workspace_id": Attr("number", "Tenant of the snapshots.", default=1, least=1),
            **_SLICED, **_POLITE,
        },
    ),
    _kind(
        "command", "What a program prints.",
        {
            "command": Attr("command", "The program and its arguments; no shell is involved.", required=True),
            "env": Attr("map", "Environment variables besides those of Tailrace.", secret=True),
            "directory": Attr("text", "Where it runs."),
            "timeout": Attr("duration", "After which it is ended."),
            **_SLICED,
        },
    ),
    _kind(
        "kafka", "Messages of a topic, between two offsets.",
        {
            "brokers": Attr("texts", "Addresses: `host:9092`.", required=True),
            "topics": Attr("texts", "Names of topics.", required=True),
            "group": Attr("text", "Consumer group whose offsets are kept in step."),
            "options": Attr("map", "Further settings of librdkafka.", secret=True),
        },
    ),
)  # fmt: skip
"Kinds of sources and their arguments."
KIND_SYNONYMS = {
    "aws_s3": "aws_s3_bucket",
    "aws_cloudwatch": "aws_cloudwatch_log_group",
    "cloudwatch": "aws_cloudwatch_log_group",
    "pipes_audit_log": "pipes_audit_log_api",
}


_PACKAGE: Attrs = {"plugin": Attr("text", "Taken for compatibility: the type says it.", active=False)}


def _connection(name: str, doc: str, attributes: Attrs) -> BlockType:
    return BlockType(name, doc, {**attributes, **_PACKAGE}, ("type", "name"))


def _secret(doc: str) -> Attr:
    return Attr("text", doc, secret=True)


CONNECTIONS = _kinds(
    _connection("aws", "Amazon Web Services; without attributes, the default chain of credentials.", {
        "profile": Attr("text", "Profile of the shared configuration files."),
        "region": Attr("text", "Region where a source names none."),
        "regions": Attr("texts", "Taken for compatibility: sources say what they read.", active=False),
        "access_key": _secret("Id of the access key."),
        "secret_key": _secret("Secret of the access key."),
        "session_token": _secret("Token of a temporary session."),
        "role_arn": Attr("text", "Role to assume."),
        "external_id": _secret("External id that the role asks for."),
        "session_name": Attr("text", "Name of the assumed session."),
        "endpoint_url": Attr("text", "Another server that speaks the same protocol."),
        "s3_force_path_style": Attr(
            "flag", "Bucket in the path, not in the host name. Default: with `endpoint_url`, or a dot in its name."
        ),
        "max_error_retry_attempts": Attr("number", "How often a request is tried again.", default=9, least=1),
        "min_error_retry_delay": Attr(
            "number", "Shortest pause between two tries, in milliseconds.", default=25, fraction=True
        ),
    }),
    _connection("gcp", "Google Cloud; without attributes, the application's default credentials.", {
        "project": Attr("text", "Project."),
        "credentials": _secret("Path or text of a key file."),
        "quota_project": Attr("text", "Project that is charged."),
        "impersonate_access_token": _secret("Access token."),
        "impersonate_service_account": Attr("text", "Service account to act as."),
    }),
    _connection("azure", "Azure; without attributes, the CLI's login or a managed identity.", {
        "environment": Attr("text", "Which cloud.", default="AZUREPUBLICCLOUD"),
        "tenant_id": Attr("text", "Tenant."),
        "subscription_id": Attr("text", "Subscription."),
        "client_id": Attr("text", "Client."),
        "client_secret": _secret("Secret of the client."),
        "certificate_path": Attr("text", "Certificate of the client."),
        "certificate_password": _secret("Password of the certificate."),
        "username": Attr("text", "User."),
        "password": _secret("Password of the user."),
    }),
    _connection("github", "GitHub.", {
        "token": _secret("Personal access token."),
        "base_url": Attr("text", "Server, where it is not github.com."),
    }),
    _connection("okta", "Okta.", {
        "domain": Attr("text", "Address of the organisation."),
        "token": _secret("API token."),
        "client_id": Attr("text", "Client of OAuth."),
        "private_key": _secret("Key of the client."),
    }),
    _connection("pipes", "Turbot Pipes.", {
        "token": _secret("API token."),
        "org_handle": Attr("text", "Organisation."),
        "host": Attr("text", "Server.", default="pipes.turbot.com"),
    }),
    _connection("http", "Any HTTP server.", {
        "token": _secret("Bearer token."),
        "username": Attr("text", "User of basic authentication."),
        "password": _secret("Password of basic authentication."),
        "headers": Attr("map", "Headers of every request.", secret=True),
        "ca_file": Attr("text", "Certificates that are trusted besides the system's."),
    }),
    _connection("kafka", "Kafka.", {
        "username": Attr("text", "User of SASL."),
        "password": _secret("Password of SASL."),
        "mechanism": Attr("text", "How to log in.", choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
        "tls": Attr("flag", "Encrypted.", default=False),
        "ca_file": Attr("text", "Certificates that are trusted besides the system's."),
    }),
    _connection("kubernetes", "A cluster.", {
        "kubeconfig_path": Attr("text", "Configuration file."),
        "kubeconfig_context": Attr("text", "Context in it."),
        "service_account": Attr("any", "Service account."),
        "namespace": Attr("text", "Namespace."),
        "cluster_name": Attr("text", "Name of the cluster."),
        "follow_logs": Attr("flag", "Wait for new lines."),
        "since_time": Attr("text", "Earliest time."),
        "include_events": Attr("flag", "Events as well."),
    }),
)  # fmt: skip
"Types of connections and their attributes."
