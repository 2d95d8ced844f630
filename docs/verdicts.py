"""Compare the verdicts of the studies with docs/verdicts.csv, from which pages have their counts.

Usage:

    .venv/bin/python docs/verdicts.py           compare out/STUDY/claims.csv; as `make demo` does.
                                                 Rows that need a kernel may be undecided
    .venv/bin/python docs/verdicts.py --write    write them to docs/verdicts.csv
    .venv/bin/python docs/make_reference.py      after that: count them in the pages
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from midflight.claims import ClaimResult, Verdict
from midflight.studies import KERNEL_STUDIES, STUDIES, load

ROOT = Path(__file__).parents[1]
VERDICTS = ROOT / "docs" / "verdicts.csv"
#: Of `claims.csv`, the columns that are compared.
COLUMNS = ("id", "verdict", "parts_passed", "parts", "beyond_paper")

#: The verdict of a row that needs a kernel, without one.
UNDECIDABLE = str(Verdict.UNDECIDABLE)

Row = tuple[str, ...]


def expected() -> list[Row]:
    """Return the verdicts of docs/verdicts.csv: the study, then the columns."""
    with VERDICTS.open(encoding="utf-8", newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def reproduced(study: str, folder: Path) -> list[Row]:
    """Return the verdicts that a reproduction of a study wrote."""
    with (folder / "claims.csv").open(encoding="utf-8", newline="") as file:
        return [(study, *(row[name] for name in COLUMNS)) for row in csv.DictReader(file)]


def rows(study: str, results: Iterable[ClaimResult]) -> list[Row]:
    """Return verdicts in the form in which they are written."""
    found = []
    for one in results:
        plain = {**one.to_json(), "beyond_paper": "yes" if one.beyond else "no"}
        found.append((study, *(str(plain[name]) for name in COLUMNS)))
    return found


def differences(found: Sequence[Row], known: Sequence[Row]) -> list[str]:
    """Return one line for each verdict that differs, is new or is missing."""
    before, after = ({row[1]: row[2:] for row in each} for each in (known, found))
    lines = []
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name):
            was, now = (told(each.get(name)) for each in (before, after))
            lines.append(f"{name}: {now}; docs/verdicts.csv: {was}")
    return lines


def told(row: Row | None) -> str:
    return f"{row[0]} ({row[1]} of {row[2]})" if row else "missing"


def kernel_rows() -> list[str]:
    """Return the claims that need runs of a kernel, which are left out without one."""
    return [
        claim.id
        for name in sorted(KERNEL_STUDIES)
        for claim in load(name).claims
        if any(getattr(job, "optional", False) for job in claim.needs)
    ]


def with_kernel(found: Sequence[Row], known: Sequence[Row]) -> list[Row]:
    """Return the verdicts of a study, with the known ones of rows that lacked a kernel."""
    before = {row[1]: row for row in known}
    need = kernel_rows()
    return [
        before.get(row[1], row) if row[1] in need and row[2] == UNDECIDABLE else row
        for row in found
    ]


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--write"]):
        print(f"unknown: {' '.join(arguments)}; nothing or --write is accepted", file=sys.stderr)
        return 2
    missing = [one for one in STUDIES if not (ROOT / "out" / one / "claims.csv").exists()]
    if missing:
        print(
            f"no out/{missing[0]}/claims.csv; `sh examples/demo.sh .venv/bin/midflight` writes it",
            file=sys.stderr,
        )
        return 2
    known = expected()
    found = [row for one in STUDIES for row in reproduced(one, ROOT / "out" / one)]
    kept = [row for row in found if row not in with_kernel(found, known)]
    if kept:
        print(f"{len(kept)} rows are left out: they need a kernel, make lab")
    found = with_kernel(found, known)
    if arguments:
        with VERDICTS.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("study", *COLUMNS), *found])
        return 0
    lines = differences(found, known)
    print("\n".join(lines) or f"All {len(found)} verdicts are those of docs/verdicts.csv.")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
