// The console's script: live updates, the filter, the keyboard, and actions. Without it, pages are updated by loading them again.
"use strict";

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
root.classList.add("script");

// Times: relative to now, instead of a date in UTC.
const UNITS = [[86400, "d"], [3600, "h"], [60, "m"]];

function ago(date) {
  const seconds = Math.round((Date.now() - date) / 1000);
  if (seconds < 0) return `in ${-seconds} s`;
  for (const [size, unit] of UNITS) if (seconds >= 2 * size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return `${seconds} s ago`;
}

function showTimes(within = document) {
  for (const time of within.querySelectorAll("time[datetime]")) {
    if (!time.title) time.title = time.textContent;
    const text = ago(Date.parse(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

// Parts of the page that are replaced keep the focus, opened details and the scroll position.
function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

function placeOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const href = element.getAttribute("href");
  if (href) return `[href="${CSS.escape(href)}"]`;
  const action = element.dataset.action;
  return action ? `[data-action="${CSS.escape(action)}"]` : null;
}

function replace(element, html) {
  const focused = element.contains(document.activeElement) ? placeOf(document.activeElement) : null;
  const details = [...element.querySelectorAll("details[id]")].map((d) => [d.id, d.open]);
  const scrolled = [...element.querySelectorAll(".tall, .scroll, pre")].map((box) => [box.scrollTop, box.scrollLeft]);
  element.replaceChildren(parsed(html));
  for (const [id, open] of details) if (byId(id)) byId(id).open = open;
  [...element.querySelectorAll(".tall, .scroll, pre")].forEach((box, n) => {
    if (scrolled[n]) [box.scrollTop, box.scrollLeft] = scrolled[n];
  });
  showTimes(element);
  if (focused) element.querySelector(focused)?.focus({ preventScroll: true });
}

function isSelecting(element) {
  const selection = getSelection();
  return !selection.isCollapsed && (element.contains(selection.anchorNode) || element.contains(selection.focusNode));
}

const waiting = new Map(); // parts with selected text, which change when it is no longer selected
function change(id, html) {
  const element = byId(id);
  if (!element) return;
  if (isSelecting(element)) return void waiting.set(id, html);
  waiting.delete(id);
  replace(element, html);
}
document.addEventListener("selectionchange", () => {
  for (const [id, html] of waiting) change(id, html);
});

function changeRows(parts, order) {
  const rows = byId("rows");
  if (!rows) return;
  const focused = rows.contains(document.activeElement) ? placeOf(document.activeElement) : null;
  const made = {};
  for (const [id, html] of Object.entries(parts)) {
    if (!id.startsWith("row:")) continue;
    const row = parsed(`<table><tbody>${html}</tbody></table>`).querySelector("tr");
    showTimes(row);
    made[id] = row;
    if (!order) byId(id)?.replaceWith(row);
  }
  if (order) rows.replaceChildren(...order.map((id) => made[id] ?? byId(id)).filter(Boolean));
  if (focused) rows.querySelector(focused)?.focus({ preventScroll: true });
}

function say(text) {
  byId("say").textContent = text;
}

function apply(changes) {
  const state = document.querySelector("[data-state]")?.dataset;
  const before = state && { ...state };
  const parts = changes.parts ?? {};
  if (changes.order || Object.keys(parts).some((id) => id.startsWith("row:"))) changeRows(parts, changes.order);
  for (const [id, html] of Object.entries(parts)) if (!id.startsWith("row:")) change(id, html);
  const after = document.querySelector("[data-state]")?.dataset;
  if (before && after && before.state !== after.state) say(`The state is now ${after.state}.`);
  if (before && after && (before.state !== after.state || before.wanted !== after.wanted)) load(byId("actions"));
  if ("requests" in parts) load(byId("offsets"));
}

// Live updates, while the page is visible.
const live = byId("live");
let stream = null;
let seen = document.body.dataset.seen;

function showLive(isOn) {
  live.hidden = false;
  live.classList.toggle("off", !isOn);
  live.textContent = isOn ? "Live" : "Not connected";
}

function follow() {
  const address = document.body.dataset.stream;
  if (!address || stream || document.hidden) return;
  const own = new EventSource(`${address}${address.includes("?") ? "&" : "?"}seen=${encodeURIComponent(seen)}`);
  stream = own;
  own.onopen = () => showLive(true);
  own.onmessage = (event) => {
    if (own !== stream) return;
    seen = event.lastEventId;
    apply(JSON.parse(event.data));
  };
  own.onerror = () => {
    showLive(false);
    if (own.readyState !== EventSource.CLOSED || own !== stream) return;
    stream = null; // refused: too many pages are open, or the server was replaced
    setTimeout(follow, 10000);
  };
}

function leave() {
  stream?.close();
  stream = null;
}
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
addEventListener("pagehide", leave);
addEventListener("pageshow", follow);

// Requests.
const TOKEN = "penstock-token";

function headers(more = {}) {
  const token = sessionStorage.getItem(TOKEN);
  return { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...more };
}

async function load(element) {
  if (!element || element.contains(document.activeElement) && document.activeElement.matches("input, textarea")) return;
  try {
    const answer = await fetch(element.dataset.load, { headers: headers() });
    const text = await answer.text();
    if (answer.ok && text !== element.loaded) {
      element.loaded = text;
      replace(element, text);
    } else if (!answer.ok) element.textContent = text;
  } catch {
    if (!element.loaded) element.textContent = "Cannot load this part.";
  }
}

async function post(address, body) {
  const answer = await fetch(address, {
    method: "POST",
    headers: headers({ "Content-Type": "application/json", "X-Penstock-Console": "1" }),
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text.trim() || `the server responded with ${answer.status}`);
  return text;
}

function isConfirmed(question) {
  const dialog = document.createElement("dialog");
  dialog.append(question);
  const form = document.createElement("form");
  form.method = "dialog";
  for (const [value, label] of [["", "Cancel"], ["yes", "Yes"]]) {
    const button = document.createElement("button");
    button.value = value;
    button.textContent = label;
    if (!value) button.className = "quiet";
    form.append(button);
  }
  dialog.append(form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((done) => {
    dialog.addEventListener("close", () => {
      done(dialog.returnValue === "yes");
      dialog.remove();
    });
  });
}

async function act(button) {
  if (button.dataset.ask && !(await isConfirmed(button.dataset.ask))) return;
  button.disabled = true;
  let result;
  try {
    const body = button.dataset.document === undefined ? {} : { document: button.dataset.document };
    result = await post(button.dataset.action, body);
    if (button.closest("#preview")) byId("preview").replaceChildren();
  } catch (error) {
    result = `Failed: ${error.message}`;
  }
  button.disabled = false;
  const place = byId("action-result");
  if (place) place.textContent = result;
}

async function submit(form, button) {
  const result = byId(form.dataset.result);
  const fields = Object.fromEntries(new FormData(form, button));
  button.disabled = true;
  try {
    replace(result, await post(form.dataset.post, fields));
    const then = button.dataset.then ?? form.dataset.then;
    if (then && result.querySelector("table")) {
      const go = document.createElement("button");
      go.textContent = fields.how === "reset" ? "Reset these offsets" : "Set these offsets";
      go.dataset.action = then;
      if (fields.how !== "reset") go.dataset.document = fields.document;
      result.append(go);
    }
  } catch (error) {
    result.textContent = error.message;
    result.className = "verdict bad";
    button.disabled = false;
    return;
  }
  result.className = "";
  button.disabled = false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-action], button[data-sign-out]");
  if (!button) return;
  event.preventDefault();
  if (button.dataset.action) return void act(button);
  sessionStorage.removeItem(TOKEN);
  load(byId("actions"));
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.post) {
    event.preventDefault();
    submit(form, event.submitter ?? form.querySelector("button"));
  } else if ("signIn" in form.dataset) {
    event.preventDefault();
    sessionStorage.setItem(TOKEN, form.elements.token.value.trim());
    form.reset();
    form.querySelector("button").focus();
    load(byId("actions"));
  }
});

// The filter of the list works while typing.
const filter = byId("filter");
let typing;

async function useFilter() {
  const fields = [...new FormData(filter)].filter(([, value]) => value);
  const query = fields.length ? `?${new URLSearchParams(fields)}` : "";
  history.replaceState(null, "", `/${query}`);
  leave();
  try {
    const page = new DOMParser().parseFromString(await (await fetch(`/${query}`)).text(), "text/html");
    for (const id of ["rows", "summary"]) byId(id).replaceChildren(...page.getElementById(id).childNodes);
    ({ stream: document.body.dataset.stream, seen } = page.body.dataset);
    showTimes();
    say(`${byId("rows").children.length} Connectors`);
  } catch {
    showLive(false);
  }
  follow();
}
if (filter) {
  filter.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(useFilter, 150);
  });
  filter.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(typing);
    useFilter();
  });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isField = event.target.matches("input, textarea, select");
  const search = filter?.elements.text;
  if (event.key === "/" && !isField && search) {
    event.preventDefault();
    search.focus();
    search.select();
  }
  const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
  const rows = byId("rows");
  if (!step || !rows || (isField && (event.target !== search || event.key !== "ArrowDown"))) return;
  const links = [...rows.querySelectorAll("th a")];
  const at = links.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? links[0] : null) : links[at + step];
  if (!next && at < 0) return;
  event.preventDefault();
  (next ?? (at + step < 0 ? search : links[at])).focus();
});

showTimes();
setInterval(showTimes, 5000);
for (const element of document.querySelectorAll("[data-load]")) {
  load(element);
  if (element.dataset.every) setInterval(() => document.hidden || load(element), element.dataset.every * 1000);
}
follow();
