// What is said of a study beside its standings: the verdict, the figures, who is pulling.

import { count, make, many, ordinal, roundedUp, write } from "./dom.js";

const percent = (delta) => `${Number((100 * (1 - delta)).toPrecision(10))}%`;

// a class of sets, such as paths: its arms are not ranked one by one
const isSet = (k, decision) => !k || (decision !== undefined && decision !== "top-k");

/** What is looked for. */
export function headline({ k, size, maximize, decision }) {
  if (isSet(k, decision)) return `The best set of ${count(size)} arms.`;
  const arms = k > 1 ? `${count(k)} arms` : "arm";
  return `The ${arms} of ${count(size)} with the ${maximize ? "largest" : "smallest"} mean.`;
}

/** Running, certified, or ended otherwise: what the badge says, and its class. */
export function badge({ stopped, certified }) {
  if (certified) return ["certified", "yes"];
  if (stopped) return ["ended, not certified", "no"];
  return ["running", "live"];
}

/** How far the answer is proved, in a sentence or two; never more than the server's numbers say. */
export function verdict(state) {
  const { k, certified, stopped, epsilon, certifiable_epsilon: certain, delta, maximize, samples } = state;
  const surely = `With probability at least ${percent(delta)}`;
  const claim = (slack) => {
    if (isSet(k, state.decision)) return `the total mean of the answer is within ${roundedUp(slack)} of the best there is`;
    const arms = k > 1 ? `every one of these ${count(k)} arms` : "this arm";
    const [best, worse, side] = maximize ? ["largest", "smaller", "below"] : ["smallest", "larger", "above"];
    const edge = `the ${k > 1 ? `${ordinal(k)} ` : ""}${best}`;
    const how = slack > 0 ? `at most ${roundedUp(slack)} ${side}` : `no ${worse} than`;
    return `${arms} has a true mean ${how} ${edge}`;
  };
  if (certified) return `Certified. ${surely}, ${claim(epsilon)}.`;
  if (stopped) return "Ended without a certificate.";
  if (!samples) return "Nobody has answered yet.";
  if (certain === null || certain === undefined) return "Not certified: not every arm has been observed yet.";
  return `Not certified yet. What can be said now: ${surely.toLowerCase()}, ${claim(certain)}.`;
}

/** The figures: [what, value, remark]. */
export function figures({ samples, rate, forecast, open, failures, stopped, epsilon, certifiable_epsilon: certain }) {
  const left = stopped
    ? ["more answers needed", "none", ""]
    : forecast
      ? ["more answers needed", `about ${count(forecast.more)}`,
        forecast.low === null || forecast.low === undefined ? "an estimate"
          : `usually ${count(forecast.low)} to ${count(forecast.high)}`]
      : ["more answers needed", "unknown", ""];
  const pace = rate >= 10 ? count(rate) : Number((rate ?? 0).toPrecision(2)).toString();
  return [
    ["answers", count(samples), ""],
    left,
    ["certain up to", certain === null || certain === undefined ? "-" : roundedUp(certain), `wanted: ${epsilon}`],
    ["answers a second", stopped ? "0" : pace, ""],
    ["open pulls", count(open), ""],
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
