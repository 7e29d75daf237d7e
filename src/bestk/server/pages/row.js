// One arm of the standings: a row that is made once and then moved and written to.

import { count, make, nameOf, write } from "./dom.js";

const SAYS = { in: "in", out: "out", undecided: "undecided" };

/** The mean and the interval in words, with so many decimals `more` than the notation has. */
export function numbersOf(arm, { unit, suffix, decimals }, more = 0) {
  const number = (value, missing) =>
    (value === null ? missing : `${(value / unit).toFixed(decimals + more)}${suffix}`);
  return {
    mean: arm.mean === null ? "not observed" : number(arm.mean, ""),
    interval: arm.mean === null ? "" : `${number(arm.lower, "−∞")} to ${number(arm.upper, "∞")}`,
  };
}

export class Row {
  constructor(arm) {
    this.key = arm.row;
    this.rank = make("span", { class: "rank" });
    this.name = make("span", { class: "name", dir: "auto", title: nameOf(arm.label) }, nameOf(arm.label));
    this.bar = make("i", { class: "bar" });
    this.mean = make("i", { class: "mean" });
    this.value = make("b");
    this.interval = make("span");
    this.pulls = document.createTextNode("");
    this.meter = make("i");
    this.status = make("span", { class: "status" });
    this.element = make(
      "div",
      { role: "option", id: `arm-${arm.row}`, "aria-selected": "false" },
      this.rank,
      this.name,
      make("span", { class: "plot" }, this.bar, this.mean),
      make("span", { class: "numbers" }, this.value, " ", this.interval),
      make("span", { class: "pulls" }, this.pulls, this.meter),
      this.status,
    );
    this.element.dataset.row = arm.row;
    this.shown = "";
    this.top = null;
  }

  /** Move it to a place of the list, in pixels; a row that was not seen before does not glide. */
  move(top) {
    if (top === this.top) return;
    this.element.classList.toggle("new", this.top === null);
    this.element.style.transform = `translateY(${top}px)`;
    this.top = top;
  }

  /** Write what is known of the arm. `view` has what depends on all arms. */
  show(arm, rank, view) {
    const { scale, notation, most, size, answered, chosen, compared } = view;
    const isChosen = chosen === arm.row;
    const state = [arm.mean, arm.lower, arm.upper, arm.pulls, arm.status, rank, scale.low, scale.high,
      notation.decimals, notation.unit, most, size, rank < answered, isChosen].join();
    if (state === this.shown) return;
    this.shown = state;
    const { mean, interval } = numbersOf(arm, notation);
    const glides = this.element.classList.contains("new") ? " new" : "";
    this.element.className = `row ${arm.status}${isChosen ? " chosen" : ""}${glides}`;
    write(this.rank, count(rank + 1));
    write(this.value, mean);
    write(this.interval, interval);
    write(this.status, SAYS[arm.status]);
    const pulls = `${count(arm.pulls)} ${arm.pulls === 1 ? "pull" : "pulls"}`;
    if (this.pulls.data !== pulls) this.pulls.data = pulls;
    this.meter.style.transform = `scaleX(${most ? arm.pulls / most : 0})`;
    this.#draw(arm, scale);
    const where = rank < answered ? "in the answer" : "not in the answer";
    const said = `${rank + 1}. ${nameOf(arm.label)}: ${arm.mean === null ? mean : `${compared} ${mean}, interval ${interval}`},`
      + ` ${pulls}, ${arm.status === "undecided" ? "undecided" : `certainly ${arm.status}`}, ${where} now`;
    this.element.setAttribute("aria-label", said);
    this.element.setAttribute("aria-selected", String(isChosen));
    this.element.setAttribute("aria-posinset", rank + 1);
    this.element.setAttribute("aria-setsize", size);
  }

  #draw(arm, scale) {
    const isSeen = arm.mean !== null;
    this.bar.hidden = this.mean.hidden = !isSeen;
    if (!isSeen) return;
    const percent = (value, missing) =>
      Math.min(100, Math.max(0, 100 * (value === null ? missing : scale.place(value))));
    const start = percent(arm.lower, 0), end = Math.max(percent(arm.upper, 1), start + 0.3);
    this.bar.style.clipPath = `inset(0 ${(100 - end).toFixed(2)}% 0 ${start.toFixed(2)}% round 4px)`;
    this.mean.style.transform = `translateX(${percent(arm.mean, 0).toFixed(2)}%)`;
  }
}
