"""What the SQL of counting needs and differs between the databases: hours, durations, lines, what is in flight."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Float, Text

from jobrunner.store.sql.dialect.values import BigKey, Expression, UtcTime, Words


class hour_of(Expression[datetime]):  # noqa: N801 - reads as the SQL function that it is
    """The begin of the hour (UTC) of an instant."""

    type = UtcTime()
    words = Words(postgresql="date_trunc('hour', {0}, 'UTC')", sqlite="({0} - {0} % 3600000000)")


class batch_of(Expression[datetime]):  # noqa: N801 - as above
    """By what tallies of this span and instant are summed, so that who asks again knows most of the sums: a day (UTC)
    of hours, and all days together.

    PostgreSQL sums them all together: it would sort the histograms, which takes longer than to read them again.
    """

    type = UtcTime()
    words = Words(
        postgresql="CAST(NULL AS TIMESTAMPTZ)", sqlite="CASE WHEN {0} = 'hour' THEN {1} - {1} % 86400000000 END"
    )


class seconds_between(Expression[float]):  # noqa: N801 - as above
    """The seconds from the first instant to the second."""

    type = Float(53)
    words = Words(
        postgresql="CAST(EXTRACT(epoch FROM ({1} - {0})) AS DOUBLE PRECISION)",
        sqlite="(({1} - {0}) / 1000000.0)",
    )


class first_line(Expression[str]):  # noqa: N801 - as above
    """The first line of a text, without the blanks around the text."""

    type = Text()
    words = Words(
        postgresql=r"split_part(btrim({0}, E' \t\n\v\f\r'), E'\n', 1)",
        sqlite="substr(trim({0}, char(32, 9, 10, 11, 12, 13)), 1,"
        " instr(trim({0}, char(32, 9, 10, 11, 12, 13)) || char(10), char(10)) - 1)",
    )


class oldest_transaction(Expression[int]):  # noqa: N801 - as above
    """All transactions with a lower number are over. SQLite has one writer at a time, and no numbers: always 0."""

    type = BigKey
    words = Words(postgresql="CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)", sqlite="0")


class own_transaction(Expression[int]):  # noqa: N801 - as above
    """The number of this transaction: it is higher than that of all that have written before. SQLite: always 0."""

    type = BigKey
    words = Words(postgresql="CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)", sqlite="0")
