// All studies of the server, and a form for a new one.

import { call, refusedIn, signOutWith, studyPath } from "./api.js";
import { at, count, make, many, sentence } from "./dom.js";
import { badge } from "./facts.js";
import { prepare } from "./create.js";

function entry(study) {
  const { name, arms, k, samples, open } = study;
  if (study.problem) {
    return make("li", { "data-text": `${name} ${study.title}`.toLowerCase() }, make("h2", {}, make("span", { dir: "auto" }, study.title || name)),
      make("p", { class: "note no" }, sentence(study.problem)));
  }
  const [says, kind] = badge(study);
  const api = `/api${studyPath(name)}`;
  const wanted = k ? `the ${k > 1 ? `${count(k)} best` : "best"} of ${count(arms)}` : `the best set of ${count(arms)}`;
  const rates = study.rate && !study.stopped;
  const title = make(study.view || rates ? "a" : "span",
    { href: (study.view || rates) && studyPath(name, study.view ? "" : "/rate"), dir: "auto" }, study.title || name);
  const link = (text, attributes) => make("a", { ...attributes, "aria-label": `${text}: ${study.title || name}` }, text);
  const links = [
    rates && link("Rate", { class: "button main", href: studyPath(name, "/rate") }),
    study.view && link("Watch", { href: studyPath(name) }),
    study.view && link("Report", { href: `${api}/report`, download: `${name}.html` }),
    study.view && study.certified && link("Certificate", { href: `${api}/certificate`, download: `${name}.cert.json` }),
    study.export && link("Answers", { href: `${api}/export?format=csv`, download: `${name}.csv` }),
  ];
  const called = study.title && study.title !== name ? [make("bdi", {}, name), ": "] : []; // titles may be alike
  return make("li", { "data-text": `${name} ${study.title} ${says}`.toLowerCase() },
    make("h2", {}, title, make("span", { class: `badge ${kind}` }, says)),
    make("p", { class: "soft number" }, ...called, `${wanted}; ${many(samples, "answer")}${open ? `, ${count(open)} open` : ""}`),
    make("div", { class: "links" }, ...links.filter(Boolean)));
}

const MANY = 8; // studies; of more one can be searched for

const hasEnded = ({ stopped, problem }) => Boolean(stopped || problem);

/** Those that go on first, and the newest of them. */
const ordered = (studies) => [...studies].reverse().sort((a, b) => hasEnded(a) - hasEnded(b));

/** Leave those in the list whose name, title or state has this text. */
function search(text) {
  const wanted = text.trim().toLowerCase();
  let left = 0;
  for (const item of at("studies").children) {
    item.hidden = !item.dataset.text.includes(wanted);
    left += !item.hidden;
  }
  at("nothing").hidden = left > 0;
}

/** What a newcomer sees: the form, and how programs begin a study. */
function welcome(mayCreate) {
  at("none").hidden = false;
  at("how").hidden = at("programs").hidden = !mayCreate;
  at("new").open = mayCreate;
  at("example").textContent = `import random
import bestk

def pull(arm):  # one answer: a measurement of yours, between 0 and 1
    return random.betavariate(3, 2) if arm == "left" else random.betavariate(2, 3)

url = "${location.origin}"  # and BESTK_TOKEN in the environment, if tokens are needed
print(bestk.identify(["left", "right"], pull, k=1, epsilon=0.05, storage=url, name="first"))`;
}

async function begin() {
  signOutWith(at("sign-out"));
  prepare(at("form"), at("problem"));
  try {
    const { studies, create } = await call("/api/studies");
    at("new").hidden = !create;
    at("studies").replaceChildren(...ordered(studies).map(entry));
    at("search").hidden = studies.length <= MANY;
    at("search").addEventListener("input", (event) => search(event.target.value));
    if (!studies.length) welcome(create);
  } catch (refused) {
    refusedIn(at("refusal"))(refused);
  }
}

begin();
