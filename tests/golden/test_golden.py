"""The contract of tables, as packages run it too. `pytest tests/golden --update-golden` writes the pairs anew."""

from tailrace.testing.test_tables import *  # noqa: F403
