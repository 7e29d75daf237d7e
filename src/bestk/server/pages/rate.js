// Rating, one item at a time. A rating is a `tell`; a skipped item is given back.
//
// Every request may be repeated: an ask has an id of its own, which gives the same pull again (after
// a reload too), and the same answer told twice counts once. So a lost connection is waited out.

import { Refused, call, insist, refusedIn, signOutWith, sleep, studyName, studyPath } from "./api.js";
import { at, count, make, many, sentence, write } from "./dom.js";
import { showPull } from "./item.js";

const name = studyName();
const api = `/api${studyPath(name)}`;
const WAIT = 2; // seconds until the next try where the server names none

let worker = ""; // the name of this tab among the raters
let page = null; // settings: question, levels, ...
let pull = null; // what is on the screen
let isBusy = false;
let late = ""; // said of the last rating, if it did not count
let focused = null; // the button that had the focus when all were hidden
let progress = { samples: 0, mine: 0 };

/** Something that this tab remembers, over a reload too; fresh where it is not there. */
function kept(what, fresh) {
  const key = `bestk-${what}-${name}`;
  try {
    const old = sessionStorage.getItem(key);
    if (old) return old;
    const made = fresh();
    sessionStorage.setItem(key, made);
    return made;
  } catch {
    return fresh();
  }
}

function dropped(what) {
  try {
    sessionStorage.removeItem(`bestk-${what}-${name}`);
  } catch {
    // nothing was kept
  }
}

const letters = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

function trouble(refused) {
  at("trouble").hidden = refused === null;
  write(at("trouble"), refused === null ? "" : `${refused.message} Trying again; nothing is lost.`);
}

/** Show one section, or none; the focus goes with it, and comes back to the button where it was. */
function only(section) {
  const isNew = section !== null && at(section).hidden;
  if (section !== "rating" && at("rating").contains(document.activeElement)) focused = document.activeElement;
  for (const id of ["rating", "waiting", "thanks"]) at(id).hidden = id !== section;
  if (section !== "rating") {
    if (isNew) at(section).focus();
  } else if (focused !== null) {
    if (isNew) focused.focus();
    focused = null;
  }
}

/** The next pull onto the screen, or thanks. */
async function next() {
  pull = null;
  for (;;) {
    const body = { n: 1, worker, request: kept("ask", letters) };
    const answer = await insist(`${api}/ask`, body, trouble);
    if (answer.pulls.length) {
      pull = answer.pulls[0];
      only("rating");
      showPull(pull, page, { stage: at("stage"), context: at("context"), item: at("item") });
      return;
    }
    dropped("ask");
    if (answer.stopped) {
      await showProgress();
      return finish();
    }
    only("waiting");
    await sleep(answer.wait ?? WAIT);
  }
}

function finish() {
  only("thanks");
  const own = progress.mine ? `Your ${many(progress.mine, "rating")} helped.` : "";
  write(at("thanks-text"), `This study has all the ratings it needs. ${own}`.trim());
  at("standings").hidden = !progress.may_view;
  at("standings").href = studyPath(name);
}

async function showProgress() {
  let text = "";
  try {
    progress = await call(`${api}/progress?worker=${encodeURIComponent(worker)}`);
    const { samples, mine } = progress;
    text = mine
      ? `Thank you: ${many(mine, "rating")} by you, ${count(samples)} by everyone.`
      : samples ? `${many(samples, "rating")} so far.` : "Yours is the first rating.";
  } catch {
    if (!late) return; // a courtesy: the next one will do
  }
  write(at("progress"), `${late} ${text}`.trim());
}

/** Why a rating did not count. */
const whyNot = ({ status, message }) => `Your last rating did not count: ${
  status === 409 ? "it came too late, or this one was rated in another tab." : sentence(message)}`;

/** Do something with the pull on the screen, once, then show the next. */
async function settle(path, body, button) {
  if (isBusy || pull === null) return;
  isBusy = true;
  button.classList.add("pressed");
  at("rating").setAttribute("aria-busy", "true");
  try {
    late = "";
    await insist(`${api}/${path}`, body, trouble).catch((refused) => {
      if (refused.status === 401 || refused.status === 403) throw refused;
      late = whyNot(refused); // its lease ran out, say
    });
    dropped("ask");
    await Promise.all([next(), showProgress()]);
  } catch (refused) {
    only(null);
    refusedIn(at("refusal"))(refused);
  } finally {
    isBusy = false;
    button.classList.remove("pressed");
    at("rating").setAttribute("aria-busy", "false");
  }
}

/** The key of each level: its label where labels are digits, as of 0 to 10; else its place. */
function keysOf(levels) {
  const isDigit = ({ label }) => /^[0-9]$/.test(label);
  if (levels.some(isDigit)) return levels.map((level) => (isDigit(level) ? level.label : null));
  return levels.map((_, i) => (i < 10 ? String((i + 1) % 10) : null));
}

/** Do that at a click. The second of a double click is none: it would be for an item that nobody has seen. */
function onClick(button, act) {
  button.addEventListener("click", (event) => {
    if (event.detail < 2 && pull !== null) act();
  });
}

const SHORT = 4; // letters of a label that fits a narrow button: arbitrary

function showLevels(given) {
  const levels = given.map(({ value, label }) => ({ value, label: label || String(value) }));
  const keys = keysOf(levels);
  const place = at("levels");
  place.classList.toggle("many", levels.length > 4 && levels.every(({ label }) => label.length <= SHORT));
  levels.forEach(({ value, label }, i) => {
    const key = keys[i];
    const button = make("button", { type: "button", "aria-keyshortcuts": key },
      key !== null && key !== label ? make("kbd", { "aria-hidden": "true" }, key) : null, make("span", { dir: "auto" }, label));
    onClick(button, () => settle("tell", { answers: [{ pull: pull.id, reward: value }] }, button));
    place.append(button);
  });
}

/** The digit of a key: on French keyboards, say, the row of digits types others without Shift. */
const digitOf = ({ key, code, shiftKey }) =>
  (/^[0-9]$/.test(key) ? key : shiftKey ? undefined : /^Digit([0-9])$/.exec(code)?.[1]);

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || at("rating").hidden) return;
  if (event.repeat) { // a key that is held down rates once
    if (event.key === "Enter" && at("rating").contains(event.target)) event.preventDefault();
    return;
  }
  const digit = digitOf(event);
  if (digit !== undefined) at("levels").querySelector(`[aria-keyshortcuts="${digit}"]`)?.click();
  else if (event.key.toLowerCase() === "s") at("skip").click();
}

async function begin() {
  signOutWith(at("sign-out"));
  worker = kept("worker", () => `rater-${letters().slice(0, 6)}`);
  try {
    page = await insist(`${api}/page`, undefined, trouble);
    document.title = `${page.title || name} - rate`;
    write(at("title"), page.title || name);
    write(at("question"), page.question || "How good is this?");
    if (!page.levels.length) throw new Refused(400, "", "This study has no levels for people to rate by.");
    showLevels(page.levels);
    onClick(at("skip"), () => settle("release", { pulls: [pull.id], skip: true, worker }, at("skip")));
    addEventListener("keydown", keys);
    await Promise.all([next(), showProgress()]);
  } catch (refused) {
    refusedIn(at("refusal"))(refused);
  }
}

begin();
