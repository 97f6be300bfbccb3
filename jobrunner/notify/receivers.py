"""Sends a message to one receiver: a mail, a webhook or a command. Imports what it needs only then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from contextlib import suppress
from typing import Any

from jobrunner import clock
from jobrunner.errors import ConfigurationError
from jobrunner.names import NOTICE_FIELDS
from jobrunner.notify.message import Message
from jobrunner.settings.notify import Mail, Program, Receiver, Webhook
from jobrunner.text import one_line

_TRY_AGAIN = (429, 503)
"""The answers by which a server says that it has done nothing yet."""
_DATABASE_URLS = ("JOBRUNNER_DATABASE_URL", "DATABASE_URL")


class NotSent(Exception):
    """The receiver was certainly not notified, so it may be later. The text has no secret."""


class Failed(Exception):
    """The receiver may have been notified. The text has no secret."""


def send(receiver: Receiver, message: Message, ends_at: float) -> None:
    """Tell a receiver, until ``ends_at`` on the monotonic clock. Raises NotSent or Failed, and no other error."""
    try:
        if isinstance(receiver, Mail):
            _mail(receiver, message, ends_at)
        elif isinstance(receiver, Webhook):
            url, body = receiver.url.read(), json.dumps(message.data()).encode()
            post(url, body, {"Content-Type": "application/json"}, _left(ends_at))
        else:
            _run(receiver, message, ends_at)
    except ConfigurationError as error:
        raise NotSent(str(error)) from None


def _left(ends_at: float) -> float:
    return max(0.1, ends_at - clock.elapsed())


def post(url: str, body: bytes, headers: dict[str, str], timeout: float) -> None:
    """POST to a URL. Raises NotSent or Failed, whose text does not contain the URL: it is a secret."""
    import http.client
    import urllib.error
    import urllib.request

    from jobrunner.effects.webhooks import opener, was_not_connected, without_login

    try:
        if not url.startswith(("https://", "http://")):
            raise ConfigurationError("its URL does not begin with https:// or http://")
        url, login = without_login(url)
        headers = {"User-Agent": "jobrunner", **login, **headers}
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 - http only
        with opener().open(request, timeout=timeout) as answer:
            answer.read(1024)
    except urllib.error.HTTPError as error:
        kind = NotSent if error.code in _TRY_AGAIN else Failed
        error.close()
        raise kind(f"HTTP {error.code}") from None
    except urllib.error.URLError as error:
        raise (NotSent if was_not_connected(error) else Failed)(_reason(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Failed(_reason(error)) from None
    except ValueError:
        # The text of the error quotes the URL.
        raise NotSent("its URL cannot be read") from None


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time; it may have been sent"
    if isinstance(error, OSError):
        return one_line(error.strerror or type(error).__name__, 200)
    # Other texts may quote the URL.
    return type(error).__name__


def _mail(receiver: Mail, message: Message, ends_at: float) -> None:
    import smtplib
    import ssl
    from email.message import EmailMessage

    mail = EmailMessage()
    mail["Subject"] = f"[jobrunner] {message.subject}"
    mail["From"], mail["To"] = receiver.sender, ", ".join(receiver.to)
    # The same for the same notices, so that people can see that a mail is no other one.
    mail["Message-ID"] = f"<jobrunner.{'.'.join(map(str, message.notices[:10]))}@{message.host}>"
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text())
    password = receiver.password.read() if receiver.password is not None else None
    is_begun = False
    try:
        make: Any = smtplib.SMTP_SSL if receiver.security == "tls" else smtplib.SMTP
        secure = {"context": ssl.create_default_context()} if receiver.security != "none" else {}
        with make(
            receiver.host, receiver.port, timeout=_left(ends_at), **(secure if receiver.security == "tls" else {})
        ) as server:
            if receiver.security == "starttls":
                server.starttls(**secure)
            if receiver.user is not None and password is not None:
                server.login(receiver.user, password)
            is_begun = True
            server.send_message(mail)
    except (smtplib.SMTPSenderRefused, smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as error:
        raise NotSent(f"the mail server refused it: {_answer(error)}") from None
    except smtplib.SMTPException as error:
        raise (Failed if is_begun else NotSent)(f"the mail server: {_answer(error)}") from None
    except OSError as error:
        raise (Failed if is_begun else NotSent)(f"the mail server: {_reason(error)}") from None


def _answer(error: Any) -> str:
    recipients = getattr(error, "recipients", None)
    code, text = (
        next(iter(recipients.values()))
        if recipients
        else (getattr(error, "smtp_code", ""), getattr(error, "smtp_error", type(error).__name__))
    )
    return one_line(f"{code} {text.decode('utf-8', 'replace') if isinstance(text, bytes) else text}".strip(), 200)


def _run(receiver: Program, message: Message, ends_at: float) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in _DATABASE_URLS}
    environment |= {f"JOBRUNNER_{name.upper()}": getattr(message, name) for name in NOTICE_FIELDS}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        # Files and not pipes: a program that reads nothing, or whose children keep a pipe open, holds up nobody.
        given.write(json.dumps(message.data()).encode())
        given.seek(0)
        try:
            process = subprocess.Popen(
                receiver.argv,
                cwd=receiver.folder,
                env=environment,
                stdin=given,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise NotSent(f"cannot start {receiver.argv[0]}: {error.strerror}") from None
        try:
            code = process.wait(timeout=_left(ends_at))
        except subprocess.TimeoutExpired:
            raise Failed("it did not end in time, and was killed") from None
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if code:
            said.seek(max(0, said.seek(0, os.SEEK_END) - 500))
            last = said.read().decode("utf-8", "replace").strip().splitlines()[-1:]
            raise Failed(one_line(": ".join([f"exit status {code}", *last]), 300))
