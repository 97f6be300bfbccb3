"""Build the site of all pages, with search, into build/site; llms.txt and the pages as Markdown lie in it, too.

Usage: python scripts/build_site.py

The pages are copied into build/site-source in the folders that they have here, with all that they link to, so that
every link goes on working. A link that leads nowhere, or to a heading that is not there, is an error.
"""

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import doc_index
from doc_index import ROOT

SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
CONFIGURATION, STYLE = ROOT / "scripts" / "site.yml", ROOT / "scripts" / "site.css"
_FENCED = re.compile(r"(?ms)^```.*?^```$")
_WHOLE_LINK = re.compile(r"\[(?P<text>[^\]\n]*)\]\((?P<path>(?!https?:|mailto:|#)[^)#\s]+)\)")
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(?=[)#\s])")


def pages() -> list[str]:
    """The paths of all pages: those of the index, the decisions, and what these link to as a page."""
    listed = [doc_index.HOME, doc_index.INDEX]
    listed += [page.path for section in doc_index.read() for page in section.all_pages()]
    listed += sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/adr/*.md"))
    found = dict.fromkeys(listed)
    for path in listed:
        found |= dict.fromkeys(each for each in targets(path) if each.endswith(".md"))
    return list(found)


def targets(page: str) -> Iterator[str]:
    """The files that a page links to; of a folder its README."""
    for link in _LINK.findall(_FENCED.sub("", (ROOT / page).read_text())):
        yield file_of(page, link)


def file_of(page: str, link: str) -> str:
    """The path of the file from the root of the checkout."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
    return f"{path}/README.md" if (ROOT / path / "README.md").is_file() else path


def for_site(page: str) -> str:
    """The text of a page, in which a link to a folder leads to its README; without one it is no link."""

    def without(link: re.Match[str]) -> str:
        return link["text"] if (ROOT / file_of(page, link["path"])).is_dir() else link[0]

    def changed(text: str) -> str:
        text = _WHOLE_LINK.sub(without, text)
        return _LINK.sub(lambda link: posixpath.relpath(file_of(page, link[1]), posixpath.dirname(page) or "."), text)

    # Who searches wants to use jobrunner first, and to know why it is so afterwards.
    ranked = "---\nsearch: {boost: 0.2}\n---\n" if page.startswith("docs/adr/") else ""
    return ranked + outside_of_code((ROOT / page).read_text(), changed)


def outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """The text with all changed that is in no fenced block."""
    done, end = [], 0
    for block in _FENCED.finditer(text):
        done += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*done, change(text[end:])])


def lay_out(source: Path) -> list[str]:
    """Write the pages and what they link to into the folder; the paths of the pages."""
    shutil.rmtree(source, ignore_errors=True)
    found = pages()
    for path in found:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_text(for_site(path))
    for path in {each for page in found for each in targets(page)} - set(found):
        # What is missing is reported by the generator, with the page that links to it.
        if (ROOT / path).is_file():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, source / path)
    shutil.copyfile(STYLE, source / STYLE.name)
    return found


def main() -> None:
    sections = doc_index.read()
    found = lay_out(SOURCE)
    # JSON is YAML, too.
    more = {
        "INHERIT": str(CONFIGURATION),
        "docs_dir": str(SOURCE),
        "site_dir": str(SITE),
        "site_description": doc_index.summary(),
        "nav": doc_index.navigation(sections),
    }
    configuration = SOURCE.with_name("site.yml")
    configuration.write_text("".join(f"{name}: {json.dumps(value)}\n" for name, value in more.items()))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(configuration)]
    # Without --quiet, which also keeps --strict from seeing the warnings.
    done = subprocess.run(command, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, stderr=subprocess.PIPE, text=True)
    print("".join(line for line in done.stderr.splitlines(True) if not line.startswith("INFO")), end="")
    if done.returncode:
        sys.exit(f"the site was not built: mkdocs ended with {done.returncode}")
    for path in found:
        shutil.copyfile(ROOT / path, SITE / path)
    (SITE / "llms.txt").write_text(doc_index.llms(sections))
    (SITE / "llms-full.txt").write_text(doc_index.llms_full(sections))
    print(f"{SITE.relative_to(ROOT)}: {len(found)} pages; open {SITE / 'index.html'}")


if __name__ == "__main__":
    main()
