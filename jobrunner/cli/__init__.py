"""The command line: the only room that imports click. A command parses its words, makes one call and prints."""

from __future__ import annotations

import gc
import os
import sys

from jobrunner.cli import idle, streams


def main() -> None:
    """Run the command line. Every error of a user or of the environment is one line on stderr."""
    # Garbage collection during the imports takes a tenth of a short command's time and finds nothing. A command that
    # does not end soon starts it: garbage.collect.
    gc.disable()
    streams.read_as_utf8()
    streams.repair()
    # A umask must not remove the owner's rights: we could not open the files that we create.
    os.umask(os.umask(0o077) & 0o077)
    try:
        code = 0 if idle.was_idle(sys.argv[1:]) else _run()
    except KeyboardInterrupt:
        code = streams.report_error("interrupted", 130)
    except (ImportError, MemoryError) as error:
        # A library that gets too little memory raises one or the other.
        code = streams.report_error(f"cannot load what it needs ({str(error) or 'out of memory'})", 78)
    streams.end_process(code)


def _run() -> int:
    idle.start_first_child()
    try:
        if (config := idle.settings_if_due()) is not None:
            from jobrunner.cli import reporting, ticking

            return reporting.exit_code(lambda: ticking.run(config))
        from jobrunner.cli.program import run

        return run()
    finally:
        if (processes := idle.take_processes()) is not None:
            processes.close()
