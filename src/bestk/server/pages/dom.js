// Elements and numbers. Labels of arms come from anybody: whatever is shown is a text node, never HTML.

/** An element with attributes and children; a child that is no element becomes a text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The same for a drawing. */
export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** The element with this id. */
export const at = (id) => document.getElementById(id);

/** Set a text, where it is another one: a node that stays the same is not laid out again. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** An arm's label for people: the parts of a tuple side by side, as in the report. */
export const nameOf = (label) => (Array.isArray(label) ? label.map(nameOf).join(", ") : String(label));

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 12,345. */
export const count = (value) => whole.format(value);

/** A message as a sentence. */
export const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** A number and what there is of it. */
export const many = (value, what) => `${count(value)} ${what}${value === 1 ? "" : "s"}`;

/** A slack in three digits, rounded up: what is said must not promise more than was proved. */
export function roundedUp(value) {
  if (!(value > 0)) return "0";
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  const up = Math.ceil(value / unit - 1e-9) * unit;
  return String(Number(up.toPrecision(3)));
}

/** A unit in which values of that size are short, and what is written for it. */
function unitOf(size) {
  for (const [unit, suffix] of [[1e9, "G"], [1e6, "M"]]) if (size >= unit) return [unit, suffix];
  if (size >= 1e-3 || size === 0) return [1, ""];
  const exponent = Math.floor(Math.log10(size));
  return [10 ** exponent, `e${exponent}`];
}

/** How the values of arms are written: two digits of the narrowest interval, in one unit for all. */
export function notationFor(arms) {
  let narrow = Infinity, size = 0;
  for (const { mean, lower, upper } of arms) {
    if (mean === null) continue;
    for (const value of [mean, lower ?? 0, upper ?? 0]) size = Math.max(size, Math.abs(value));
    const width = lower === null || upper === null ? 0 : upper - lower;
    if (width > 0 && width < narrow) narrow = width;
  }
  const [unit, suffix] = unitOf(size);
  const digits = Number.isFinite(narrow) ? 1 - Math.floor(Math.log10(narrow / unit)) : 3;
  return { unit, suffix, decimals: Math.min(8, Math.max(0, digits)) };
}
