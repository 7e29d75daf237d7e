// What is said of a study beside its standings: the verdict, the figures, who is pulling.

import { count, make, many, roundedUp, write } from "./dom.js";

/** What is looked for. */
export const headline = ({ headline: text }) => `${text[0].toUpperCase()}${text.slice(1)}.`;

/** Running, certified, or ended otherwise: what the badge says, and its class. */
export function badge({ stopped, certified }) {
  if (certified) return ["certified", "yes"];
  if (stopped) return certified === null ? ["ended", ""] : ["ended, not certified", "no"]; // raters are not told
  return ["running", "live"];
}

/** How far the answer is proved: the server's own sentences, which are those of the report. */
export const verdict = ({ samples, verdict: text }) => (samples ? text : "Nobody has answered yet.");

/** The figures: [what, value, remark]. */
export function figures(state) {
  const { samples, rate, forecast, open, held, failures, stopped, epsilon, cost, certifiable_epsilon: certain } = state;
  const left = stopped
    ? ["more answers needed", "none", ""]
    : forecast
      ? ["more answers needed", `about ${count(forecast.more)}`,
        forecast.low === null || forecast.low === undefined ? "an estimate"
          : `usually ${count(forecast.low)} to ${count(forecast.high)}`]
      : ["more answers needed", "unknown", ""];
  const pace = rate >= 10 ? count(rate) : Number((rate ?? 0).toPrecision(2)).toString();
  const waits = `${many(held, "answer")} ${held === 1 ? "waits" : "wait"} for ${open === 1 ? "it" : "them"}`;
  return [
    ["answers", count(samples), cost === null || cost === undefined ? "" : `cost: ${Number(cost.toPrecision(6))}`],
    left,
    ["certain up to", certain === null || certain === undefined ? "nothing yet" : roundedUp(certain), `wanted: ${epsilon}`],
    ["answers a second", stopped ? "0" : pace, ""],
    ["open pulls", count(open), held && open && !stopped ? waits : ""],
    ["failures", count(failures), ""],
  ];
}

/** Write the figures into a list, item by item, only what is new. */
export function showFigures(place, list) {
  list.forEach(([what, value, remark], i) => {
    let item = place.children[i];
    if (!item) {
      item = make("div", {}, make("dt", {}, what), make("dd", { class: "value" }), make("dd", { class: "remark" }));
      place.append(item);
    }
    const [, number, small] = item.children;
    write(number, value);
    write(small, remark);
    small.hidden = !remark;
  });
}

/** What the answer rests on, and warnings: as in the report. */
export function showRemarks(place, remarks) {
  const text = remarks.map((remark) => `${remark[0].toUpperCase()}${remark.slice(1)}.`).join("\n");
  place.hidden = !text;
  write(place, text);
}

const SHOWN = 5; // workers; more are counted

/** Who is pulling: those at work first. */
export function showWorkers(place, workers) {
  const order = [...workers].sort((a, b) => b.open - a.open || b.told - a.told || (a.name < b.name ? -1 : 1));
  const items = order.slice(0, SHOWN).map(({ name, open, told }) =>
    make("li", {}, make("span", { class: "who" }, name),
      make("span", { class: "does number" }, `${open ? `${many(open, "pull")} open, ` : ""}${count(told)} told`)));
  if (order.length > SHOWN) items.push(make("li", { class: "soft" }, `and ${count(order.length - SHOWN)} more`));
  if (!items.length) items.push(make("li", { class: "soft" }, "Nobody at the moment."));
  place.replaceChildren(...items);
}
