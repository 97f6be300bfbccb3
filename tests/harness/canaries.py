"""Secrets that must leave nowhere: in every shape in which payloads have them, and as texts repeat them."""

import json
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import unquote

PEM = "-----BEGIN RSA PRIVATE KEY-----\n{0}MIIEowIBAAKCAQEA7\n{0}x2VbJdKpQwErTyUiOp+/\n-----END RSA PRIVATE KEY-----\n"
MARK = "canary"


class Canary(NamedTuple):
    """A payload with a secret, the texts in which jobs repeat it, and what must stand nowhere.

    ``needs`` are names that the page must be told of.
    """

    name: str
    payload: dict[str, Any]
    texts: list[str]
    secret: str
    needs: tuple[str, ...] = ()


def _named(name: str) -> Canary:
    secret = f"{MARK}-of-{name.strip('_-').lower()}"
    return Canary(f"name {name}", {name: secret}, [f"no login with {secret} today"], secret)


NAMES = (
    *("password", "passwords", "PGPASSWORD", "DBPassword", "dbPass", "passphrase", "userPasswd", "pwd", "secret"),
    *("token", "tokens", "accesstoken", "access_token", "apiKey", "APIKEY", "x-api-key", "jwt", "otp", "ssh_key"),
    *("private_key", "signing-key", "dsn", "auth", "Authorization", "cookie", "Set-Cookie", "client_secret"),
    *("AWS_SECRET_ACCESS_KEY", "credentials", "sessionId", "bearer", "smtpPassword", "encryptionKey", "_token"),
)


def canaries() -> list[Canary]:
    """One of each kind."""
    jwt = f"eyJhbGciOiJIUzI1NiJ9.{MARK}jwt" + "Ab9_" * 150
    odd = f"{MARK}\\odd\n\"quote\" 'and' tab\t\u00e9<&>end{MARK}"
    pem = PEM.format(MARK)
    return [
        *map(_named, NAMES),
        Canary("number", {"pin_token": 73100011}, ["pin 73100011 is wrong", "73100011", "x=73100011,"], "73100011"),
        Canary("cvv", {"cvv": 7310}, ["cvv 7310 was refused"], "cvv 7310"),
        Canary("list of numbers", {"otp": [73100022]}, ["tried 73100022"], "73100022"),
        Canary("private key", {"ssh_key": pem}, _repeated(pem), f"{MARK}MII"),
        Canary("private key of another name", {"pem": pem}, [repr(pem), json.dumps(pem), pem], f"{MARK}MII"),
        Canary("escaped", {"password": odd}, _repeated(odd), MARK),
        Canary("cut token", {"jwt": jwt}, [f"bad token {jwt}"[:490] + "…", jwt[:300], jwt[40:]], f"{MARK}jwt"),
        Canary(
            "cut password",
            {"password": f"{MARK}-very-long-and-cut-by-a-limit"},
            [f"{'x' * 300} no login with {MARK}-very-long-and-c", f"bad {MARK}-ve…"],
            MARK,
        ),
        Canary("pair", {"env": [{"name": "PASSWORD", "value": f"{MARK}-pair"}]}, [f"no {MARK}-pair"], MARK),
        Canary("other pair", {"key": "db.password", "val": f"{MARK}-other"}, [f"no {MARK}-other"], MARK),
        Canary("flag", {"argv": ["psql", "--password", f"{MARK}-flag"]}, [f"no {MARK}-flag"], MARK),
        Canary("set flag", {"argv": ["psql", f"--password={MARK}-flag"]}, [f"no {MARK}-flag"], MARK),
        Canary("environment", {"env": [f"PGPASSWORD={MARK}-env"]}, [f"no {MARK}-env"], MARK),
        Canary("json in a text", {"body": json.dumps({"password": f"{MARK}-js"})}, [f"no {MARK}-js"], MARK),
        Canary("nested", {"a": [{"credentials": {"deep": [f"{MARK}-deep"]}}]}, [f"no {MARK}-deep"], MARK),
        *(
            Canary(f"address {number}", {"where": url}, [f"no way to {url}", f"no {secret} here"], MARK)
            for number, (url, secret) in enumerate(
                [
                    (f"postgresql://app:{MARK}-plain@h/db", f"{MARK}-plain"),
                    (f"postgresql://app:p/{MARK}@x@h/db", f"p/{MARK}@x"),
                    (f"redis://:{MARK}-redis@h", f"{MARK}-redis"),
                    (f"https://{MARK}token@git.example/x", "nothing"),
                    (f"https://h/x?token={MARK}-query&y=1", f"{MARK}-query"),
                    (f"https://h/x?y=1&access_token={MARK}-second", f"{MARK}-second"),
                    (f"https://hooks.slack.com/services/T0/B0/{MARK}", "nothing"),
                ]
            )
        ),
        Canary("own name", {"SSN": f"{MARK}-ssn"}, [f"no {MARK}-ssn"], MARK, ("ssn",)),
        Canary("further name", {"iban": f"{MARK}-iban"}, [f"no {MARK}-iban"], MARK, ("iban",)),
        *(
            Canary(f"in a text only {number}", {"k": "v"}, [text], MARK)
            for number, text in enumerate(
                [
                    f"password={MARK}",
                    f"{{'password': '{MARK} and more'}}",
                    f'{{\\"token\\": \\"{MARK}\\"}}',
                    f"Authorization: Bearer {MARK}123",
                    f"curl -H 'Authorization: Basic {MARK}=='",
                    f"mysql --password {MARK} -h x",
                    f"Cookie: session={MARK}; other={MARK}",
                    f"DB_PASSWORD => '{MARK}'",
                    pem,
                    repr(pem),
                ]
            )
        ),
    ]


def _repeated(secret: str) -> list[str]:
    """As an error, a log, JSON and a KeyError repeat it."""
    return [
        secret,
        repr(secret),
        json.dumps(secret),
        str(KeyError(secret)),
        repr(repr(secret)),
        " ".join(secret.split()),
    ]


def readable(body: bytes) -> str:
    """The answer as it is, and without the escapes of HTML, JSON and addresses."""
    text = body.decode()
    try:
        return f"{text}\n{json.dumps(json.loads(text), ensure_ascii=False)}"
    except ValueError:
        return f"{text}\n{unescape(text)}\n{unquote(text)}"
