"""`ContextCompressor`: when history becomes a summary, and how."""

from __future__ import annotations

from agentmem.compressor.core import ContextCompressor
from agentmem.compressor.report import Compaction

__all__ = ["Compaction", "ContextCompressor"]
