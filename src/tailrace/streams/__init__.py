"""Live data: listeners → spool → runs → the sink's files."""
