// The upper part: is anything stuck, how many fibers of each state, what each worker does, what is waited for.

const MOST_WORKERS = 64, MOST_STEPS = 12, TONES = 7;

function renderOverview() {
  const snapshot = state.snapshot;
  byId("runtime").textContent = clean(snapshot.runtime || "sisal");
  byId("process").textContent = "process " + snapshot.pid + ", up " + duration(snapshot.uptime_ns);
  renderVerdict(snapshot);
  renderNumbers(snapshot);
  renderWorkers(snapshot);
  renderWaits(snapshot);
}

/// What somebody wants to know first, worst first.
function renderVerdict(snapshot) {
  const notices = [...snapshot.cycles.map(cycleNotice), ...stuckNotices(snapshot)];
  const isBad = snapshot.cycles.length > 0;
  if (notices.length === 0) notices.push(calmNotice(snapshot));
  byId("verdict").replaceChildren(...notices.slice(0, 8));
  const spoken = isBad ? plural(snapshot.cycles.length, "deadlock") : notices[0].className.includes("warn") ? "Something may be stuck" : "Nothing looks stuck";
  // Only what changes is read out, and durations change each second.
  if (byId("spoken").textContent !== spoken) byId("spoken").textContent = spoken;
  document.title = (isBad ? "DEADLOCK · " : spoken.startsWith("Some") ? "stuck? · " : "") + clean(snapshot.runtime || "sisal");
}

function notice(kind, ...children) {
  return element("div", { class: "notice " + kind }, ...children);
}

function cycleNotice(cycle) {
  const steps = cycle.slice(0, MOST_STEPS).map((step, at) => {
    const fiber = state.snapshot.byId.get(step.fiber) || {};
    const next = cycle[(at + 1) % cycle.length];
    return element("li", null, fiberLink(step.fiber), " is " + clean(step.reason || "waiting"), step.object === null || step.object === undefined ? "" : " (" + objectName(step.object) + ")",
      fiber.place ? " at " : "", fiber.place ? element("span", { class: "code", title: clean(fiber.place) }, shortPlace(fiber.place)) : null,
      waited(fiber) ? " for " + duration(waited(fiber)) : "", "; waits for ", fiberLink(next.fiber));
  });
  const more = cycle.length > MOST_STEPS ? element("li", null, "and " + (cycle.length - MOST_STEPS) + " more") : null;
  return notice("bad", element("strong", null, "Deadlock: " + plural(cycle.length, "fiber") + (cycle.length === 1 ? " waits for itself" : " wait for each other")), element("ol", null, ...steps, more));
}

/// Workers that are stuck, and who could run there otherwise.
function stuckNotices(snapshot) {
  return snapshot.workers.filter((worker) => worker.state === "stuck").map((worker) => {
    const ready = snapshot.fibers.filter((fiber) => fiber.state === "ready" && fiber.worker === worker.index).length;
    const kept = ready > 0 ? "; " + plural(ready, "fiber") + " could run there and " + (ready === 1 ? "does" : "do") + " not" : worker.homed > 1 ? "; " + plural(worker.homed - 1, "other fiber") + " live there" : "";
    return notice("warn", element("strong", null, "Worker " + worker.index + " is stuck"), ...(worker.running === null || worker.running === undefined ? [] : [" in ", fiberLink(worker.running)]), kept);
  });
}

function calmNotice(snapshot) {
  let longest = null;
  for (const fiber of snapshot.fibers) if (fiber.state === "parked" && (longest === null || fiber.since_ns > longest.since_ns)) longest = fiber;
  const wait = longest === null ? [] : [" Longest wait: ", fiberLink(longest.id), ", " + clean(longest.reason || "waiting") + " for " + duration(longest.since_ns) + "."];
  return notice("good", element("strong", null, "Nothing looks stuck."), element("span", { class: "quiet" }, ...wait));
}

function renderNumbers(snapshot) {
  const counts = snapshot.counts;
  const numbers = [["live", counts.live], ["running", counts.running], ["ready", counts.ready], ["waiting", counts.parked], ["not started", counts.fresh], ["spawned", counts.spawned], ["spawned a second", state.rate === null ? null : Math.round(state.rate)]];
  const fresh = snapshot.fresh.map((entry) => number(entry.count) + " from " + clean(entry.spawned_at)).join("\n");
  byId("numbers").replaceChildren(...numbers.map(([name, count]) => element("div", { title: name === "not started" ? fresh : null }, element("dt", null, name), element("dd", null, number(count)))));
}

function renderWorkers(snapshot) {
  const order = (worker) => (worker.state === "stuck" ? 0 : 1);
  const workers = [...snapshot.workers].sort((a, b) => order(a) - order(b) || a.index - b.index);
  const lines = workers.slice(0, MOST_WORKERS).map((worker) => {
    const runs = worker.running === null || worker.running === undefined ? element("span", { class: "quiet" }, "–") : fiberLink(worker.running);
    const title = plural(worker.homed || 0, "fiber") + " live there" + (worker.added ? "; it was added because others were stuck" : "");
    return element("div", { class: "worker", title }, element("span", { class: "number" }, String(worker.index)), element("span", { class: "state " + stateClass(worker.state) }, clean(worker.state)),
      element("span", { class: "cut" }, runs), element("span", { class: "quiet" }, (worker.ready ? number(worker.ready) + " ready · " : "") + (worker.queued ? number(worker.queued) + " fresh queued · " : "") + plural(worker.homed || 0, "fiber") + (worker.added ? " · added" : "")));
  });
  if (snapshot.injected) lines.push(element("p", { class: "quiet" }, plural(snapshot.injected, "fresh fiber") + " queued for any worker"));
  if (workers.length > MOST_WORKERS) lines.push(element("p", { class: "quiet" }, "and " + (workers.length - MOST_WORKERS) + " more"));
  update(byId("workers"), lines);
}

/// States become class names only if they are known.
function stateClass(name) {
  return ["running", "searching", "sleeping", "stuck", "ready", "parked", "thread"].includes(name) ? name : "";
}

/// Replaces children, and gives the focus back to the one at the same place, so that the keyboard is not thrown out each second.
function update(parent, children) {
  const focusable = () => [...parent.querySelectorAll("button")];
  const at = focusable().indexOf(document.activeElement);
  parent.replaceChildren(...children);
  if (at >= 0 && focusable()[at]) focusable()[at].focus({ preventScroll: true });
}

/// Tones go by the order in which reasons were first seen, so that none changes its colour.
const tones = new Map();
function toneOf(reason) {
  if (!tones.has(reason)) tones.set(reason, Math.min(tones.size, TONES));
  return "tone" + tones.get(reason);
}

function renderWaits(snapshot) {
  const reasons = Object.entries(snapshot.waits).filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const before = state.history.find((sample) => Date.now() - sample.at <= 60000);
  const lines = reasons.map(([reason, count]) => {
    const change = before ? count - (before.waits[reason] || 0) : 0;
    const press = () => setFilter('"' + reason + '"');
    return element("li", null, element("button", { type: "button", title: "Show only these", onclick: press }, element("span", { class: "swatch " + toneOf(reason) }), element("span", { class: "cut" }, clean(reason)), element("span", null, number(count)),
      element("span", { class: "change", title: "over the last minute" }, change > 0 ? "+" + number(change) : change < 0 ? "−" + number(-change) : "")));
  });
  if (lines.length === 0) lines.push(element("li", { class: "quiet" }, "Nobody waits."));
  update(byId("reasons"), lines);
  renderChart();
}

/// Stacked areas: how many wait for what, over the last minutes.
function renderChart() {
  const chart = byId("chart");
  const [width, height, bottom] = [chart.clientWidth || 300, 190, 168];
  const now = Date.now();
  const span = Math.min(HISTORY, Math.max(60000, now - state.history[0].at));
  const names = [...tones.keys()].filter((reason) => state.history.some((sample) => sample.waits[reason]));
  const totals = state.history.map((sample) => Object.values(sample.waits).reduce((sum, count) => sum + count, 0));
  const top = niceTop(Math.max(1, ...totals));
  const x = (at) => width - ((now - at) / span) * width;
  const y = (count) => bottom - (count / top) * (bottom - 8);
  let below = state.history.map(() => 0);
  const areas = names.map((reason) => {
    const above = state.history.map((sample, at) => below[at] + (sample.waits[reason] || 0));
    const forth = state.history.map((sample, at) => x(sample.at).toFixed(1) + "," + y(above[at]).toFixed(1));
    const back = state.history.map((sample, at) => x(sample.at).toFixed(1) + "," + y(below[at]).toFixed(1)).reverse();
    below = above;
    return svg("path", { class: toneOf(reason), d: "M" + forth.join("L") + "L" + back.join("L") + "Z" }, svg("title", null, clean(reason)));
  });
  const lines = [0, top / 2, top].map((count) => svg("path", { d: "M0," + y(count) + "H" + width, stroke: "currentColor", "stroke-opacity": ".15", fill: "none" }));
  const labels = [[0, y(top) - 3, number(top), "start"], [0, y(top / 2) - 3, top > 1 ? number(top / 2) : "", "start"], [0, height - 6, duration(span * 1e6).replace(" 0 s", "") + " ago", "start"], [width, height - 6, "now", "end"]];
  const texts = labels.map(([at, line, text, anchor]) => svg("text", { x: at, y: line, "text-anchor": anchor }, text));
  chart.setAttribute("viewBox", "0 0 " + width + " " + height);
  chart.replaceChildren(...areas, ...lines, ...texts);
}

/// 1, 2, 4, 10, 20, 40, 100...
function niceTop(most) {
  const ten = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 6, 10].map((step) => step * ten).find((step) => step >= most);
}
