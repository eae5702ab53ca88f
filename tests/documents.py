"""What the README says of the settings, made from their table."""

from __future__ import annotations

import re
from pathlib import Path

from agentmem.settings import TABLE, default

README = Path(__file__).parent.parent / "README.md"
_SECTION = re.compile(r"(<!-- settings -->\n).*?(<!-- /settings -->)", re.DOTALL)


def settings_table() -> str:
    """Return the settings as a Markdown table."""
    rows = ["| Setting | Default | Meaning |", "|---|---|---|"]
    for name, row in TABLE.items():
        unset = row.metadata["unset"] or f"`{default(name)}`"
        rows.append(f"| `{name}` | {unset} | {row.metadata['help']} |")
    return "\n".join(rows) + "\n"


def with_settings(readme: str) -> str:
    """Return the README's text with the present settings."""
    return _SECTION.sub(lambda found: found[1] + settings_table() + found[2], readme)
