// The standings: every arm has its place, but only the rows in sight are in the page.
//
// With 5,000 arms a row each would be 50,000 elements to lay out whenever one of them moves. Rows have
// one height, so the place of each is known without laying it out, and a few dozen are drawn.

import { count, make, nameOf, notationFor } from "./dom.js";
import { Row, numbersOf } from "./row.js";
import { rangeOf, settled, short } from "./scale.js";

const BEYOND = 6; // rows drawn above and below those in sight
const FEW = 60; // rows that are all in the page, to be printed and searched by the browser; arbitrary
const LINE = 26; // pixels of the line where the answer ends: `.end` in live.css

export class Standings {
  constructor({ list, box, end, axis, nothing, choose }) {
    Object.assign(this, { list, box, end, axis, nothing, choose });
    this.arms = new Map(); // row -> arm
    this.rows = new Map(); // row -> Row, those in the page
    this.order = []; // all arms, best first
    this.shown = []; // places in `order` of those that the filters leave
    this.top = null; // labels of the answer, where the server says which they are
    this.answered = 0;
    this.maximize = true;
    this.scale = null;
    this.filter = { status: null, text: "" };
    this.chosen = null;
    this.waiting = false;
    this.rowHeight = 0;
    const later = () => this.later();
    addEventListener("scroll", later, { passive: true });
    new ResizeObserver(() => this.#measure()).observe(list);
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("click", (event) => {
      const element = event.target.closest("[data-row]");
      if (element) this.#pick(Number(element.dataset.row), true);
    });
  }

  /** Take over what is new: all arms, or those that changed. */
  update(arms, isFull, { answered, maximize, top, compared }) {
    if (isFull) this.arms.clear();
    for (const [row, label, mean, lower, upper, pulls, status] of arms) {
      this.arms.set(row, { row, label, mean, lower, upper, pulls, status });
    }
    Object.assign(this, { answered, maximize, compared, top: top?.length ? new Set(top.map(nameOf)) : null });
    this.#sort();
    this.later();
  }

  /** Show arms of one status, or whose label has this text. */
  only(filter) {
    Object.assign(this.filter, filter);
    this.#sift();
    this.later();
  }

  /** Draw at the next frame, once. */
  later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.#render();
    });
  }

  #sort() {
    const sign = this.maximize ? -1 : 1;
    const value = (arm) => (arm.mean === null ? Infinity : sign * arm.mean);
    const inside = (arm) => (this.top === null || this.top.has(nameOf(arm.label)) ? 0 : 1);
    // equal means: the first row first, as the policies break ties
    this.order = [...this.arms.values()].sort(
      (a, b) => inside(a) - inside(b) || value(a) - value(b) || a.row - b.row,
    );
    if (this.top !== null) this.answered = this.top.size;
    const fresh = settled(this.scale, rangeOf(this.order, this.answered));
    if (fresh !== this.scale) this.#rescale(fresh);
    const first = this.order.slice(0, this.answered + 20);
    this.notation = notationFor(first);
    const lengths = first.map((arm) => Object.values(numbersOf(arm, this.notation)).join(" ").length);
    const { style } = this.list.parentElement;
    style.setProperty("--digits", count(this.order.length).length);
    style.setProperty("--letters", Math.max(0, ...lengths));
    this.most = this.order.reduce((most, arm) => Math.max(most, arm.pulls), 0);
    this.#sift();
  }

  #sift() {
    const { status, text } = this.filter;
    const wanted = text.trim().toLowerCase();
    this.shown = [];
    this.order.forEach((arm, rank) => {
      if (status !== null && arm.status !== status) return;
      if (wanted && !nameOf(arm.label).toLowerCase().includes(wanted)) return;
      this.shown.push(rank);
    });
    const first = this.shown.findIndex((rank) => rank >= this.answered);
    this.split = first > 0 ? first : null; // the line stands before this one
    this.nothing.hidden = this.shown.length > 0 || this.order.length === 0;
  }

  #rescale(scale) {
    this.scale = scale;
    const ticks = scale.ticks(5).filter((tick) => scale.place(tick) > 0.02 && scale.place(tick) < 0.98);
    this.axis.replaceChildren(
      ...ticks.map((tick) => {
        const mark = make("span", {}, short(tick));
        mark.style.left = `${100 * scale.place(tick)}%`;
        return mark;
      }),
    );
    const lines = ticks.map((tick) =>
      `linear-gradient(var(--line), var(--line)) ${(100 * scale.place(tick)).toFixed(2)}% 0 / 1px 100% no-repeat`);
    this.list.style.setProperty("--grid", lines.join(", ") || "none");
  }

  #measure() {
    this.rowHeight = parseFloat(getComputedStyle(this.list).getPropertyValue("--row"));
    this.later();
  }

  /** Where the n-th shown arm begins, in pixels from the top of the list. */
  #place(n) {
    return n * this.rowHeight + (this.split !== null && n >= this.split ? LINE : 0);
  }

  #render() {
    if (!this.rowHeight) this.rowHeight = parseFloat(getComputedStyle(this.list).getPropertyValue("--row"));
    const from = -this.list.getBoundingClientRect().top;
    const all = this.shown.length, isFew = all <= FEW;
    const first = isFew ? 0 : Math.max(0, Math.floor((from - LINE) / this.rowHeight) - BEYOND);
    const last = isFew ? all : Math.min(all, Math.max(0, Math.ceil((from + innerHeight) / this.rowHeight)) + BEYOND);
    const height = `${this.#place(this.shown.length)}px`;
    if (this.box.style.height !== height) this.box.style.height = height;
    this.end.hidden = this.split === null;
    if (this.split !== null) this.end.style.transform = `translateY(${this.split * this.rowHeight}px)`;

    const view = { scale: this.scale, notation: this.notation, most: this.most, size: this.order.length,
      answered: this.answered, chosen: this.chosen, compared: this.compared };
    const kept = new Map();
    let before = null; // rows stand in the page in the order in which they are read
    for (let n = first; n < last; n++) {
      const rank = this.shown[n], arm = this.order[rank];
      const row = this.rows.get(arm.row) ?? new Row(arm);
      kept.set(arm.row, row);
      row.move(this.#place(n));
      row.show(arm, rank, view);
      if (row.element.parentNode !== this.box) {
        this.box.insertBefore(row.element, before ? before.nextSibling : this.box.firstChild);
      } else if (row.element.previousSibling !== before) {
        shift(this.box, row.element, before ? before.nextSibling : this.box.firstChild);
      }
      before = row.element;
    }
    for (const [key, row] of this.rows) if (!kept.has(key)) row.element.remove();
    this.rows = kept;
    const active = kept.has(this.chosen) ? `arm-${this.chosen}` : "";
    if (active) this.box.setAttribute("aria-activedescendant", active);
    else this.box.removeAttribute("aria-activedescendant");
  }

  #key(event) {
    const page = Math.max(1, Math.floor(innerHeight / this.rowHeight) - 2);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key === "Enter" || event.key === " ") {
      if (this.chosen === null) return;
      this.#pick(this.chosen, true);
    } else if (event.key in steps && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const at = this.shown.findIndex((rank) => this.order[rank].row === this.chosen);
      const next = at < 0 ? 0 : at + steps[event.key];
      const n = Math.min(this.shown.length - 1, Math.max(0, next));
      if (n < 0 || Number.isNaN(n)) return;
      this.#pick(this.order[this.shown[n]].row, false);
      this.#see(n);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Scroll so far that the n-th shown arm is in sight. */
  #see(n) {
    const top = this.list.getBoundingClientRect().top + this.#place(n);
    const above = 32, below = innerHeight - this.rowHeight - 16; // the axis stands above
    if (top < above) scrollBy(0, top - above);
    else if (top > below) scrollBy(0, top - below);
  }

  #pick(row, isOpened) {
    this.chosen = row;
    if (isOpened) this.choose(row);
    this.later();
  }
}

/** Move an element among its siblings; where the browser can, a glide under way goes on. */
function shift(parent, element, before) {
  if (parent.moveBefore) parent.moveBefore(element, before);
  else parent.insertBefore(element, before);
}
