"""The contract of sources, as packages run it too."""

from tailrace.testing.test_sources import *  # noqa: F403
