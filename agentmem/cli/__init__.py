"""The command line: Typer glue, one small file a command; `main` is the only exit point."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from agentmem.cli.app import app
from agentmem.errors import AgentMemError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["app", "main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; `argv` is without the program's name."""
    try:
        status = app(args=argv, prog_name="agentmem", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except AgentMemError as error:
        _report(str(error))
        return error.exit_code
    except typer.TyperException as error:
        _report_usage(error)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 0  # whoever read the output has seen enough
    except OSError as error:
        where = f" {error.filename}" if error.filename else ""
        _report(f"cannot read or write{where}: {error.strerror or error}")
        return 1
    except Exception as error:
        if os.environ.get("AGENTMEM_DEBUG"):
            raise
        _report(f"internal error: {type(error).__name__}: {error}; AGENTMEM_DEBUG=1 shows where")
        return 1


def _report(message: str) -> None:
    from agentmem.cli import output

    output.notice(message)


def _report_usage(error: typer.TyperException) -> None:
    """Say what is wrong with the arguments; where there are none at all, the help is the answer."""
    from agentmem.cli.helping import mistake

    if type(error).__name__ == "NoArgsIsHelpError":
        sys.stderr.write(f"{error.format_message()}\n")
    else:
        _report(mistake(error))
