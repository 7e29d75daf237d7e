"""Tables for a terminal: how they are laid out, and those of policies, simulations and claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import JustifyMethod, OverflowMethod
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bestk.policies import Policy
from bestk.report.text import printable

if TYPE_CHECKING:
    from bestk.paper.added import Added
    from bestk.paper.verdicts import Claim
    from bestk.report.paper_table import PaperTable
    from bestk.simulation import Comparison, SimulationResult


def columns(
    *names: str, title: str | None = None, right: Sequence[str] = (), fold: Sequence[str] = ()
) -> Table:
    """A table with these columns, some flush right, some that fold what is long."""
    table = Table(title=title)
    for name in names:
        side: JustifyMethod = "right" if name in right else "left"
        long: OverflowMethod = "fold" if name in fold else "ellipsis"
        table.add_column(name, justify=side, overflow=long)
    return table


def policies(catalogue: Iterable[Policy]) -> Table:
    """The catalogue; of a policy in Python what its author claims, named as such."""
    names = ("policy", "source", "guarantee", "parameters")
    found = columns(*names, title="Policies", fold=names)
    found.show_lines = True
    for policy in catalogue:
        name = f"[bold]{escape(policy.name)}[/bold]\n{escape(printable(policy.title))}"
        guarantee = f"error <= delta: {policy.theorem}" if policy.proved else policy.theorem
        if policy.is_python:
            claim = printable(policy.claim or "")
            guarantee = f"its author claims: {claim}" if claim else "no claim"
        if policy.variants:
            guarantee = f"faithful: {guarantee}\nheuristic: none"
        settings = [
            f"{p.name}={p.default}" + (f" ({' | '.join(p.choices)})" if p.choices else "")
            for p in policy.parameters
        ]
        settings += ["any decision class"] * policy.combinatorial + ["K = 1 only"] * policy.single
        settings += ["no slack epsilon"] * (not policy.slack)
        settings += ["fixed budget"] * policy.budget + ["plain Python"] * policy.is_python
        about = f"{printable(policy.source)}\n{printable(policy.about)}"
        words = about, guarantee, "\n".join(settings)
        found.add_row(name, *(Text(each) for each in words))
    return found


def simulation(result: SimulationResult) -> Table:
    """One simulation, for people."""
    data, samples = result.to_dict(), result.summary()
    variant = f" ({data['variant']})" if data["variant"] else ""
    found = Table(show_header=False, title=f"{data['policy']}{variant}")
    alpha = "" if data["alpha"] is None else f", alpha={data['alpha']:g}"
    what = f"K={data['k']}" if data["k"] else data["decision"]
    goal = "largest" if result.instance.maximize else "smallest"
    name = printable(data["instance"])  # a file may have any
    items = "" if data["items"] is None else f", M={data['items']} items"
    means = f"{result.problem.rewards.title}s"
    about = f"{name}{alpha}, N={data['arms']}{items}, {what}, {goal} {means}"
    found.add_row("instance", Text(about))
    scatter = f", sigma={data['sigma']:g}" if data["sigma"] is not None else ""
    if data.get("law") is not None:
        scatter = f", {data['law']} with spread {data['spread']:g}"
    found.add_row("rewards", f"{data['rewards']}{scatter}")
    found.add_row("wanted", f"error <= {data['delta']:g}, slack {data['epsilon']:g}")
    found.add_row("samples", f"{samples['mean']:,.0f} ± {samples['sem']:,.0f} (mean, std. error)")
    found.add_row("", f"median {samples['median']:,.0f}, 95% of runs <= {samples['p95']:,.0f}")
    found.add_row("runs", f"{data['runs']}: {data['wrong']} wrong, {data['unfinished']} unfinished")
    if data["budget"] is not None:
        found.add_row("budget", f"{data['budget']:,} samples, then the answer counts")
        found.add_row("error", Text(f"{error(result)} (share of wrong answers, 95% interval)"))
    proved = "none (heuristic)" if data["guarantee"] is None else f"error <= {data['guarantee']:g}"
    if result.problem.judge is not None:
        proved = "nothing by bestk"
    elif data["guarantee"] is None and data["budget"] is not None:
        proved = "nothing at a budget"
    found.add_row("proved", proved)
    if data["claim"] is not None:
        found.add_row("author's claim", Text(printable(data["claim"])))
    if data["lower_bound"] is not None:
        found.add_row("lower bound", f"{data['lower_bound']:,.0f} samples for any proved policy")
    rate = data["steps_per_second"]
    found.add_row("speed", f"{data['seconds']:.2f} s, {rate / 1e6:.2f} million samples a second")
    return found


def comparison(found: Comparison) -> Table:
    """Several policies on one instance, for people."""
    from bestk.simulation.planning import full_name

    first = found.results[0]
    data = first.to_dict()
    bound = "" if data["lower_bound"] is None else f"; lower bound {data['lower_bound']:,.0f}"
    goal = f"error <= {data['delta']:g}" if found.budget is None else f"budget {found.budget:,}"
    title = (
        f"{printable(data['instance'])}, N={data['arms']}, {goal}, {data['runs']} runs each{bound}"
    )
    names = ("policy", "proved", "mean samples", "of the first [95%]", "median", "wrong", "cut off")
    table = columns(*names, title=title, right=names[2:])
    for result in found.results:
        samples, ratio = result.summary(), found.ratio(result)
        relative = "-" if ratio is None else r"{:.3f} \[{:.3f}, {:.3f}]".format(*ratio)
        relative = "1" if result is first else relative
        mean, median = (
            f"{samples['mean']:,.0f} ± {samples['sem']:,.0f}",
            f"{samples['median']:,.0f}",
        )
        counts = str(result.wrong), str(result.unfinished)
        table.add_row(full_name(result), Text(proved(result)), mean, relative, median, *counts)
    return table


def proved(result: SimulationResult) -> str:
    """What is known of a policy's error; an author's claim is named as such."""
    if result.claim is not None:
        return f"author's claim: {printable(result.claim)}"
    return "nothing" if result.guarantee is None else f"error <= {result.guarantee:g}"


def budgets(found: Sequence[Comparison]) -> Table:
    """Wrong answers of several policies at several budgets, for people."""
    from bestk.simulation.planning import full_name

    data = found[0].results[0].to_dict()
    about = f"{printable(data['instance'])}, N={data['arms']}, {data['runs']} runs each"
    sizes = [f"{each.results[0].budget:,}" for each in found]
    title = f"{about}: share of wrong answers after so many samples, 95% intervals"
    table = columns("policy", *sizes, title=title, right=sizes)
    for at, result in enumerate(found[0].results):
        table.add_row(full_name(result), *(Text(error(each.results[at])) for each in found))
    return table


def error(result: SimulationResult) -> str:
    """The share of wrong answers with its interval."""
    low, high = result.wrong_ci
    return f"{result.wrong / result.runs:.3g} [{low:.2g}, {high:.2g}]"


def paper(found: PaperTable) -> Table:
    """Several policies on several instances, for people."""
    table = columns(*found.head, title=escape(found.caption), right=found.head[1:])
    for row in found.rows():
        is_best = [cell.startswith("**") for cell in row]
        texts = (cell.strip("*") if best else cell for cell, best in zip(row, is_best, strict=True))
        styles = ("bold" if best else "" for best in is_best)
        table.add_row(*map(Text, map(printable, texts), styles))
    return table


def claims(found: Sequence[Claim]) -> Table:
    """Verdicts on the paper's claims."""
    title = "What the paper's text claims, and what we find"
    table = columns("id", "claim", "statistic", "95% interval", "verdict", title=title)
    for claim in found:
        verdict = "[green]holds[/green]" if claim.holds else "[red]does not hold[/red]"
        interval = rf"\[{claim.ci[0]:.3g}, {claim.ci[1]:.3g}]"
        table.add_row(claim.id, claim.claim, f"{claim.statistic:.3g}", interval, verdict)
    return table


def added(found: Added) -> Table:
    """A policy that was added to the paper's panels, with what is known of its error."""
    title = printable(f"{found.title}, added; {found.words}")
    names = ("panel", "N", "mean samples", "of e-lucb's [95%]", "wrong", "cut off")
    table = columns(*names, title=escape(title), right=names[1:])
    for row, ratio in found.points:
        samples = f"{row.mean:,.0f} ± {row.sem:,.0f}"
        wrong, cut = f"{row.wrong} of {row.runs}", str(row.unfinished)
        table.add_row(row.panel, str(row.arms), samples, escape(str(ratio)), wrong, cut)
    return table
