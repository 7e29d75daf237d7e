"""The table that a paper would print: instances down, policies across, samples in the cells."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bestk.errors import UnknownName

if TYPE_CHECKING:
    from bestk.simulation import Comparison, SimulationResult

KINDS = (".md", ".tex", ".csv")
HEAD = ("instance", "N", "K")
LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}"}
LATEX |= {"^": r"\textasciicircum{}", "±": r"$\pm$", "≥": r"$\geq$"}
LATEX |= {character: "\\" + character for character in "&%$#_"}


class PaperTable:
    """Comparisons of the same policies on several instances."""

    def __init__(self, found: Sequence[Comparison]) -> None:
        from bestk.simulation.planning import full_name

        self.found = found
        self.head = (*HEAD, *(full_name(result) for result in found[0].results))

    def rows(self) -> list[tuple[str, ...]]:
        """Names, sizes, and a cell for every policy; the best cell as `**cell**`."""
        rows = []
        for each in self.found:
            data, best = each.results[0].to_dict(), _best(each.results)
            cells = (f"**{cell(r)}**" if r is best else cell(r) for r in each.results)
            size = "-" if data["k"] is None else str(data["k"])
            rows.append((data["instance"], str(data["arms"]), size, *cells))
        return rows

    @property
    def caption(self) -> str:
        """What the cells are."""
        results = self.found[0].results
        data, budgets = results[0].to_dict(), [result.budget for result in results]
        to = "" if data["budget"] is None else f", budget = {data['budget']:,}"
        if len(set(budgets)) > 1:  # some stop by themselves
            pairs = zip(self.head[len(HEAD) :], budgets, strict=True)
            to = "".join(f", budget of {name} = {most:,}" for name, most in pairs if most)
        return (
            f"Mean samples ± standard error of {data['runs']} runs, delta = {data['delta']:g}{to}."
            " Bold: the fewest of policies whose error is proved and whose runs all ended."
            " In brackets: runs with a wrong answer, if any; ≥: some runs were cut off."
        )

    def write(self, kind: str) -> str:
        """The table as a file of that kind."""
        if kind not in KINDS:
            raise UnknownName("kind of table", kind, KINDS)
        if kind == ".csv":
            return self._csv()
        return self._markdown() if kind == ".md" else self._latex()

    def _csv(self) -> str:
        """A line for every policy on every instance, in plain numbers."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = ("mean", "sem", "median", "wrong", "unfinished", "runs", "ratio", "low", "high")
        writer.writerow((*HEAD, "policy", *names))
        for each, row in zip(self.found, self.rows(), strict=True):
            for name, result in zip(self.head[3:], each.results, strict=True):
                samples, ratio = result.summary(), each.ratio(result) or ("", "", "")
                numbers = (samples["mean"], samples["sem"], samples["median"])
                writer.writerow(
                    (*row[:3], name, *numbers, result.wrong, result.unfinished, result.runs, *ratio)
                )
        return text.getvalue()

    def _markdown(self) -> str:
        rule = ("---", *["---:"] * (len(self.head) - 1))
        lines = [self.head, rule, *self.rows()]
        table = "\n".join("| " + " | ".join(x.replace("|", r"\|") for x in y) + " |" for y in lines)
        return f"{table}\n\n{self.caption}\n"

    def _latex(self) -> str:
        def line(row: tuple[str, ...]) -> str:
            return " & ".join(map(_latex, row)) + r" \\"

        align = "l" + "r" * (len(self.head) - 1)
        lines = ["% needs \\usepackage{booktabs}", r"\begin{table}"]
        lines += [rf"\caption{{{_latex(self.caption)}}}", rf"\begin{{tabular}}{{{align}}}"]
        lines += [r"\toprule", line(self.head), r"\midrule", *map(line, self.rows())]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
        return "\n".join(lines)


def cell(result: SimulationResult) -> str:
    """Mean samples and their standard error, as people print them."""
    samples = result.summary()
    least = "≥ " if result.unfinished else ""
    wrong = f" ({result.wrong})" if result.wrong else ""
    return f"{least}{samples['mean']:,.0f} ± {samples['sem']:,.0f}{wrong}"


def _best(results: Sequence[SimulationResult]) -> SimulationResult | None:
    """The one with the fewest samples, among those that are proved to err rarely."""
    proved = [r for r in results if r.guarantee is not None and not r.unfinished]
    return min(proved, key=lambda result: result.summary()["mean"], default=None)


def _latex(text: str) -> str:
    """A cell in LaTeX, `**` as bold."""
    is_bold = text.startswith("**") and text.endswith("**")
    plain = "".join(LATEX.get(x, x) for x in (text[2:-2] if is_bold else text))
    return rf"\textbf{{{plain}}}" if is_bold else plain
