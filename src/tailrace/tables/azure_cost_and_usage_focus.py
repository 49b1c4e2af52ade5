"""Azure's cost and usage in the FinOps specification FOCUS: one row per charge."""

from dataclasses import replace

from tailrace.core import Parquet, Preset, col
from tailrace.tables.aws_cost_and_usage_focus import TABLE as FOCUS

SHARED = tuple(column for column in FOCUS.columns if not column.name.startswith("x_"))

TABLE = replace(
    FOCUS,
    name="azure_cost_and_usage_focus",
    doc="What Azure charges, in the columns of FOCUS that all clouds share.",
    presets=(Preset("parquet", Parquet(), "Exports in Parquet."),),
    columns=(
        *SHARED,
        col("billing_account_type", doc="Billing Account or Billing Profile."),
        col("sub_account_type", doc="Subscription."),
        col("x_billing_profile_id", doc="Part of the account that gets invoices of its own."),
        col("x_billing_profile_name", doc="Name of that part."),
        col("x_cost_center", doc="Cost centre."),
        col("x_effective_unit_price", "double", doc="Price of a unit after discounts."),
        col("x_invoice_id", doc="Invoice."),
        col("x_invoice_section_name", doc="Section of the invoice."),
        col("x_pricing_currency", doc="Currency of the price list."),
        col("x_resource_group_name", doc="Resource group."),
        col("x_resource_type", doc="Type of the resource, in Azure's own spelling."),
        col("x_sku_description", doc="The product in words."),
        col("x_sku_meter_category", doc="Kind of meter, such as Virtual Machines."),
        col("x_sku_meter_name", doc="Name of the meter."),
        col("x_sku_meter_subcategory", doc="Kind of meter, in more detail."),
        col("x_sku_region", doc="Region of the price."),
        col("x_sku_details", "json", doc="What else the service tells."),
    ),
    common=replace(FOCUS.common, akas=("resource_id",)),
    file_layout=(("azure_blob_storage", "part_%{INT:part_number}_%{INT:file_number}.csv(?:.(?:gz|zip))?"),),
)
