// All studies of the server, and a form for a new one.

import { call, refusedIn, signOutWith, studyPath } from "./api.js";
import { at, count, make, many } from "./dom.js";
import { badge } from "./facts.js";
import { prepare } from "./create.js";

function entry(study) {
  const { name, arms, k, samples, open } = study;
  if (study.problem) {
    return make("li", {}, make("h2", {}, make("span", { dir: "auto" }, study.title || name)),
      make("p", { class: "note no" }, `${study.problem}.`));
  }
  const [says, kind] = badge(study);
  const api = `/api${studyPath(name)}`;
  const wanted = k ? `the ${k > 1 ? `${count(k)} best` : "best"} of ${count(arms)}` : `the best set of ${count(arms)}`;
  const rates = study.rate && !study.stopped;
  const title = make(study.view || rates ? "a" : "span",
    { href: (study.view || rates) && studyPath(name, study.view ? "" : "/rate"), dir: "auto" }, study.title || name);
  const links = [
    rates && make("a", { class: "button main", href: studyPath(name, "/rate") }, "Rate"),
    study.view && make("a", { href: studyPath(name) }, "Watch"),
    study.view && make("a", { href: `${api}/report`, download: `${name}.html` }, "Report"),
    study.view && study.certified && make("a", { href: `${api}/certificate`, download: `${name}.cert.json` }, "Certificate"),
    study.view && make("a", { href: `${api}/export?format=csv`, download: `${name}.csv` }, "Answers"),
  ];
  return make("li", {},
    make("h2", {}, title, make("span", { class: `badge ${kind}` }, says)),
    make("p", { class: "soft number" }, `${wanted}; ${many(samples, "answer")}${open ? `, ${count(open)} open` : ""}`),
    make("div", { class: "links" }, ...links.filter(Boolean)));
}

async function begin() {
  signOutWith(at("sign-out"));
  prepare(at("form"), at("problem"));
  try {
    const { studies, create } = await call("/api/studies");
    at("new").hidden = !create;
    at("studies").replaceChildren(...studies.map(entry));
    at("none").hidden = studies.length > 0;
  } catch (refused) {
    refusedIn(at("refusal"))(refused);
  }
}

begin();
