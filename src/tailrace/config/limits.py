"""What expressions may compute: whatever a file says, it neither runs for long nor fills the memory."""

from __future__ import annotations

from tailrace.config.values import Value

MAX_DEPTH = 100
_ALLOWANCE = 300_000
_PER_BYTE = 20
_LEAST = 200
_LETTERS = 16
"Letters of a text that count as one step."


class Budget:
    """Steps that are left; they grow with the size of the files, so that long files are no fault."""

    def __init__(self, size: int) -> None:
        self.left = _ALLOWANCE + _PER_BYTE * size

    def renew(self) -> None:
        """Before each attribute: one that took all leaves enough for simple ones."""
        self.left = max(self.left, _LEAST)

    def spend(self, steps: int) -> None:
        """Raises ValueError when nothing is left."""
        self.left -= steps
        if self.left < 0:
            raise ValueError("this configuration computes too much; make the lists it goes through shorter")

    def weigh(self, value: Value) -> None:
        """Spend as much as the value is large, without ever walking through all of one that is too large."""
        level: list[Value] = [value]
        for _ in range(MAX_DEPTH):
            inner: list[Value] = []
            for item in level:
                if isinstance(item, str):
                    self.spend(len(item) // _LETTERS)
                elif isinstance(item, (list, dict)):
                    self.spend(len(item))
                    inner.extend(item.values() if isinstance(item, dict) else item)
            if not inner:
                return
            level = inner
        raise ValueError(f"nested too deeply; at most {MAX_DEPTH} levels are read")
