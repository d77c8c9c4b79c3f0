"""Character sets in Java patterns, with nesting, unions and intersections; a caret negates the whole set."""

from penstock_java_compat.regex.classes import fold_ascii, literal
from penstock_java_compat.regex.escapes import Escapes

__all__ = ["Sets"]


class Sets(Escapes):
    """Scanner of sets in square brackets."""

    def _set(self) -> str:
        """Read the set after an opening bracket, including its closing bracket; return a set in the package's syntax."""
        negated = False
        if self._peek() == "^":
            self._at += 1
            negated = True
        inside = self._set_items(nested=False)
        return f"[^{inside}]" if negated else inside

    def _set_items(self, *, nested: bool) -> str:
        """Read the items up to the closing bracket, which is not read: it also ends the right side of an intersection."""
        union: list[str] = []
        result: str | None = None
        while True:
            char = self._peek()
            if not char:
                raise self.failed("Unclosed character class")
            if char == "]" and (union or result is not None):
                if not nested:
                    self._at += 1
                return self._joined(result, union)
            if char == "[":
                self._at += 1
                union.append(self._set())
            elif char == "&" and self._text.startswith("&&", self._at):
                self._at += 2
                right = self._right_side()
                left = self._joined(result, union) if union or result is not None else None
                union = []
                if right is None:
                    if left is None:
                        raise self.failed("Bad class syntax")
                    result = left
                else:
                    result = right if left is None else f"[{left}&&{right}]"
            else:
                union.append(self._range())

    def _joined(self, result: str | None, union: list[str]) -> str:
        if result is None:
            return f"[{''.join(union)}]"
        return f"[{result}{''.join(union)}]" if union else result

    def _right_side(self) -> str | None:
        right: list[str] = []
        while (char := self._peek()) and char not in "]&":
            if char == "[":
                self._at += 1
                right.append(self._set())
            else:
                right.append(self._set_items(nested=True))
        if not char:
            raise self.failed("Unclosed character class")
        return f"[{''.join(right)}]" if right else None

    def _range(self) -> str:
        char = self._text[self._at]
        if char == "\\":
            self._at += 1
            if not self.more:
                raise self.failed("Unclosed character class")
            found = self._class_escape()
            if found is not None:
                return found
            low = self._char_escape()
        else:
            low = self._take()
        if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", "[", ""):
            self._at += 1
            if self._peek() == "\\":
                self._at += 1
                if self._text[self._at : self._at + 1] in tuple("dDsSwWhHvVpP"):
                    raise self.failed("Illegal character range")
                high = self._char_escape()
            else:
                high = self._take()
            if high < low:
                raise self.failed("Illegal character range")
        else:
            high = low
        if self._flags.i and not (self._flags.u or self._flags.U):
            return fold_ascii(low, high)
        return literal(low) if low == high else f"{literal(low)}-{literal(high)}"
