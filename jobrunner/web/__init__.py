"""The dashboard: what happens and why, in a browser. docs/howto/dashboard.md says how to start it and how to mount it.

``respond`` in ``core`` is the whole of it, without a framework. The adapters translate requests: ``asgi``, ``wsgi``,
``flask`` and ``django`` for an application, whose own login says who the visitor is, and ``standalone`` for
``jobrunner web``.
"""

from jobrunner.web.permissions import EVERYTHING, READ_ONLY, Verb, Visitor

__all__ = ["EVERYTHING", "READ_ONLY", "Verb", "Visitor"]
