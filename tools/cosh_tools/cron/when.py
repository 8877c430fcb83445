"""When a job runs: five cron fields by cronsim, in the person's own zone, and the same in words."""

from __future__ import annotations

import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cosh_tools.results import ToolError


def check(cron: str, now: datetime) -> datetime:
    """The first run. Raises ToolError, in words, for an expression that is none or never comes."""
    if len(cron.split()) != 5:
        raise ToolError(
            f"{cron!r} is not a cron expression: it has five fields, minute hour day month weekday. "
            "For example `0 9 * * 1-5` is 09:00 on weekdays."
        )
    first = following(cron, now)
    if first is None:
        raise ToolError(f"{cron!r} never comes: there is no such date.")
    return first


def following(cron: str, after: datetime) -> datetime | None:
    """The first run after a moment, with its zone's rules; None where none ever comes. Raises ToolError."""
    from cronsim import CronSim, CronSimError  # loaded where something is scheduled

    try:
        return next(CronSim(cron, in_zone(after)), None)
    except CronSimError as error:
        raise ToolError(f"{cron!r} is not a cron expression: {str(error)[:1].lower()}{str(error)[1:]}.") from None


def in_words(cron: str) -> str:
    """For people: At 09:00 on Monday through Friday."""
    from cronsim import CronSim, CronSimError  # see above

    try:
        return str(CronSim(cron, datetime.now(UTC)).explain())
    except CronSimError:
        return f"cron({cron})"


def count_between(cron: str, first: datetime, until: datetime, most: int = 1_000) -> int:
    """How many runs there are from `first` on, `first` included, up to a moment."""
    count, at = 1, first
    while count < most:
        after = following(cron, at)
        if after is None or after > until:
            break
        count, at = count + 1, after
    return count


def latest(cron: str, first: datetime, until: datetime) -> datetime:
    """The last run up to a moment; `first` where there is none after it."""
    from cronsim import CronSim  # see above

    before = next(CronSim(cron, until, reverse=True), None)
    return before if before is not None and before > first else first


def in_zone(moment: datetime) -> datetime:
    """The moment in a zone that knows its own clock changes. A bare offset is taken for the machine's zone."""
    if isinstance(moment.tzinfo, ZoneInfo):
        return moment
    return moment.astimezone(local_zone(moment))


def local_zone(moment: datetime) -> tzinfo:
    """The machine's zone by name; where it has none, the offset that holds now."""
    names = [os.environ.get("TZ", "").removeprefix(":")]
    link = Path("/etc/localtime")
    if link.is_symlink():
        names.append(str(link.resolve()).rpartition("zoneinfo/")[2])
    for name in names:
        if name and not name.startswith("/"):
            try:
                return ZoneInfo(name)
            except (ZoneInfoNotFoundError, ValueError):
                continue
    local = moment.astimezone()
    return local.tzinfo or UTC
