// What holds it together: asking each second, the views, the keys.

const EVERY = 1000, PATIENCE = 10000;
let timer = null, asking = false, goneSince = null;

/// Asks for a snapshot, and again after a second, or after four times as long as this one took: looking must not be the load.
async function poll() {
  clearTimeout(timer);
  if (asking || state.paused || byId("token").open) return;
  asking = true;
  const began = performance.now();
  try {
    const snapshot = await request("/debug/fibers.json?traces=0", PATIENCE);
    if (!state.paused) {
      accept(snapshot);
      goneSince = null;
      render();
      await refreshDetail();
    }
  } catch (error) {
    fail(error);
  }
  asking = false;
  setLink();
  if (!document.hidden) timer = setTimeout(poll, Math.max(EVERY, 4 * (performance.now() - began)));
}

function render() {
  renderOverview();
  if (state.view === "fibers") renderFibers();
  if (state.view === "graph") renderGraph();
}

function fail(error) {
  if (error.status === 401) return askForToken();
  goneSince = goneSince || Date.now();
  const words = error.status === 0 ? "No answer from " + location.host + ". The process has ended, or is frozen. What you see is the last that was known." : "The process answers with an error: " + error.message;
  byId("gone").replaceChildren(element("strong", null, error.status === 0 ? "Gone? " : "Refused. "), words + " Asking again each second, for " + duration(Math.max(1, Math.round((Date.now() - goneSince) / 1000)) * 1e9) + " now.");
}

function setLink() {
  const kind = goneSince ? "gone" : state.paused ? "paused" : state.snapshot ? "live" : "";
  document.body.className = kind;
  byId("gone").hidden = !goneSince;
  const text = { gone: "no answer", paused: "paused", live: "live", "": "connecting" }[kind];
  if (byId("link-text").textContent !== text) byId("link-text").textContent = text;
  if (goneSince) document.title = "gone? · " + (state.snapshot ? clean(state.snapshot.runtime) : "sisal");
}

function pause() {
  state.paused = !state.paused;
  byId("pause").setAttribute("aria-pressed", String(state.paused));
  byId("pause").firstChild.textContent = state.paused ? "Go on " : "Pause ";
  setLink();
  poll();
}

/// Browsers may forbid to keep anything, by throwing at the first touch. Then it is forgotten with the page.
function keep(storage, key, value) {
  try { window[storage].setItem(key, value); } catch { /* see above */ }
}

function kept(storage, key) {
  try { return window[storage].getItem(key); } catch { return null; }
}

/// The token comes from the address, once, or is asked for. It is kept as long as this tab is.
function startToken() {
  const parameters = new URLSearchParams(location.search);
  const given = parameters.get("token");
  if (given) {
    keep("sessionStorage", "sisal-token", given);
    history.replaceState(null, "", location.pathname);
  }
  state.token = given || kept("sessionStorage", "sisal-token");
  byId("token-form").addEventListener("submit", () => {
    state.token = byId("token-input").value.trim();
    keep("sessionStorage", "sisal-token", state.token);
  });
  byId("token").addEventListener("close", () => { asking = false; poll(); });
  byId("token").addEventListener("cancel", (event) => event.preventDefault());
}

function askForToken() {
  byId("token-text").textContent = state.token ? "The one that was given is not it." : "It was set by ServeOptions::token or SISAL_SERVE_TOKEN.";
  byId("token-input").value = "";
  if (!byId("token").open) byId("token").showModal();
}

function show(view) {
  state.view = view;
  for (const name of ["fibers", "graph", "timeline"]) {
    byId(name).hidden = name !== view;
    byId("tab-" + name).setAttribute("aria-selected", String(name === view));
    byId("tab-" + name).tabIndex = name === view ? 0 : -1;
  }
  if (state.snapshot) render();
  drawTimeline();
}

const THEMES = { auto: "light", light: "dark", dark: "auto" };

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").textContent = "Theme: " + theme;
  byId("theme").dataset.now = theme;
  keep("localStorage", "sisal-theme", theme);
  drawTimeline();
}

/// Keys that work wherever nobody types.
const KEYS = {
  "/": () => { show("fibers"); byId("filter").focus(); byId("filter").select(); },
  j: () => step(1),
  k: () => step(-1),
  ArrowDown: () => step(1),
  ArrowUp: () => step(-1),
  PageDown: () => step(Math.floor(byId("grid").clientHeight / ROW_HEIGHT) - 2),
  PageUp: () => step(2 - Math.floor(byId("grid").clientHeight / ROW_HEIGHT)),
  Home: () => select(0),
  End: () => select(list.rows.length - 1),
  Enter: () => openSelected(),
  p: pause,
  f: () => show("fibers"),
  g: () => show("graph"),
  t: () => show("timeline"),
  r: () => { if (state.view === "timeline") record(); },
  s: () => { const at = COLUMNS.findIndex((column) => column.key === list.sort); sortBy(COLUMNS[(at + 1) % COLUMNS.length].key); },
  S: () => sortBy(list.sort),
  "?": () => byId("help").showModal(),
  Escape: () => escape(),
};

const TIMELINE_KEYS = { "+": () => zoom(0.7, 0.5), "=": () => zoom(0.7, 0.5), "-": () => zoom(1.4, 0.5), 0: () => { [trace.from, trace.to] = [trace.first, trace.last]; drawTimeline(); }, ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2) };

function step(by) {
  if (state.view !== "fibers") return false;
  select(list.at < 0 ? 0 : list.at + by);
  if (state.open !== null) openSelected();
  else {
    byId("grid").focus({ preventScroll: true });
    byId("grid").scrollIntoView({ block: "nearest" });
  }
}

function escape() {
  if (state.open !== null) return closeDetail();
  if (list.filter !== "") setFilter("");
  byId("grid").focus({ preventScroll: true });
}

/// Keys that belong to what has the focus: a button is pressed by Enter, a box is scrolled by the arrows.
function isTakenBy(target, key) {
  const isButton = target.closest("button, a, select, [role=button]");
  if (isButton && (key === "Enter" || (target.tagName === "SELECT" && key.length > 1))) return true;
  const isBox = target.closest(".trace, #picture, #detail") && !isButton;
  return Boolean(isBox) && ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "Enter"].includes(key);
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  if (event.target.tagName === "INPUT") return onFilterKey(event);
  const action = (state.view === "timeline" && TIMELINE_KEYS[event.key]) || (Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null);
  if (!action || isTakenBy(event.target, event.key)) return;
  if (action() !== false) event.preventDefault();
}

function onFilterKey(event) {
  if (event.key === "Escape") { event.preventDefault(); escape(); }
  if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); byId("grid").focus(); select(Math.max(0, list.at)); }
}

function onTabKey(event) {
  const tabs = ["fibers", "graph", "timeline"];
  const by = { ArrowRight: 1, ArrowLeft: 2 }[event.key];
  if (!by) return;
  event.stopPropagation();
  show(tabs[(tabs.indexOf(state.view) + by) % 3]);
  byId("tab-" + state.view).focus();
}

function start() {
  startToken();
  startTimeline();
  const theme = kept("localStorage", "sisal-theme");
  setTheme(Object.hasOwn(THEMES, theme) ? theme : "auto");
  byId("theme").addEventListener("click", () => setTheme(THEMES[byId("theme").dataset.now]));
  byId("pause").addEventListener("click", pause);
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("close").addEventListener("click", closeDetail);
  for (const name of ["fibers", "graph", "timeline"]) byId("tab-" + name).addEventListener("click", () => show(name));
  document.querySelector(".tabs").addEventListener("keydown", onTabKey);
  byId("filter").addEventListener("input", () => { list.filter = byId("filter").value; byId("grid").scrollTop = 0; renderFibers(); });
  byId("grid").addEventListener("scroll", () => { if (state.snapshot) renderRows(); }, { passive: true });
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) poll(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimeline);
  window.addEventListener("resize", () => { if (state.snapshot) render(); drawTimeline(); });
  poll();
}

start();
