"""What the numbers of a run depend on besides the code."""

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def about(binaries: Path) -> dict[str, Any]:
    """Asked before the first phase, because a checkout can move on meanwhile."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _said("git", "-C", ROOT, "rev-parse", "--short", "HEAD") or "unknown",
        "uncommitted_changes": bool(_said("git", "-C", ROOT, "status", "--porcelain", "--", "jobrunner", "proof")),
        "machine": {
            "cores": os.cpu_count(),
            "cpu": _cpu(),
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
            "load_before": os.getloadavg()[0],
        },
        "postgresql": _version(_said(binaries / "postgres", "--version")),
        "pgbouncer": _version(_said("pgbouncer", "--version")),
    }


def _said(*words: object) -> str:
    try:
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _version(text: str) -> str:
    found = re.search(r"\d+[.\d]*", text)
    return found[0] if found else "unknown"


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
