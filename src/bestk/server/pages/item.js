// What is rated: a text, a picture from an allowed address, or the fields of an object. All as text.

import { make, nameOf } from "./dom.js";

const LONG = 220; // letters; longer texts are set smaller and to the left: arbitrary

/** Whether a text is the address of a picture that this study may show.
 *
 * The server's Content-Security-Policy is what holds: a picture from elsewhere is not loaded
 * whatever is decided here. This only chooses between a picture and its address as text.
 */
export function isPicture(text, hosts) {
  if (typeof text !== "string" || !/^https?:\/\//i.test(text)) return false;
  let url;
  try {
    url = new URL(text);
  } catch {
    return false;
  }
  return hosts.some((host) => [url.host, url.origin].includes(host.toLowerCase()));
}

/** One thing for people, as an element. */
export function shown(thing, hosts, alt) {
  if (isPicture(thing, hosts)) {
    const picture = make("img", { src: thing, alt, referrerpolicy: "no-referrer", decoding: "async" });
    picture.addEventListener("error", () => // nobody should rate what they do not see
      picture.replaceWith(make("div", { class: "soft" }, "This picture could not be loaded: reload, or skip this one.")));
    return picture;
  }
  if (thing !== null && typeof thing === "object" && !Array.isArray(thing)) {
    return make("dl", { class: "parts" }, ...Object.entries(thing).flatMap(([key, value]) => [
      make("dt", {}, key),
      make("dd", { dir: "auto" }, isPicture(value, hosts) ? shown(value, hosts, key)
        : typeof value === "object" ? JSON.stringify(value) : String(value)),
    ]));
  }
  return make("div", { dir: "auto" }, nameOf(thing));
}

/** Put the arm of a pull into `item`, and what it is to be judged by into `context`. */
export function showPull(pull, page, { stage, context, item }) {
  const hosts = page.image_hosts ?? [];
  const beside = pull.item ?? null; // of a fixed set: what the arm is scored on
  const parts = [page.context || null, beside].filter((part) => part !== null);
  context.hidden = parts.length === 0;
  stage.classList.toggle("columns", parts.length > 0 && page.item_kind === "columns");
  const key = JSON.stringify(parts);
  if (context.dataset.key !== key) { // a picture that stays is not loaded again
    context.dataset.key = key;
    context.replaceChildren(...parts.map((part) => shown(part, hosts, "What this is about")));
  }
  const element = shown(pull.arm, hosts, "The picture to rate");
  const text = element.tagName === "IMG" ? "" : element.textContent;
  item.className = `item${text ? " text" : ""}${text.length > LONG ? " long" : ""}`;
  item.replaceChildren(element);
  void item.offsetWidth; // begins the entry anew
  item.classList.add("fresh");
}
