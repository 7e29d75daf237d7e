// What the pages ask of the server, and what they do when it says no.

import { make, sentence } from "./dom.js";

/** An answer that is no success: `status` is 0 where there was no answer at all. */
export class Refused extends Error {
  constructor(status, kind, message, wait = null) {
    super(message);
    Object.assign(this, { status, kind, wait });
  }

  /** Whether the same request may succeed later. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** The name of the study that this page is about, from its address. */
export const studyName = () => decodeURIComponent(location.pathname.split("/")[2] ?? "");

/** The address of a study's page or, with "/api" before it, of its data. */
export const studyPath = (name, rest = "") => `/studies/${encodeURIComponent(name)}${rest}`;

let wasLetIn = false; // whether this page has been answered: the token was good then

/** Ask the server; the answer as JSON, null where there is none. */
export async function call(path, body) {
  const isChange = body !== undefined;
  const headers = { Accept: "application/json" };
  if (isChange) Object.assign(headers, { "Content-Type": "application/json", "X-Bestk": "1" });
  let response;
  try {
    response = await fetch(path, {
      method: isChange ? "POST" : "GET",
      headers,
      body: isChange ? JSON.stringify(body) : undefined,
      credentials: "same-origin",
      cache: "no-store",
    });
  } catch {
    throw new Refused(0, "Unreachable", "The server does not answer.");
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    // a proxy's page, not the server's answer
  }
  if (response.ok) {
    wasLetIn = true;
    return data;
  }
  const wait = Number(response.headers.get("Retry-After")) || null;
  const message = data?.message ?? `The server answered ${response.status}.`;
  throw new Refused(response.status, data?.error ?? "", message, wait);
}

const LONGEST = 10; // seconds between two tries: arbitrary, a person waits

/** The same until there is an answer: for requests that may be repeated. `say` hears of a wait. */
export async function insist(path, body, say = () => {}) {
  for (let pause = 0.5; ; pause = Math.min(2 * pause, LONGEST)) {
    try {
      const data = await call(path, body);
      say(null);
      return data;
    } catch (refused) {
      if (!(refused instanceof Refused) || !refused.isPassing) throw refused;
      say(refused);
      await sleep(refused.wait ?? pause);
    }
  }
}

/** So many seconds later. */
export const sleep = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

/** To the login page, and back here afterwards; Back does not lead into this page, which leads there. */
export function toLogin() {
  location.replace(`/login?next=${encodeURIComponent(location.pathname)}${wasLetIn ? "&ended" : ""}`);
}

/** What to do with a refusal of a whole page: log in, or say what is wrong in `place`. */
export function refusedIn(place) {
  return (refused) => {
    if (refused.status === 401) return toLogin();
    place.hidden = false;
    const text = refused.status === 403 ? "This token may not see this page." : sentence(refused.message);
    const isList = location.pathname === "/studies";
    place.replaceChildren(text, ...(isList ? [] : [" ", make("a", { href: "/studies" }, "All studies")]));
  };
}

/** The button that ends the session of this browser. */
export function signOutWith(button) {
  button.addEventListener("click", async () => {
    await call("/logout", {}).catch(() => {});
    location.assign("/login");
  });
}
