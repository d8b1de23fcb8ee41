"""Tables of figures in a page of documentation, each between markers of its own."""

from __future__ import annotations

from pathlib import Path


def replace_table(page: str, name: str, figures: str) -> None:
    """What stands between `<!-- name -->` and `<!-- end of name -->` in the file `page` becomes `figures`.

    Raises ValueError where the markers are missing: the rest of the page would be lost.
    """
    text = Path(page).read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no markers of a table {name!r}")
    Path(page).write_text(f"{before}{begin}{figures.rstrip()}\n{end}{after}")
