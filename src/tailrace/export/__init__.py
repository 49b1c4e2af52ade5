"""Copies of the lake for those who want one: a plain hive tree, or an Iceberg table."""
