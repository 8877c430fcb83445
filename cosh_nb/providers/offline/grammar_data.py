"""What can be said of tables: load, look, summarise, compute, plot."""

from __future__ import annotations

from cosh_nb.providers.offline.intents import IT, Chart, Function, Intent, Load, Plot, Rows, Statistic, SummariseTable
from cosh_nb.providers.offline.patterns import CHARTS, FUNCTIONS
from cosh_nb.providers.offline.phrase import Found, Phrase, Unclear

_FROM = "(from|in|of|using|with) [the] [(file|table|variable|dataframe|data frame|data in|data of|data from)]"
_SOURCE = "(it|the (data|table|file|dataframe)|{source:source})"
_BY = (
    "((by|per|for each|for every|over|across|grouped by) [the] {by:column} [column]"
    "|(against|versus|vs|vs.|as a function of) [the] {against:column} [column])"
)
_WHAT = "[(the|all|all the)] [{func:func} [(of|value of)]] [the] [(column|values of)] {column:column} [column]"
_AS = "as [(a|an)] {chart:chart} [(chart|plot|graph|diagram)]"
_DRAW = "(plot|chart|graph|draw|visualise|visualize)"
_CHART_OF = (
    "(plot|make|draw|create|show|generate|build|give) [me] [(a|an|the)] "
    "({chart:chart} [(chart|plot|graph|diagram)]|(chart|plot|graph|diagram)) of"
)
_TABLE = "(data|table|file|csv|csv file|dataset|data set|dataframe)"


def _function(found: Found) -> Function:
    word = " ".join(found("func").lower().split())
    return FUNCTIONS.get(word, "standard deviation") if word else "sum"


def _load(found: Found) -> Intent | None:
    return Load(found("table"), found("name"))


def _summarise(found: Found) -> Intent | None:
    return SummariseTable(found("source") or IT)


def _statistic(found: Found) -> Intent | None:
    if found("rows"):
        return Statistic("count", "", found("source") or IT)
    return Statistic(_function(found), found("column"), found("source") or IT, found("by"))


def _plot(found: Found) -> Intent | None:
    chart: Chart | None = CHARTS[found("chart").lower()] if found("chart") else None
    against, by = found("against"), found("by")
    if against:
        if found("func"):
            raise Unclear("Say either `plot a against b` for single points or `plot the mean of a by b`.")
        chart = chart or "scatter"
        if chart != "scatter":
            raise Unclear(f"A {chart} takes groups: plot {found('column')} by {against}.")
    elif chart == "scatter":
        raise Unclear("A scatter plot needs two columns: draw a scatter plot of price against size from homes.csv.")
    if chart == "histogram" and by:
        raise Unclear("A histogram shows one column: draw a histogram of price from homes.csv.")
    return Plot(found("column"), found("source") or IT, against or by, chart, _function(found))


DATA = (
    Phrase(
        "load sales.csv",
        "reads a table into a variable",
        (
            (
                f"(load|import) [in] [the] [{_TABLE}] [(from|in)] [the] [file] {{table:table}} "
                "[(as|into|to|in) [a] [(variable|dataframe|data frame)] [(called|named)] {name:name}]"
            ),
            (
                f"(read|open|load|import) [in] [the] [{_TABLE}] [from] {{table:table}} "
                "(as|into|to) [a] [(variable|dataframe|data frame)] [(called|named)] {name:name}"
            ),
        ),
        _load,
    ),
    Phrase(
        "summarise sales.csv",
        "tells the columns, types and main figures of a table",
        (
            f"(summarise|summarize|describe|profile|explore) [the] [{_TABLE}] [(in|from|of)] {{source:table}}",
            f"(summarise|summarize|describe|profile|explore) (it|the {_TABLE})",
            "(summarise|summarize|describe)",
            (
                "[(give|show|print|make)] [me] (a summary|an overview|a description) of "
                f"(it|the {_TABLE}|{{source:table}})"
            ),
        ),
        _summarise,
    ),
    Phrase(
        "show the first 5 rows of sales.csv",
        "shows rows of a table",
        (
            f"(show|print|display|see|give) [me] [the] [(first|top)] {{n:n}} rows (of|from|in) {_SOURCE}",
            f"(show|print|display|see|give) [me] [the] (head|first rows) of {_SOURCE}",
            f"preview {_SOURCE}",
        ),
        lambda found: Rows(found("source") or IT, found.number("n") or 5),
    ),
    Phrase(
        "what is the mean of revenue by region in sales.csv",
        "computes mean, sum, max, min, median or count of a column, for all rows or by group",
        (
            (
                "[(what is|what's|what are|compute|calculate|show|give|find|get|tell|print)] [me] [the] {func:func} "
                "[(of|value of)] [the] [(column|values of)] {column:column} [column] "
                f"[(by|per|for each|for every|grouped by) [the] {{by:column}}] [{_FROM} {_SOURCE}]"
            ),
            (
                "[(what is|what's|compute|calculate|show|give|find|get|tell|print)] [me] [the] {func:func} "
                "[(of|value of)] [the] [(column|values of)] {column:column} [column] "
                f"{_FROM} {_SOURCE} (by|per|for each|for every|grouped by) [the] {{by:column}}"
            ),
            f"how many {{rows:rows}} (are there in|are in|does|has|in) {_SOURCE} [have]",
            f"(count|number of) [the] {{rows:rows}} (of|in) {_SOURCE}",
        ),
        _statistic,
    ),
    Phrase(
        "plot revenue by month from sales.csv",
        "draws a bar, line or scatter chart, or a histogram",
        (
            f"{_DRAW} [me] {_WHAT} {_BY} [{_FROM} {_SOURCE}] [{_AS}]",
            f"{_DRAW} [me] {_WHAT} {_BY} {_AS} {_FROM} {_SOURCE}",
            f"{_DRAW} [me] {_WHAT} {_FROM} {_SOURCE} [{_BY}] [{_AS}]",
            f"{_DRAW} [me] {_WHAT} [{_AS}]",
            f"{_CHART_OF} {_WHAT} [{_BY}] [{_FROM} {_SOURCE}]",
            f"{_CHART_OF} {_WHAT} {_FROM} {_SOURCE} {_BY}",
            f"{{chart:chart}} [(chart|plot|graph)] of {_WHAT} [{_BY}] [{_FROM} {_SOURCE}]",
            f"(from|with|using|in) [the] [(file|data|table)] {_SOURCE} [,] {_DRAW} {_WHAT} [{_BY}] [{_AS}]",
            f"(from|with|using|in) [the] [(file|data|table)] {_SOURCE} [,] {_CHART_OF} {_WHAT} [{_BY}]",
        ),
        _plot,
    ),
)
"""The phrases, in the order in which they are tried."""
