"""The list of all pages, as docs/README.md has it: its headings, and for each page its title, its path and its words.

What shows the pages in another form is made from it: the navigation of the site, and llms.txt.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
INDEX = "docs/README.md"
HOME = "README.md"
_LINK = r"\[(?P<title>(?:[^\[\]`]|`[^`]*`)+)\]\((?P<path>[^)#]+\.md)\)"
_ENTRIES = (re.compile(rf"- {_LINK}: (?P<words>.+)"), re.compile(rf"\| {_LINK} \| (?P<words>.+) \|"))
_HEADING = re.compile(r"^(?:## (?P<section>.+)|\*\*(?P<part>[^*]+)\*\*)$")


@dataclass(frozen=True)
class Page:
    """A page, by its path from the root of the checkout, and what is in it."""

    title: str
    path: str
    words: str


@dataclass(frozen=True)
class Section:
    """A heading, its pages, and those of its parts."""

    title: str
    pages: tuple[Page, ...] = ()
    parts: tuple["Section", ...] = ()

    def all_pages(self) -> Iterator[Page]:
        """Its pages and those of its parts, in order."""
        yield from self.pages
        for part in self.parts:
            yield from part.all_pages()


def read(text: str | None = None) -> list[Section]:
    """The sections of docs/README.md, or of another text of that form."""
    found: list[tuple[str, list[tuple[str, list[Page]]]]] = []
    for line in ((ROOT / INDEX).read_text() if text is None else text).splitlines():
        if heading := _HEADING.match(line):
            if heading["section"]:
                found.append((heading["section"], [("", [])]))
            else:
                found[-1][1].append((heading["part"], []))
        elif entry := _ENTRIES[0].fullmatch(line) or _ENTRIES[1].fullmatch(line):
            title, path = entry["title"].replace("`", ""), posixpath.normpath(posixpath.join("docs", entry["path"]))
            found[-1][1][-1][1].append(Page(title, path, entry["words"]))
    return [
        Section(title, tuple(parts[0][1]), tuple(Section(part, tuple(pages)) for part, pages in parts[1:]))
        for title, parts in found
    ]


def navigation(sections: Sequence[Section]) -> list[Mapping[str, Any]]:
    """The navigation in the form of mkdocs: the README, then each section."""

    def entries(section: Section) -> list[Mapping[str, Any]]:
        pages: list[Mapping[str, Any]] = [{page.title: page.path} for page in section.pages]
        return pages + [{part.title: entries(part)} for part in section.parts]

    return [{"jobrunner": HOME}, {"All pages": INDEX}, *({each.title: entries(each)} for each in sections)]


def summary() -> str:
    """What jobrunner is: the first paragraph of the README."""
    return " ".join((ROOT / HOME).read_text().split("\n\n")[1].split())


def llms(sections: Sequence[Section]) -> str:
    """llms.txt: what jobrunner is, and each page with its words, for programs that read with a language model.

    The links lead to the pages as Markdown, which lie beside those of the site.
    """
    lines = ["# jobrunner", "", f"> {summary()}", "", f"- [jobrunner]({HOME}): the first job, and where to go on"]
    for section in sections:
        lines += ["", f"## {section.title}", ""]
        lines += [f"- [{page.title}]({page.path}): {_from_root(page.words)}" for page in section.all_pages()]
    return "\n".join(lines) + "\n"


def _from_root(words: str) -> str:
    """The words of a page in the list, with links from the root of the checkout."""
    return re.sub(
        r"\]\((?!https?:|#)([^)]+)\)",
        lambda link: f"]({posixpath.normpath(posixpath.join(posixpath.dirname(INDEX), link[1]))})",
        words,
    )


def llms_full(sections: Sequence[Section]) -> str:
    """llms-full.txt: all of these pages one after the other, each under its path."""
    paths = [HOME, *(page.path for section in sections for page in section.all_pages())]
    return "\n".join(f"<!-- {path} -->\n\n{(ROOT / path).read_text().strip()}\n" for path in dict.fromkeys(paths))
