"""The names that nginx and VPC flow logs know."""

from __future__ import annotations

_NGINX = """
    remote_addr host remote_user time_local request request_method request_uri server_protocol status
    body_bytes_sent http_referer http_user_agent scheme http_host http_cookie content_length content_type
    request_length server_name server_addr server_port connection connection_requests msec time_iso8601
    bytes_sent request_time pipe upstream_addr upstream_status upstream_response_time upstream_connect_time
    upstream_header_time ssl_protocol ssl_cipher ssl_session_id ssl_client_cert ssl_session_reused gzip_ratio
    args ancient_browser binary_remote_addr connection_time connections_active connections_reading
    connections_waiting connections_writing date_gmt date_local document_root document_uri fastcgi_script_name
    hostname http2 http3 https is_args limit_conn_status limit_rate limit_req_status modern_browser msie
    namespace nginx_version pid proxy_add_x_forwarded_for proxy_alternative_upstream_name proxy_host
    proxy_port proxy_upstream_name query_string realip_remote_addr realip_remote_port realpath_root
    remote_port req_id request_body request_completion request_filename request_id service_name ingress_name
    service_port secure_link server_id spdy tcpinfo_rtt tcpinfo_rttvar the_real_ip uid_got uid_set uri
"""
NGINX = frozenset(_NGINX.split())
NGINX_FAMILIES = (
    "http_",
    "sent_http_",
    "sent_trailer_",
    "upstream_",
    "cookie_",
    "arg_",
    "ssl_",
    "geoip_",
    "geoip2_",
    "proxy_protocol_",
    "jwt_",
)
_SPACED = """
    time_local request http_user_agent http_referer http_cookie content_type request_body date_local date_gmt
"""
_NGINX_SPACED = frozenset(_SPACED.split())
"Values that may hold blanks: outside quotes and brackets their end is found from what follows."
_NGINX_LISTS = ("upstream_", "http_x_forwarded_for", "proxy_add_x_forwarded_for")
_VPC = """
    version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action
    log-status vpc-id subnet-id instance-id tcp-flags type pkt-srcaddr pkt-dstaddr region az-id
    sublocation-type sublocation-id pkt-src-aws-service pkt-dst-aws-service flow-direction traffic-path
    ecs-cluster-arn ecs-cluster-name ecs-container-instance-arn ecs-container-instance-id ecs-container-id
    ecs-second-container-id ecs-service-name ecs-task-arn ecs-task-definition-arn ecs-task-id reject-reason
    resource-id encryption-status export-timestamp resource-type tgw-id tgw-attachment-id
    tgw-src-vpc-account-id tgw-dst-vpc-account-id tgw-src-vpc-id tgw-dst-vpc-id tgw-src-subnet-id
    tgw-dst-subnet-id tgw-src-eni tgw-dst-eni tgw-src-az-id tgw-dst-az-id tgw-pair-attachment-id
    packets-lost-no-route packets-lost-blackhole packets-lost-mtu-exceeded packets-lost-ttl-expired
"""
VPC = frozenset(_VPC.split())
VPC_NUMBERS = frozenset({"version", "srcport", "dstport", "protocol", "packets", "bytes", "start", "end"})
"They tell fields that were not asked for, behind those that were, from another list of fields."
VPC_RENAMES = {
    "srcaddr": "src_addr",
    "dstaddr": "dst_addr",
    "srcport": "src_port",
    "dstport": "dst_port",
    "start": "start_time",
    "end": "end_time",
    "pkt-srcaddr": "pkt_src_addr",
    "pkt-dstaddr": "pkt_dst_addr",
}


def nginx_kind(name: str) -> str:
    """How the value of an nginx variable may look, see `dialects.Field`."""
    if name == "remote_addr":
        return "address"
    if name.startswith(_NGINX_LISTS):
        return "list"
    return "spaced" if name in _NGINX_SPACED else "bare"
