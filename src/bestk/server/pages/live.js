// The live page: the server sends what is new, and the page shows it.

import { call, insist, refusedIn, signOutWith, studyName, studyPath } from "./api.js";
import { certainty } from "./certainty.js";
import { at, count, make, nameOf, write } from "./dom.js";
import { badge, figures, headline, showFigures, showRemarks, showWorkers, verdict } from "./facts.js";
import { numbersOf } from "./row.js";
import { Standings } from "./standings.js";

const SPOKEN = 15000; // milliseconds between two announcements to a screen reader, at least; arbitrary

const WIDE = matchMedia("(min-width: 76rem)"); // as in live.css: there is a column beside the standings

const name = studyName();
const api = `/api${studyPath(name)}`;
let state = null; // the latest snapshot, all arms apart
let source = null; // of the server's events
let spoken = 0;
let mayRate = false; // whoever looks, and this study at all

const standings = new Standings({
  list: at("list"), box: at("standings"), end: at("end"), axis: at("axis"), nothing: at("nothing"), choose: open,
});

/** Take a snapshot over. */
function receive(data) {
  const isFull = data.arms_full !== false;
  if (state === null && !isFull) return; // there is nothing yet that it could change
  const before = state;
  state = { maximize: true, ...data };
  standings.update(data.arms, isFull, {
    answered: data.k ?? 0, maximize: state.maximize, top: data.top, compared: state.compared,
  });
  state.size = standings.arms.size;
  delete state.arms;
  show(before);
}

function show(before) {
  at("all").hidden = false;
  write(at("headline"), headline(state));
  write(at("compared"), state.compared);
  const [says, kind] = badge(state);
  write(at("badge"), says);
  at("badge").className = `badge ${kind}`;
  write(at("verdict"), verdict(state));
  at("verdict").className = `note ${state.certified ? "" : state.stopped ? "no" : "live"}`;
  showRemarks(at("remarks"), state.remarks ?? []);
  at("rate").hidden = !mayRate || Boolean(state.stopped);
  showFigures(at("figures"), figures(state));
  showWorkers(at("workers"), state.workers ?? []);
  if (!before || before.history?.length !== state.history?.length || before.samples !== state.samples) {
    certainty(at("charts"), { history: state.history ?? [], epsilon: state.epsilon, size: state.size });
  }
  at("certificate").hidden = !state.certified;
  showFilters();
  if (at("arm").open) fill(standings.chosen);
  announce(before);
}

const WORDS = { in: "in", undecided: "undecided", out: "out" };

function showFilters() {
  const counts = { in: 0, undecided: 0, out: 0 };
  for (const arm of standings.order) counts[arm.status] += 1;
  const wanted = [[null, "All", state.size], ...Object.keys(WORDS).map((key) => [key, WORDS[key], counts[key]])];
  const place = at("filters");
  wanted.forEach(([status, text, total], i) => {
    let button = place.children[i];
    if (!button) {
      const key = status && make("span", { class: `key ${status}` });
      button = make("button", { type: "button", "aria-pressed": String(status === null) }, key, make("span"));
      button.addEventListener("click", () => {
        standings.only({ status });
        for (const other of place.children) other.setAttribute("aria-pressed", String(other === button));
      });
      place.append(button);
    }
    write(button.lastChild, `${text} ${count(total)}`);
  });
}

/** Tell a screen reader what has changed, not too often: that it ended at once. */
function announce(before) {
  const hasEnded = Boolean(state.stopped) && before && !before.stopped;
  const now = performance.now();
  if (!before || (!hasEnded && now - spoken < SPOKEN)) return;
  if (state.samples === before.samples && !hasEnded) return;
  spoken = now;
  write(at("spoken"), hasEnded ? verdict(state) : `${count(state.samples)} answers. ${verdict(state)}`);
}

/** One arm in full. */
function open(row) {
  fill(row);
  at("arm").showModal();
}

function fill(row) {
  const rank = standings.order.findIndex((arm) => arm.row === row);
  const arm = standings.order[rank];
  if (!arm) return;
  const { mean, interval } = numbersOf(arm, standings.notation, 1);
  write(at("arm-name"), nameOf(arm.label));
  const share = state.samples ? `, ${((100 * arm.pulls) / state.samples).toFixed(1)}% of all` : "";
  const certain = { in: "certainly in the answer", out: "certainly not in the answer", undecided: "undecided" };
  const facts = [["rank", count(rank + 1)], [state.compared, mean], ["interval", interval],
    ["pulls", `${count(arm.pulls)}${share}`], ["status", certain[arm.status]]];
  at("arm-facts").replaceChildren(
    ...facts.filter(([, value]) => value).flatMap(([what, value]) => [make("dt", {}, what), make("dd", {}, value)]));
}

/** Open what stands beside the standings, close what stands above them. */
function fold() {
  for (const part of document.querySelectorAll(".fold")) part.open = WIDE.matches;
}

function connection(text, kind) {
  write(at("connection"), text);
  at("connection").className = `connection ${kind}`;
}

function listen() {
  source = new EventSource(`${api}/events`);
  source.addEventListener("open", () => connection("live", "on"));
  // after `end` the browser connects again by itself: the server was restarted, say
  source.addEventListener("standings", (event) => receive(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    connection("connecting again", "off");
    if (source.readyState !== EventSource.CLOSED) return; // the browser tries by itself
    // refused: find out why, or try again where it was the server that went away
    call(api).then(() => setTimeout(listen, 2000), (refused) => {
      if (refused.isPassing) setTimeout(listen, 2000);
      else refusedIn(at("refusal"))(refused);
    });
  });
}

async function begin() {
  document.title = `${name} - bestk`;
  write(at("name"), name);
  const files = { report: "html", certificate: "cert.json", csv: "csv", jsonl: "jsonl" };
  for (const [id, ending] of Object.entries(files)) {
    at(id).href = ending === id ? `${api}/export?format=${id}` : `${api}/${id}`;
    at(id).download = `${name}.${ending}`;
  }
  at("open-report").href = `${api}/report`;
  at("search").addEventListener("input", (event) => standings.only({ text: event.target.value }));
  fold();
  WIDE.addEventListener("change", fold);
  signOutWith(at("sign-out"));
  at("sign-out").hidden = false;
  listen();
  const page = await insist(`${api}/page`).catch(() => null); // a study without one is not for raters
  for (const id of ["csv", "jsonl"]) at(id).hidden = page?.may_export === false; // others' ratings
  mayRate = Boolean(page?.may_rate && page.levels.length);
  at("rate").href = studyPath(name, "/rate");
  at("rate").hidden = !mayRate || Boolean(state?.stopped);
  if (page?.title) {
    write(at("name"), page.title);
    document.title = `${page.title} - bestk`;
  }
}

begin();
