"""A mail server for the demo, on loopback: writes each mail to a file, and does not take every mail at once.

    python mailserver.py FOLDER

Prints its port, and ends when its standard input does. Its rules go by the address:

* ``busy-…`` is refused with 451 for the first two tries, as servers that use greylisting do;
* ``gone-…`` is refused with 550, always;
* a Message-ID that it has stored already is accepted and dropped, as real receivers do.

What it did is in FOLDER/server.log, one line each: ``stored``, ``dropped``, ``451`` or ``550``, and the address.
"""

import asyncio
import os
import re
import sys
from collections import Counter
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any

from aiosmtpd.smtp import SMTP

BUSY_TRIES = 2
SECONDS_PER_MAIL = 0.1


class Mailbox:
    """What aiosmtpd calls for each command of a client."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tries: Counter[str] = Counter()

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:  # noqa: N802
        self.tries[address] += 1
        if address.startswith("gone-"):
            self.log("550", address)
            return "550 5.1.1 no such user here"
        if address.startswith("busy-") and self.tries[address] <= BUSY_TRIES:
            self.log("451", address)
            return "451 4.7.1 try again later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802
        await asyncio.sleep(SECONDS_PER_MAIL)
        message_id = BytesHeaderParser().parsebytes(envelope.content).get("Message-ID", "")
        path = self.folder / (re.sub(r"[^A-Za-z0-9@.-]", "", message_id) + ".eml")
        address = ",".join(envelope.rcpt_tos)
        if path.exists():
            self.log("dropped", address)
            return "250 OK, known already"
        draft = path.with_suffix(".part")
        draft.write_bytes(envelope.content)
        draft.rename(path)
        self.log("stored", address)
        return "250 OK"

    def log(self, what: str, address: str) -> None:
        with (self.folder / "server.log").open("a") as log:
            log.write(f"{what} {address}\n")


async def main(folder: Path) -> None:
    """Serve until standard input ends: whoever started this has gone, or wants it to go."""
    loop = asyncio.get_running_loop()
    mailbox = Mailbox(folder)
    server = await loop.create_server(lambda: SMTP(mailbox, hostname="mail.example"), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)  # clients that are in the middle of a mail are left to try again


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
