"""The words for the key of a run: the values of its payload under some names, as one text.

Values that are the same for PostgreSQL's jsonb are the same text on SQLite, too.
"""

from __future__ import annotations

from collections.abc import Sequence

# For several paths json_extract answers with an array of the values as they are written. One value by itself would lose
# digits of a long number, and true would be 1. The last path finds nothing, and is cut away.
# One value may be written in several ways: members of objects in any order, characters escaped, 1e-07 and 0.0000001.
# So it is written anew, and what is inside of arrays and objects is listed in one order, with its path.
_OF_SQLITE = """\
(SELECT substr(CASE WHEN written GLOB '*[{\\.eE]*' THEN (SELECT '[' || group_concat(listed, ',') || ']' FROM (
      SELECT CASE path WHEN '$' THEN '' ELSE substr(fullkey, 2) || ':' END
        || CASE WHEN type IN ('true', 'false') THEN type WHEN type IN ('object', 'array') THEN value
          ELSE json_quote(atom) END AS listed
      FROM json_tree(written) WHERE type NOT IN ('object', 'array') OR value IN ('{}', '[]') ORDER BY fullkey)\
) ELSE written END, 1, 200) FROM (SELECT substr(found, 1, length(found) - 6) || ']' AS written \
FROM (SELECT json_extract(@payload@, @paths@, '$[0]') AS found)))"""


def key_words(database: str, payload: str, names: Sequence[str]) -> str:
    """The expression of a key. ``payload`` and ``names`` are expressions, too.

    A missing value counts as null. Only the first 200 characters count.
    """
    if database == "sqlite":
        paths = ", ".join(f"'$.\"' || {name} || '\"'" for name in names)
        return _OF_SQLITE.replace("@payload@", payload).replace("@paths@", paths)
    values = ", ".join(f"{payload} -> CAST({name} AS TEXT)" for name in names)
    return f"substr(CAST(jsonb_build_array({values}) AS TEXT), 1, 200)"
