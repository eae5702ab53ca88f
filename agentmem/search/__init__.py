"""Finding what was ever said, in MEMORY.md and in the archives."""

from __future__ import annotations

from agentmem.search.finding import Hit, Search
from agentmem.search.index import state
from agentmem.search.query import Query, parse_query
from agentmem.search.showing import excerpt, marks, record
from agentmem.search.skimming import promising

__all__ = ["Hit", "Query", "Search", "excerpt", "marks", "parse_query", "promising", "record", "state"]
