// The form for a new study: from its fields to what the server takes, the keys of a study file.

import { call, studyPath, toLogin } from "./api.js";
import { at, sentence } from "./dom.js";
import { isPicture } from "./item.js";

const MOST = 20; // levels that the server takes

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

/** "0.5 = somewhat funny" and its like, one per line. */
export function readLevels(text) {
  const levels = lines(text).map((line) => {
    const [, value, label] = /^([^=]+?)(?:\s*=\s*(.*))?$/.exec(line) ?? [];
    const number = Number(value);
    if (value === undefined || !Number.isFinite(number)) {
      throw new Error(`"${line}" is no level: a number, = and what it is called, such as 1 = funny.`);
    }
    return { value: number, label: label || String(number) };
  });
  if (levels.length > MOST) throw new Error(`The scale has ${levels.length} levels: at most ${MOST} are possible.`);
  if (new Set(levels.map(({ value }) => value)).size < 2) throw new Error("The scale needs two different values.");
  return levels;
}

/** "0 to 10": least and most. */
function readRange(text) {
  const ends = text.split(/\s+to\s+/).map(Number);
  if (ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1]) return ends;
  throw new Error(`"${text}" is no range: the least and the most, such as 0 to 10.`);
}

/** A host as a policy of browsers names it: with https, unless another scheme is given. */
function origin(host) {
  const full = (host.includes("://") ? host : `https://${host}`).replace(/\/+$/, "");
  if (/^https?:\/\/[A-Za-z0-9.-]+(:[0-9]+)?$/.test(full)) return full.toLowerCase();
  throw new Error(`"${host}" is no host: a name such as images.example.org.`);
}

/** What the fields say; throws an Error that a person can act on. */
export function readForm(form) {
  const field = (name) => form.elements[name].value.trim();
  const study = {
    name: field("name"),
    k: Number(field("k")),
    delta: Number(field("delta")),
    epsilon: Number(field("epsilon")),
    rewards: field("rewards"),
    arms: lines(form.elements.arms.value),
  };
  const page = {
    title: field("title"),
    question: field("question"),
    context: field("context"),
    item_kind: field("item_kind"),
    image_hosts: lines(form.elements.image_hosts.value).map(origin),
    show_standings: form.elements.show_standings.checked,
  };
  if (study.rewards === "ratings") {
    page.levels = readLevels(form.elements.levels.value);
    study.levels = page.levels.map(({ value }) => value);
  } else if (study.rewards === "bernoulli") {
    page.levels = [{ value: 0, label: "no" }, { value: 1, label: "yes" }];
  } else if (study.rewards === "bounded") {
    [study.low, study.high] = readRange(field("range"));
  }
  if (!page.levels) return study;
  const text = page.item_kind === "image" && study.arms.find((arm) => !isPicture(arm, page.image_hosts));
  if (text) {
    throw new Error(`"${text}" would be shown as a text: a picture is given by its address, https://..., and its host must be`
      + ' among those that pictures may come from.');
  }
  return { ...study, page, lease: 60 * Number(field("minutes")) };
}

const SAYS = {
  403: "This token may not create studies.",
  409: "There is a study of this name, begun with something else: choose another name.",
};

/** Let the form create studies; `problem` says what is wrong. */
export function prepare(form, problem) {
  const adapt = () => {
    const kind = form.elements.rewards.value;
    at("levels").hidden = kind !== "ratings";
    at("range").hidden = form.elements.range.disabled = kind !== "bounded";
    // numbers are measured, not rated
    const isMeasured = kind === "bounded" || kind === "quantile";
    at("page-settings").hidden = at("page-settings").disabled = isMeasured;
  };
  form.elements.rewards.addEventListener("change", adapt);
  adapt();
  let isBusy = false; // a button that is disabled would lose the focus
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    problem.hidden = true;
    try {
      const study = readForm(form);
      const { name } = await call("/api/studies", study);
      location.assign(studyPath(name));
    } catch (refused) {
      if (refused.status === 401) return toLogin();
      problem.hidden = false;
      problem.textContent = SAYS[refused.status] ?? sentence(refused.message);
    } finally {
      isBusy = false;
    }
  });
}
