"""What an error points at."""

from __future__ import annotations


def marked(error: BaseException) -> str:
    """What stands over the carets of the first excerpt, in the message or in a note."""
    lines = "\n".join([str(error), *getattr(error, "__notes__", ())]).split("\n")
    found = []
    for code, carets in zip(lines, lines[1:]):
        if carets.strip().startswith("|") and set(carets.strip()) <= set("|^ \t") and "^" in carets:
            found.append(code[carets.index("^") : carets.rindex("^") + 1])
    return " ".join(found)
