"""The lake for programs and notebooks, as `cli` is for people: `tailrace.open()`."""
