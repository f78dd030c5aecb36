"use strict";
// What everything here shares: the last snapshot and what came before it, requests, words for numbers, and elements.
// Names of fibers are hostile input. They become text nodes and nothing else.

const HISTORY = 5 * 60 * 1000;

const state = {
  snapshot: null,
  history: [],
  paused: false,
  view: "fibers",
  open: null,
  opened: null,
  rate: null,
  token: null,
};

const byId = (id) => document.getElementById(id);

/// An element with attributes, listeners ("onclick") and children; strings become text.
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  return fill(made, attributes, children);
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  return fill(made, attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/// Text as it may be shown: marks that turn the direction of writing around, and others that can't be seen, become visible.
function clean(text) {
  return String(text).replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (mark) => "\\u" + mark.codePointAt(0).toString(16).padStart(4, "0"));
}

/// How long a fiber has waited; null if it does not wait. One that was woken still brings the time at which it began to.
function waited(fiber) {
  return fiber.state === "parked" && fiber.since_ns !== undefined ? fiber.since_ns : null;
}

/// A request of data. Throws an error with `status`, which is 0 if nobody answered.
async function request(path, timeout) {
  const headers = state.token ? { Authorization: "Bearer " + state.token } : {};
  let response;
  try {
    response = await fetch(path, { headers, cache: "no-store", credentials: "omit", signal: AbortSignal.timeout(timeout) });
    if (response.ok) return await response.json();
  } catch (error) {
    throw Object.assign(new Error(String(error)), { status: 0 });
  }
  throw Object.assign(new Error((await response.text()).trim()), { status: response.status });
}

/// Takes in a snapshot that may lack what an older or newer server does not send.
function accept(snapshot) {
  for (const list of ["workers", "fibers", "fresh", "threads", "objects", "cycles"]) snapshot[list] = snapshot[list] || [];
  snapshot.counts = snapshot.counts || {};
  snapshot.waits = snapshot.waits || {};
  const now = Date.now();
  const before = state.snapshot;
  const isOther = before && (before.pid !== snapshot.pid || before.uptime_ns > snapshot.uptime_ns);
  if (isOther) state.history = [];
  const last = state.history[state.history.length - 1];
  if (last && last.at < now) state.rate = Math.max(0, (snapshot.counts.spawned - last.spawned) / ((now - last.at) / 1000));
  else if (!last) state.rate = null;
  state.history.push({ at: now, waits: snapshot.waits, spawned: snapshot.counts.spawned });
  state.history = state.history.filter((sample) => now - sample.at <= HISTORY);
  snapshot.byId = new Map(snapshot.fibers.map((fiber) => [fiber.id, fiber]));
  snapshot.objectById = new Map(snapshot.objects.map((object) => [object.id, object]));
  snapshot.inCycle = new Set(snapshot.cycles.flat().map((step) => step.fiber));
  snapshot.rows = rowsOf(snapshot);
  state.snapshot = snapshot;
}

/// "3.2 s", "4 min 10 s", "2 h 5 min"
function duration(ns) {
  if (ns === null || ns === undefined) return "";
  if (ns === 0) return "0";
  if (ns < 1e3) return ns.toFixed(0) + " ns";
  if (ns < 1e6) return (ns / 1e3).toFixed(ns < 1e4 ? 1 : 0) + " µs";
  if (ns < 1e9) return (ns / 1e6).toFixed(ns < 1e7 ? 1 : 0) + " ms";
  const seconds = ns / 1e9;
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + " s";
  const whole = Math.floor(seconds);
  if (whole < 3600) return Math.floor(whole / 60) + " min " + (whole % 60) + " s";
  if (whole < 86400) return Math.floor(whole / 3600) + " h " + Math.floor((whole % 3600) / 60) + " min";
  return Math.floor(whole / 86400) + " d " + Math.floor((whole % 86400) / 3600) + " h";
}

/// The same where room is scarce: "4m 10s".
function shortDuration(ns) {
  const text = duration(ns);
  return / (min|h|d) /.test(text) ? text.replace(/ (min|s|h|d)/g, (unit) => unit[1]) : text;
}

/// "10s", "2min", "500ms" in nanoseconds.
function parseDuration(text) {
  const found = /^(\d+(?:\.\d+)?)(us|µs|ms|s|m|min|h|d)?$/.exec(text);
  if (!found) return null;
  const units = { us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 6e10, min: 6e10, h: 3.6e12, d: 8.64e13 };
  return Number(found[1]) * units[found[2] || "s"];
}

function bytes(count) {
  if (count === null || count === undefined) return "";
  if (count < 1024) return count + " B";
  if (count < 1 << 20) return (count / 1024).toFixed(count < 10240 ? 1 : 0) + " KiB";
  return (count / (1 << 20)).toFixed(1) + " MiB";
}

function number(count) {
  return count === null || count === undefined ? "–" : count.toLocaleString("en-US");
}

function plural(count, word) {
  return number(count) + " " + word + (count === 1 ? "" : "s");
}

/// "#17 accept loop"
function fiberName(id) {
  const fiber = state.snapshot && state.snapshot.byId.get(id);
  return "#" + id + (fiber && fiber.name ? " " + clean(fiber.name) : "");
}

/// The number of an object, as dumps and traces write it.
function hex(id) {
  return Number.isInteger(id) ? "0x" + id.toString(16) : "";
}

/// The fiber that an object waits for in turn: who holds it, or whose end it is.
function behind(object) {
  return Number.isInteger(object.owner) ? object.owner : Number.isInteger(object.fiber) ? object.fiber : null;
}

/// "mutex 0x5a22c0", "fiber #17"
function objectName(id) {
  const object = state.snapshot && state.snapshot.objectById.get(id);
  if (object && object.kind === "fiber" && behind(object) !== null) return "fiber #" + behind(object);
  return (object ? clean(object.kind) : "object") + " " + hex(id);
}

/// A button that opens a fiber.
function fiberLink(id) {
  return element("button", { type: "button", class: "link", onclick: () => openFiber(id) }, element("bdi", null, fiberName(id)));
}

/// A place in the source; the end of the path matters most, and the rest is in its title.
function shortPlace(place) {
  return place ? clean(place).split("/").slice(-3).join("/") : "";
}
