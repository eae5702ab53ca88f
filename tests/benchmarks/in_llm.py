"""Run by the `llm` peer: hold a conversation and log it, so that `llm -c` goes on with it.

python in_llm.py MODEL EXCHANGES  (one a line on stdin)
"""

from __future__ import annotations

import sys

import llm
import sqlite_utils
from llm.cli import logs_db_path
from llm.migrations import migrate


def main() -> None:
    path = logs_db_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite_utils.Database(path)
    migrate(database)
    conversation = llm.get_model(sys.argv[1]).conversation()
    for line in sys.stdin:
        response = conversation.prompt(line.strip())
        response.text()
        response.log_to_db(database)


main()
