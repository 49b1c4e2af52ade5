"""What the columns mean: one module per table, each holding one value `TABLE`, found by its file name."""
