// How certainty grew: two small charts over the number of answers, drawn anew when there are more.

import { count, draw, make, roundedUp } from "./dom.js";
import { Scale, short } from "./scale.js";

const WIDTH = 320, HEIGHT = 150;
const LEFT = 44, RIGHT = 10, TOP = 10, BOTTOM = 34;

/** Put both charts into `place`; `history` has [answers, certifiable slack, in, out] in each line. */
export function certainty(place, { history, epsilon, size }) {
  const known = history.filter(([samples]) => samples > 0);
  if (known.length < 2) {
    place.replaceChildren(make("p", { class: "soft" }, "There is nothing to draw yet."));
    return;
  }
  place.replaceChildren(slack(known, epsilon), decided(known, size));
}

const horizontal = (known) => new Scale(0, known.at(-1)[0]);
const x = (scale, value) => LEFT + (WIDTH - LEFT - RIGHT) * scale.place(value);
const y = (scale, value) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * scale.place(value);

/** A frame with its numbers; `says` is what the chart shows, for those who do not see it. */
function frame(across, up, says) {
  const chart = draw("svg", { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": says });
  for (const tick of up.ticks(4)) {
    const at = y(up, tick).toFixed(1);
    chart.append(
      draw("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }),
      draw("text", { class: "y", x: LEFT - 6, y: Number(at) + 4 }, short(tick)),
    );
  }
  for (const tick of across.ticks(4).filter(Number.isInteger)) {
    chart.append(draw("text", { x: x(across, tick).toFixed(1), y: HEIGHT - BOTTOM + 15 }, short(tick)));
  }
  chart.append(draw("text", { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 3 }, "answers"));
  return chart;
}

const line = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");

/** The slack at which the answer of the moment was certain. */
function slack(known, epsilon) {
  const drawn = known.filter(([, certain]) => certain !== null);
  const across = horizontal(known);
  const up = new Scale(0, Math.max(epsilon * 1.3, ...drawn.map(([, certain]) => certain)) * 1.05 || 1);
  const last = drawn.at(-1);
  const says = last
    ? `After ${count(last[0])} answers the answer is certain up to ${roundedUp(last[1])}; wanted is ${epsilon}.`
    : "Nothing is certain yet.";
  const chart = frame(across, up, says);
  if (epsilon > 0) {
    const at = y(up, epsilon).toFixed(1);
    chart.append(draw("line", { class: "wanted", x1: LEFT, x2: WIDTH - RIGHT, y1: at, y2: at }));
  }
  if (drawn.length > 1) {
    const points = drawn.map(([samples, certain]) => [x(across, samples), y(up, certain)]);
    const floor = y(up, 0).toFixed(1);
    const under = `${line(points)}L${points.at(-1)[0].toFixed(1)} ${floor}L${points[0][0].toFixed(1)} ${floor}Z`;
    chart.append(draw("path", { class: "area under", d: under }), draw("path", { class: "path", d: line(points) }));
  }
  const wanted = epsilon > 0 ? `; the study ends at the dashed line, ${epsilon}` : "; the study ends at 0";
  const caption = last ? "The answer is certain up to this difference" : "No difference is certain yet";
  return make("figure", {}, make("figcaption", {}, `${caption}${wanted}.`), chart);
}

/** How many arms were in, undecided and out. */
function decided(known, size) {
  const across = horizontal(known), up = new Scale(0, size);
  const [, , within, without] = known.at(-1);
  const says = `Now ${count(within)} in, ${count(size - within - without)} undecided, ${count(without)} out.`;
  const chart = frame(across, up, says);
  const edges = (value) => known.map((entry) => [x(across, entry[0]), y(up, value(entry))]);
  const layers = [edges(() => 0), edges(([, , a]) => a), edges(([, , , b]) => size - b), edges(() => size)];
  ["in", "undecided", "out"].forEach((status, i) => {
    const d = `${line(layers[i])}${line([...layers[i + 1]].reverse()).replace("M", "L")}Z`;
    chart.append(draw("path", { class: `area ${status}`, d }));
  });
  const caption = make("figcaption", {}, "Arms by what is certain of them: ", ...keys());
  return make("figure", {}, caption, chart);
}

function keys() {
  return ["in", "undecided", "out"].flatMap((status, i) => [
    i ? ", " : "", make("span", { class: "keys" }, make("span", { class: `key ${status}` }), ` ${status}`),
  ]);
}
