"""Logs as OTAP tables: read from OTLP, kept in Parquet, asked in SQL window by window, and given back as OTLP."""
