"""Azure's cost and usage exports, actual or amortized: one row per charge."""

from tailrace.core import Common, Delimited, Parquet, Preset, Table, camel, col

# Older exports leave out the braces.
TAGS = "case when trim(tags) like '{%' then tags else '{' || tags || '}' end"

# Enterprise agreements and older exports.
OTHER_NAMES = (
    ("usageDateTime", "date"), ("usageDate", "date"), ("cost", "costInBillingCurrency"),
    ("preTaxCost", "costInBillingCurrency"), ("billingCurrencyCode", "billingCurrency"),
    ("currency", "billingCurrency"), ("resourceGroup", "resourceGroupName"), ("instanceId", "resourceId"),
    ("subscriptionGuid", "subscriptionId"), ("usageQuantity", "quantity"), ("resourceRate", "effectivePrice"),
    ("product", "productName"), ("invoiceSection", "invoiceSectionName"),
)  # fmt: skip


def day(name: str) -> str:
    """A day, month first or as ISO 8601 has it."""
    text = camel(name)
    return f"coalesce(try_strptime({text}, '%m/%d/%Y'), try_cast({text} as timestamp))"


TABLE = Table(
    name="azure_cost_and_usage_actual",
    doc="What Azure charges: cost, usage and prices by subscription, resource and meter.",
    format=Delimited(header=True, other_names=OTHER_NAMES),
    presets=(Preset("parquet", Parquet(), "Exports in Parquet."),),
    columns=(
        col("date", "timestamp", sql=day("date"), doc="Day of the usage or purchase."),
        col(
            "billing_period_start_date",
            "timestamp",
            sql=day("billing_period_start_date"),
            doc="First day of the billing period.",
        ),
        col(
            "billing_period_end_date",
            "timestamp",
            sql=day("billing_period_end_date"),
            doc="Last day of the billing period.",
        ),
        col(
            "service_period_start_date",
            "timestamp",
            sql=day("service_period_start_date"),
            doc="First day that the charge is for.",
        ),
        col(
            "service_period_end_date",
            "timestamp",
            sql=day("service_period_end_date"),
            doc="Last day that the charge is for.",
        ),
        col("exchange_rate_date", "timestamp", sql=day("exchange_rate_date"), doc="Day of the exchange rate."),
        col("invoice_id", src="invoiceId", doc="Invoice."),
        col("previous_invoice_id", src="previousInvoiceId", doc="Invoice that a refund belongs to."),
        col("billing_account_id", src="billingAccountId", doc="Account that pays."),
        col("billing_account_name", src="billingAccountName", doc="Name of the account."),
        col("billing_profile_id", src="billingProfileId", doc="Part of the account that gets invoices of its own."),
        col("billing_profile_name", src="billingProfileName", doc="Name of that part."),
        col("invoice_section_id", src="invoiceSectionId", doc="Section of the invoice."),
        col("invoice_section_name", src="invoiceSectionName", doc="Name of the section."),
        col("reseller_name", src="resellerName", doc="Reseller."),
        col("reseller_mpn_id", src="resellerMpnId", doc="Number of the reseller at Microsoft."),
        col("cost_center", src="costCenter", doc="Cost centre."),
        col("subscription_id", src="subscriptionId", doc="Subscription."),
        col("subscription_name", src="subscriptionName", doc="Name of the subscription."),
        col("resource_group_name", src="resourceGroupName", doc="Resource group."),
        col("resource_id", src="resourceId", doc="Resource."),
        col("resource_location", src="resourceLocation", doc="Region of the resource."),
        col("location", doc="Region, in Azure's own spelling."),
        col("consumed_service", src="consumedService", doc="Service that was used."),
        col("service_family", src="serviceFamily", doc="Kind of service, such as Compute."),
        col("meter_id", src="meterId", doc="Meter."),
        col("meter_name", src="meterName", doc="Name of the meter."),
        col("meter_category", src="meterCategory", doc="Kind of meter, such as Virtual Machines."),
        col("meter_sub_category", src="meterSubCategory", doc="Kind of meter, in more detail."),
        col("meter_region", src="meterRegion", doc="Region of the meter."),
        col("product_id", src="productId", doc="Product."),
        col("product_name", src="productName", doc="Name of the product."),
        col("product_order_id", src="productOrderId", doc="Order of the product."),
        col("product_order_name", src="productOrderName", doc="Name of the order."),
        col("publisher_id", src="publisherId", doc="Publisher."),
        col("publisher_name", src="publisherName", doc="Name of the publisher."),
        col("publisher_type", src="publisherType", doc="Microsoft, Azure, AWS or Marketplace."),
        col("quantity", "double", doc="How much was used."),
        col("unit_of_measure", src="unitOfMeasure", doc="Of what."),
        col("effective_price", "double", src="effectivePrice", doc="Price of a unit after discounts."),
        col("unit_price", "double", src="unitPrice", doc="Price of a unit by contract."),
        col("payg_price", "double", src="paygPrice", doc="Price of a unit without a contract."),
        col(
            "cost_in_billing_currency",
            "double",
            src="costInBillingCurrency",
            doc="Cost in the currency of the invoice.",
        ),
        col(
            "cost_in_pricing_currency",
            "double",
            src="costInPricingCurrency",
            doc="Cost in the currency of the price list.",
        ),
        col("cost_in_usd", "double", src="costInUsd", doc="Cost in US dollars."),
        col(
            "payg_cost_in_billing_currency",
            "double",
            src="paygCostInBillingCurrency",
            doc="What it would cost without a contract, in the currency of the invoice.",
        ),
        col("payg_cost_in_usd", "double", src="paygCostInUsd", doc="The same in US dollars."),
        col("billing_currency", src="billingCurrency", doc="Currency of the invoice."),
        col("pricing_currency", src="pricingCurrency", doc="Currency of the price list."),
        col(
            "exchange_rate_pricing_to_billing",
            "double",
            src="exchangeRatePricingToBilling",
            doc="From the one to the other.",
        ),
        col("charge_type", src="chargeType", doc="Usage, Purchase, Refund, Tax …"),
        col("frequency", doc="UsageBased, Recurring or OneTime."),
        col("pricing_model", src="pricingModel", doc="OnDemand, Reservation, Spot, SavingsPlan."),
        col("term", doc="Months of a reservation or savings plan."),
        col("reservation_id", src="reservationId", doc="Reservation that was used."),
        col("reservation_name", src="reservationName", doc="Name of the reservation."),
        col("benefit_id", src="benefitId", doc="Reservation or savings plan that was used."),
        col("benefit_name", src="benefitName", doc="Its name."),
        col("cost_allocation_rule_name", src="costAllocationRuleName", doc="Rule that moved the cost here."),
        col("is_azure_credit_eligible", "boolean", src="isAzureCreditEligible", doc="Whether credits may pay for it."),
        col("provider", doc="Azure, AWS …"),
        col("service_info1", src="serviceInfo1", doc="What the service tells of itself."),
        col("service_info2", src="serviceInfo2", doc="More of that."),
        col("additional_info", src="additionalInfo", doc="What else the service tells, as JSON."),
        col("tags", "json", sql=f"coalesce(try(({TAGS})::json), to_json(tags))", doc="Tags of the resource."),
    ),
    common=Common(
        time=("date", "service_period_start_date", "billing_period_start_date", "billing_period_end_date"),
        akas=("resource_id",),
    ),
    file_layout=(("azure_blob_storage", "part_%{INT:part_number}_%{INT:file_number}.csv.(?:gz|zip)"),),
    aliases=("azure_cost_and_usage_details",),
)
