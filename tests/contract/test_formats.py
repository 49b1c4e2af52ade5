"""The contract of formats, as packages run it too."""

from tailrace.testing.test_formats import *  # noqa: F403
