"""AWS VPC flow logs, any field list: one row per flow and interval."""

from tailrace.core import Common, Layout, Parquet, Preset, Table, col

TRANSIT = (
    "version resource-type account-id tgw-id tgw-attachment-id tgw-src-vpc-account-id tgw-dst-vpc-account-id "
    "tgw-src-vpc-id tgw-dst-vpc-id tgw-src-subnet-id tgw-dst-subnet-id tgw-src-eni tgw-dst-eni tgw-src-az-id "
    "tgw-dst-az-id tgw-pair-attachment-id srcaddr dstaddr srcport dstport protocol packets bytes start end log-status "
    "type packets-lost-no-route packets-lost-blackhole packets-lost-mtu-exceeded packets-lost-ttl-expired tcp-flags "
    "region flow-direction pkt-src-aws-service pkt-dst-aws-service"
)
# Lines from CloudWatch have no header: all fields of a version stand in the order in which AWS lists them.
SECOND = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
FIFTH = (
    f"{SECOND} vpc-id subnet-id instance-id tcp-flags type pkt-srcaddr pkt-dstaddr region az-id sublocation-type "
    "sublocation-id pkt-src-aws-service pkt-dst-aws-service flow-direction traffic-path"
)
SEVENTH = (
    f"{FIFTH} ecs-cluster-arn ecs-cluster-name ecs-container-instance-arn ecs-container-instance-id ecs-container-id "
    "ecs-second-container-id ecs-service-name ecs-task-definition-arn ecs-task-arn ecs-task-id"
)
LATEST = ("reject-reason", "reject-reason resource-id", "reject-reason resource-id encryption-status")
DEFAULT = Layout(
    SECOND,
    also=(FIFTH, SEVENTH, *(f"{SEVENTH} {more}" for more in LATEST), TRANSIT),
    dialect="vpc",
    header=r"[a-z]+(?:-[a-z0-9]+)*(?: [a-z0-9]+(?:-[a-z0-9]+)*)+",
)
PARQUET = Parquet(
    (
        ("src_addr", "srcaddr"),
        ("dst_addr", "dstaddr"),
        ("src_port", "srcport"),
        ("dst_port", "dstport"),
        ("start_time", "start"),
        ("end_time", "end"),
        ("pkt_src_addr", "pkt_srcaddr"),
        ("pkt_dst_addr", "pkt_dstaddr"),
    )
)
ECS = ("ecs_cluster_arn", "ecs_container_instance_arn", "ecs_task_arn", "ecs_task_definition_arn")

TABLE = Table(
    name="aws_vpc_flow_log",
    doc="IP traffic of network interfaces in a VPC, transit gateway or ECS task.",
    null="-",
    format=DEFAULT,
    presets=(
        Preset("default", DEFAULT, "A header, or all fields of a version or of a transit gateway."),
        Preset("parquet", PARQUET, "Delivery as Parquet files, any fields."),
    ),
    columns=(
        col("version", "integer", doc="Version of the flow log's format."),
        col("account_id", doc="Account that owns the interface."),
        col("interface_id", doc="Network interface the traffic was seen on."),
        col("src_addr", doc="Source address, or the interface's own for outgoing traffic."),
        col("dst_addr", doc="Destination address, or the interface's own for incoming traffic."),
        col("src_port", "integer", doc="Source port."),
        col("dst_port", "integer", doc="Destination port."),
        col("protocol", "integer", doc="IANA protocol number: 6 TCP, 17 UDP, 1 ICMP."),
        col("packets", "bigint", doc="Packets in the flow."),
        col("bytes", "bigint", doc="Bytes in the flow."),
        col("start_time", "timestamp", time="epoch_s", doc="When the first packet was seen."),
        col("end_time", "timestamp", time="epoch_s", doc="When the last packet was seen."),
        col("action", doc="ACCEPT or REJECT."),
        col("log_status", doc="OK, NODATA or SKIPDATA."),
        col("vpc_id", doc="VPC of the interface."),
        col("subnet_id", doc="Subnet of the interface."),
        col("instance_id", doc="Instance the interface belongs to."),
        col("tcp_flags", "integer", doc="Bitmask of TCP flags: 2 SYN, 18 SYN-ACK, 1 FIN, 4 RST."),
        col("type", doc="IPv4, IPv6 or EFA."),
        col("pkt_src_addr", doc="Original source address of the packet."),
        col("pkt_dst_addr", doc="Original destination address of the packet."),
        col("region", doc="Region of the interface."),
        col("az_id", doc="Availability zone of the interface."),
        col("sublocation_type", doc="wavelength, outpost or localzone."),
        col("sublocation_id", doc="Id of the sublocation."),
        col("pkt_src_aws_service", doc="AWS service of the source address."),
        col("pkt_dst_aws_service", doc="AWS service of the destination address."),
        col("flow_direction", doc="ingress or egress."),
        col("traffic_path", "integer", doc="Path that outgoing traffic takes, as a code."),
        col("ecs_cluster_arn", doc="ARN of the ECS cluster."),
        col("ecs_cluster_name", doc="Name of the ECS cluster."),
        col("ecs_container_instance_arn", doc="ARN of the ECS container instance."),
        col("ecs_container_instance_id", doc="Id of the ECS container instance."),
        col("ecs_container_id", doc="Docker id of the first container."),
        col("ecs_second_container_id", doc="Docker id of the second container."),
        col("ecs_service_name", doc="Name of the ECS service."),
        col("ecs_task_arn", doc="ARN of the ECS task."),
        col("ecs_task_definition_arn", doc="ARN of the ECS task definition."),
        col("ecs_task_id", doc="Id of the ECS task."),
        col("reject_reason", doc="Why the traffic was rejected, such as BPA."),
        col("resource_id", doc="Resource the interface belongs to, such as a NAT gateway."),
        col("encryption_status", "integer", doc="Whether the traffic was encrypted in transit, as a code."),
        col("resource_type", doc="TransitGateway, TransitGatewayAttachment or VPC."),
        col("tgw_id", doc="Transit gateway."),
        col("tgw_attachment_id", doc="Attachment of the transit gateway."),
        col("tgw_pair_attachment_id", doc="Attachment on the other side."),
        col("tgw_src_vpc_account_id", doc="Account of the source VPC."),
        col("tgw_dst_vpc_account_id", doc="Account of the destination VPC."),
        col("tgw_src_vpc_id", doc="Source VPC."),
        col("tgw_dst_vpc_id", doc="Destination VPC."),
        col("tgw_src_subnet_id", doc="Source subnet."),
        col("tgw_dst_subnet_id", doc="Destination subnet."),
        col("tgw_src_eni", doc="Network interface of the source attachment."),
        col("tgw_dst_eni", doc="Network interface of the destination attachment."),
        col("tgw_src_az_id", doc="Availability zone of the source."),
        col("tgw_dst_az_id", doc="Availability zone of the destination."),
        col("packets_lost_no_route", "bigint", doc="Packets lost for want of a route."),
        col("packets_lost_blackhole", "bigint", doc="Packets lost in a black hole."),
        col("packets_lost_mtu_exceeded", "bigint", doc="Packets that were too large."),
        col("packets_lost_ttl_expired", "bigint", doc="Packets whose time to live ran out."),
    ),
    common=Common(
        time=("start_time", "end_time"),
        source_ip="src_addr",
        destination_ip="dst_addr",
        ips=("src_addr", "pkt_src_addr", "dst_addr", "pkt_dst_addr"),
        akas=ECS,
    ),
    file_layout=(
        (
            "aws_s3_bucket",
            "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/vpcflowlogs/%{DATA:region}/"
            "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/(%{NUMBER:hour}/)?%{DATA}.log.gz",
        ),
    ),
    aliases=("aws_flowlog",),
)
