"""AWS VPC flow logs, any field list: one row per flow and interval."""

from tailrace.core import Common, Layout, Parquet, Preset, Table, col

DEFAULT = Layout(
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action "
    "log-status",
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
        Preset("default", DEFAULT, "The fields of version 2."),
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
