"""What protects every page: the headers of each response, and the refusal of requests that another site has made."""

from __future__ import annotations

from jobrunner.web.messages import Request

_CONTENT = {
    "default-src": "'none'",
    # Our own file, and what it asks for: our own pages.
    "script-src": "'self'",
    "connect-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
HEADERS = (
    ("Content-Security-Policy", "; ".join(f"{name} {value}" for name, value in _CONTENT.items())),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    # Not no-referrer: with it a browser sends `Origin: null` with each form, and the forms could not be told apart.
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
SAFE_METHODS = ("GET", "HEAD")


def foreign(request: Request) -> str | None:
    """Why a request that changes something may come from another site. None means that it comes from our own page.

    Browsers send Sec-Fetch-Site over https and to this host. Over plain http there is only Origin.
    """
    if request.method in SAFE_METHODS:
        return None
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return None if site == "same-origin" else "another site has sent this request (Sec-Fetch-Site)"
    origin = request.headers.get("origin")
    if origin is None:
        return "it is not known which site has sent this request: it has neither Sec-Fetch-Site nor Origin"
    host = request.headers.get("host", "")
    is_own = host and origin.lower() == f"{request.scheme}://{host}".lower()
    return None if is_own else "another site has sent this request (Origin)"
