// Rating, one item at a time. A rating is a `tell`; a skipped item is given back.
//
// Every request may be repeated: an ask has an id of its own, which gives the same pull again (after
// a reload too), and the same answer told twice counts once. So a lost connection is waited out.

import { Refused, call, insist, refusedIn, signOutWith, sleep, studyName, studyPath } from "./api.js";
import { at, count, make, many, write } from "./dom.js";
import { showPull } from "./item.js";

const name = studyName();
const api = `/api${studyPath(name)}`;
const WAIT = 2; // seconds until the next try where the server names none

let worker = ""; // the name of this tab among the raters
let page = null; // settings: question, levels, ...
let pull = null; // what is on the screen
let isBusy = false;
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

function only(section) {
  for (const id of ["rating", "waiting", "thanks"]) at(id).hidden = id !== section;
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
  at("thanks").focus();
}

async function showProgress() {
  try {
    progress = await call(`${api}/progress?worker=${encodeURIComponent(worker)}`);
  } catch {
    return; // a courtesy: the next one will do
  }
  const { samples, mine } = progress;
  write(at("progress"), mine
    ? `Thank you: ${many(mine, "rating")} by you, ${count(samples)} by everyone.`
    : samples ? `${many(samples, "rating")} so far.` : "Yours is the first rating.");
}

/** Do something with the pull on the screen, once, then show the next. */
async function settle(path, body, button) {
  if (isBusy || pull === null) return;
  isBusy = true;
  button.classList.add("pressed");
  at("rating").setAttribute("aria-busy", "true");
  try {
    await insist(`${api}/${path}`, body, trouble).catch((refused) => {
      if (refused.status === 401 || refused.status === 403) throw refused;
      write(at("progress"), `That one did not count: ${refused.message}`); // its lease ran out, say
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

function showLevels(levels) {
  const keys = keysOf(levels);
  const place = at("levels");
  place.classList.toggle("many", levels.length > 4);
  levels.forEach(({ value, label }, i) => {
    const key = keys[i];
    const button = make("button", { type: "button", "aria-keyshortcuts": key },
      key && make("kbd", { "aria-hidden": "true" }, key), make("span", { dir: "auto" }, label ?? String(value)));
    button.addEventListener("click", () =>
      pull && settle("tell", { answers: [{ pull: pull.id, reward: value }] }, button));
    place.append(button);
  });
}

function keys(event) {
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || at("rating").hidden) return;
  if (event.key.toLowerCase() === "s") at("skip").click();
  else if (/^[0-9]$/.test(event.key)) at("levels").querySelector(`[aria-keyshortcuts="${event.key}"]`)?.click();
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
    at("skip").addEventListener("click", () =>
      pull && settle("release", { pulls: [pull.id], skip: true, worker }, at("skip")));
    addEventListener("keydown", keys);
    await Promise.all([next(), showProgress()]);
  } catch (refused) {
    refusedIn(at("refusal"))(refused);
  }
}

begin();
