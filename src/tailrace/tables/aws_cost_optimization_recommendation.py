"""AWS cost optimization recommendations: one row per recommendation and export."""

from tailrace.core import Common, Delimited, Parquet, Preset, Table, col

TABLE = Table(
    name="aws_cost_optimization_recommendation",
    doc="How AWS says that cost can be saved, by resource.",
    format=Delimited(header=True, loose=True),
    presets=(Preset("parquet", Parquet(), "Exports in Parquet."),),
    columns=(
        col("account_id", doc="Account of the resource."),
        col("region", doc="Region of the resource."),
        col("resource_arn", doc="ARN of the resource."),
        col("current_resource_type", doc="What the resource is, such as Ec2Instance."),
        col("current_resource_summary", doc="The resource in words."),
        col("current_resource_details", "json", doc="The resource, with its usage and cost."),
        col("recommendation_id", doc="Id of the recommendation."),
        col("recommendation_source", doc="ComputeOptimizer or CostExplorer."),
        col("action_type", doc="Rightsize, Stop, Upgrade, Delete, PurchaseSavingsPlans …"),
        col("recommended_resource_type", doc="What it should be."),
        col("recommended_resource_summary", doc="What it should be, in words."),
        col("recommended_resource_details", "json", doc="What it should be, with usage and cost."),
        col("estimated_monthly_savings_before_discount", "double", doc="Savings in a month, before discounts."),
        col("estimated_monthly_savings_after_discount", "double", doc="Savings in a month, after discounts."),
        col("estimated_savings_percentage_before_discount", "double", doc="Share that is saved, before discounts."),
        col("estimated_savings_percentage_after_discount", "double", doc="Share that is saved, after discounts."),
        col("estimated_monthly_cost_before_discount", "double", doc="Cost in a month, before discounts."),
        col("estimated_monthly_cost_after_discount", "double", doc="Cost in a month, after discounts."),
        col("currency_code", doc="Currency of all these."),
        col("implementation_effort", doc="VeryLow, Low, Medium, High or VeryHigh."),
        col("restart_needed", "boolean", doc="Whether a restart is needed."),
        col("rollback_possible", "boolean", doc="Whether it can be undone."),
        col("recommendation_lookback_period_in_days", "bigint", doc="Days of usage that were looked at."),
        col("last_refresh_timestamp", "timestamp", doc="When the recommendation was made, UTC."),
        col("tags", "json", doc="Tags of the resource, by key."),
    ),
    common=Common(time=("last_refresh_timestamp",), akas=("resource_arn",)),
    file_layout=(
        (
            "aws_s3_bucket",
            "%{DATA:export_name}/data/%{DATA:partition}/(?:%{TIMESTAMP_ISO8601:timestamp}-%{UUID:execution_id}/)?"
            "%{DATA:filename}.csv.gz",
        ),
    ),
)
