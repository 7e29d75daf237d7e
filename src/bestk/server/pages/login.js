// A token becomes a session of this browser: a cookie that scripts cannot read.
//
// An invitation is an address such as /login?next=/studies/captions/rate#token=...: what follows # is
// not sent to any server, nor kept in the history. The person still presses the button.

import { call } from "./api.js";
import { at } from "./dom.js";

/** Where to go afterwards: a page of this server, whatever the address says. */
function afterwards() {
  const next = new URLSearchParams(location.search).get("next") ?? "/studies";
  const url = new URL(next, location.origin);
  return url.origin === location.origin && next.startsWith("/") ? url.pathname : "/studies";
}

const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  at("token").value = given;
  history.replaceState(null, "", location.pathname + location.search);
}

at("ended").hidden = !new URLSearchParams(location.search).has("ended");

// a server for its own machine alone needs no token, and who has signed in none again
call("/api/studies").then(() => {
  at("inside").hidden = false;
  at("inside").querySelector("a").href = afterwards();
}, () => {});

at("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const refusal = at("refusal");
  refusal.hidden = true;
  try {
    await call("/login", { token: at("token").value.trim() });
    location.replace(afterwards()); // Back does not lead here
  } catch (refused) {
    refusal.hidden = false;
    refusal.textContent = refused.status === 401 ? "This token is not valid, or no longer." : refused.message;
    at("token").select();
  }
});
