"""The command line: the only room that imports click. A command parses, makes one call, renders."""

from __future__ import annotations

import gc
import os
import sys

from jobrunner.cli import idle, streams


def main() -> None:
    """Run the command line. Every error of a user or of the environment is one line on stderr."""
    streams.read_as_utf8()
    streams.mend()
    # A umask that takes the owner's own rights would lock us out of the files that we make.
    os.umask(os.umask(0o077) & 0o077)
    try:
        code = 0 if idle.was_idle(sys.argv[1:]) else _run()
    except KeyboardInterrupt:
        code = streams.complain("interrupted", 130)
    except (ImportError, MemoryError) as error:
        # Too little memory for a library shows as either.
        code = streams.complain(f"cannot load what it needs ({str(error) or 'out of memory'})", 78)
    streams.leave(code)


def _run() -> int:
    # To look for garbage among what is being imported takes a tenth of a short command's time, and finds none. A tick
    # begins to collect when its imports are done; no other command lives long enough to need it.
    gc.disable()
    from jobrunner.cli.program import run

    return run()
