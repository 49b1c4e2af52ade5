"""Google Cloud billing as BigQuery exports it: one row per charge."""

from tailrace.core import Common, Json, Table, col, struct

LOCATION = struct(col("location"), col("country"), col("region"), col("zone"))
USAGE = struct(
    col("amount", "double"),
    col("unit"),
    col("amount_in_pricing_units", "double"),
    col("pricing_unit"),
)

TABLE = Table(
    name="gcp_billing_report",
    doc="What Google Cloud charges: cost, usage and credits by project, service and SKU.",
    format=Json(),
    columns=(
        col("usage_start_time", "timestamp", doc="When the hour or day of usage began, UTC."),
        col("usage_end_time", "timestamp", doc="When it ended, UTC."),
        col("export_time", "timestamp", doc="When the row was exported, UTC."),
        col("billing_account_id", doc="Account that pays."),
        col("invoice_month", "integer", src="/invoice/month", doc="Month of the invoice, as 202405."),
        col("cost", "double", doc="Cost before credits."),
        col("cost_at_list", "double", doc="Cost at list prices."),
        col("cost_type", doc="regular, tax, adjustment or rounding_error."),
        col("currency", doc="Currency of the costs."),
        col("currency_conversion_rate", "double", doc="Units of it for one US dollar."),
        col("credits", "json", doc="Credits: name, amount (negative), type, id."),
        col("usage", USAGE, doc="How much was used."),
        col("service_id", src="/service/id", doc="Service."),
        col("service_description", src="/service/description", doc="Name of the service."),
        col("sku_id", src="/sku/id", doc="What of the service."),
        col("sku_description", src="/sku/description", doc="Name of that."),
        col("project_id", src="/project/id", doc="Project."),
        col("project_number", src="/project/number", doc="Number of the project."),
        col("project_name", src="/project/name", doc="Name of the project."),
        col("project_labels", "json", src="/project/labels", doc="Labels of the project."),
        col("project_ancestry_numbers", src="/project/ancestry_numbers", doc="Folders above the project, as numbers."),
        col("project_ancestors", "json", src="/project/ancestors", doc="Folders above the project."),
        col("location", LOCATION, doc="Where it was used."),
        col("labels", "json", doc="Labels of the resource."),
        col("system_labels", "json", doc="Labels that Google gave."),
        col("tags", "json", doc="Tags of the resource and what is above it."),
        col("resource_name", src="/resource/name", doc="Resource, in detailed exports."),
        col("resource_global_name", src="/resource/global_name", doc="The same with its project, in detailed exports."),
        col("price", "json", doc="Price and tier, in detailed exports."),
        col("transaction_type", doc="GOOGLE, THIRD_PARTY_RESELLER or THIRD_PARTY_AGENCY."),
        col("seller_name", doc="Who sells it."),
        col("adjustment_info", "json", doc="Why a cost was changed afterwards."),
        col("consumption_model", "json", doc="Under which commitment it was used."),
    ),
    common=Common(
        time=("usage_start_time", "usage_end_time", "export_time"),
        akas=("resource_global_name",),
    ),
    file_layout=(("gcp_storage_bucket", "%{DATA:file_name}.json.gz"),),
)
