// The timeline: who ran on which worker, from the trace that /debug/trace gives. Drawn on a canvas; the fibers that ran longest
// stand below it as text.

const TRACK = 30, AXIS = 22, LABEL = 84, SHORTEST_SPAN = 1, MOST_ARROWS = 120;

const trace = { data: null, tracks: [], arrows: [], from: 0, to: 1, first: 0, last: 1, hover: null, isRecording: false };

async function record() {
  if (trace.isRecording) return;
  const seconds = byId("seconds").value;
  trace.isRecording = true;
  byId("record").disabled = true;
  byId("timeline-text").textContent = "Recording…";
  try {
    takeTrace(await request("/debug/trace?seconds=" + seconds, (Number(seconds) + 30) * 1000));
  } catch (error) {
    if (error.status === 401) askForToken();
    byId("timeline-text").textContent = error.status === 0 ? "No answer." : error.message;
  }
  trace.isRecording = false;
  byId("record").disabled = false;
}

/// Reads Chrome's trace format: whole runs (X), or beginnings and ends (B, E); arrows from who wakes to who is woken (s, f); names and
/// order of tracks (M). What a worker does for itself (category `worker`) is told from what fibers do.
function takeTrace(data) {
  const events = Array.isArray(data) ? data : data.traceEvents || [];
  const names = new Map(), order = new Map(), tracks = new Map(), open = new Map(), arrows = new Map();
  const runs = (event) => { const key = event.pid + "/" + event.tid; if (!tracks.has(key)) tracks.set(key, []); return tracks.get(key); };
  for (const event of events) {
    const key = event.pid + "/" + event.tid;
    if (event.ph === "M" && event.name === "thread_name") names.set(key, clean((event.args || {}).name || ""));
    else if (event.ph === "M" && event.name === "thread_sort_index") order.set(key, (event.args || {}).sort_index);
    else if (event.ph === "X") runs(event).push({ name: clean(event.name || ""), at: event.ts, long: event.dur || 0, args: event.args, isIdle: event.cat === "worker" });
    else if (event.ph === "s" || event.ph === "f") arrows.set(event.id, { ...arrows.get(event.id), [event.ph]: { key, at: event.ts } });
    else if (event.ph === "B") { if (!open.has(key)) open.set(key, []); open.get(key).push(event); }
    else if (event.ph === "E" && (open.get(key) || []).length > 0) {
      const begin = open.get(key).pop();
      runs(event).push({ name: clean(begin.name || ""), at: begin.ts, long: event.ts - begin.ts, args: begin.args });
    }
  }
  trace.data = data;
  trace.tracks = [...tracks].map(([key, runs]) => ({ key, order: order.get(key) || 0, name: names.get(key) || "track " + key.split("/")[1], runs: runs.sort((a, b) => a.at - b.at) }));
  trace.tracks.sort((a, b) => a.order - b.order || a.name.localeCompare(b.name, "en", { numeric: true }));
  const trackOf = new Map(trace.tracks.map((track, at) => [track.key, at]));
  trace.arrows = [...arrows.values()].filter((arrow) => arrow.s && arrow.f && trackOf.has(arrow.s.key) && trackOf.has(arrow.f.key));
  for (const arrow of trace.arrows) [arrow.from, arrow.to] = [trackOf.get(arrow.s.key), trackOf.get(arrow.f.key)];
  const all = trace.tracks.flatMap((track) => track.runs);
  const ran = all.filter((run) => !run.isIdle);
  trace.first = all.reduce((least, run) => Math.min(least, run.at), Infinity);
  trace.last = all.reduce((most, run) => Math.max(most, run.at + run.long), -Infinity);
  byId("save").disabled = false;
  byId("canvas").hidden = all.length === 0;
  byId("timeline-text").textContent = ran.length === 0 ? (all.length === 0 && byId("seconds").value === "0" ? "Nothing is held: no flight recorder is on." : "Nothing ran meanwhile.") : plural(ran.length, "run") + " in " + duration((trace.last - trace.first) * 1000) + ". Wheel or + and - zoom, dragging or the arrows move, 0 shows all, a click opens the fiber.";
  [trace.from, trace.to] = [trace.first, Math.max(trace.last, trace.first + SHORTEST_SPAN)];
  renderBusiest(ran);
  drawTimeline();
}

function renderBusiest(all) {
  const sums = new Map();
  for (const run of all) {
    const sum = sums.get(run.name) || { name: run.name, total: 0, count: 0, longest: 0 };
    sum.total += run.long;
    sum.count += 1;
    sum.longest = Math.max(sum.longest, run.long);
    sums.set(run.name, sum);
  }
  const most = [...sums.values()].sort((a, b) => b.total - a.total).slice(0, 10);
  const span = (trace.last - trace.first) || 1;
  const cells = (tag, texts) => element("tr", null, ...texts.map((text) => element(tag, null, text)));
  const lines = most.map((sum) => cells("td", [sum.name, duration(sum.total * 1000), ((100 * sum.total) / span).toFixed(1) + " %", number(sum.count), duration(sum.longest * 1000)]));
  byId("busiest").replaceChildren(...(most.length === 0 ? [] : [element("table", null, element("thead", null, cells("th", ["Ran longest", "in all", "of a worker", "runs", "longest run"])), element("tbody", null, ...lines))]));
}

function drawTimeline() {
  const canvas = byId("canvas");
  if (canvas.hidden || state.view !== "timeline") return;
  const width = canvas.clientWidth, height = AXIS + trace.tracks.length * TRACK + 6, scale = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  [canvas.width, canvas.height] = [width * scale, height * scale];
  const paint = canvas.getContext("2d");
  paint.scale(scale, scale);
  const style = getComputedStyle(document.body);
  const [quiet, text] = [getComputedStyle(byId("process")).color, style.color];
  const x = (at) => LABEL + ((at - trace.from) / (trace.to - trace.from)) * (width - LABEL);
  paint.font = "11px system-ui, sans-serif";
  drawAxis(paint, x, width, height, quiet);
  trace.tracks.forEach((track, at) => drawTrack(paint, track, AXIS + at * TRACK, x, width, text));
  drawArrows(paint, x, width, text);
  if (trace.hover) drawHover(paint, width, height);
}

function drawAxis(paint, x, width, height, quiet) {
  const step = niceStep((trace.to - trace.from) / Math.max(2, (width - LABEL) / 110));
  paint.fillStyle = paint.strokeStyle = quiet;
  for (let at = Math.ceil((trace.from - trace.first) / step) * step; at + trace.first <= trace.to; at += step) {
    const where = x(at + trace.first);
    paint.globalAlpha = 0.2;
    paint.fillRect(where, AXIS - 4, 1, height);
    paint.globalAlpha = 1;
    paint.fillText(duration(at * 1000), where + 3, 13);
  }
}

function niceStep(least) {
  const ten = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((step) => step * ten).find((step) => step >= least);
}

function drawTrack(paint, track, y, x, width, text) {
  paint.fillStyle = text;
  paint.globalAlpha = 1;
  paint.fillText(track.name, 4, y + 18, LABEL - 8);
  let painted = LABEL - 1;
  for (const run of track.runs) {
    const [left, right] = [Math.max(LABEL, x(run.at)), Math.min(width, x(run.at + run.long))];
    // What is narrower than a pixel is painted once for each pixel.
    if (right < LABEL || left > width || right <= painted) continue;
    const wide = Math.max(1, right - left);
    if (run.isIdle) {
      drawIdle(paint, run, left, wide, y, text);
      continue;
    }
    paint.globalAlpha = 1;
    paint.fillStyle = "hsl(" + hue(run.name) + " 55% 62%)";
    paint.fillRect(left, y + 4, wide > 4 ? wide - 1 : wide, TRACK - 8);
    painted = Math.max(painted, Math.floor(left + wide));
    if (wide > 34) {
      paint.fillStyle = "#111";
      paint.save();
      paint.beginPath();
      paint.rect(left, y, wide - 4, TRACK);
      paint.clip();
      paint.fillText(run.name, left + 4, y + 19);
      paint.restore();
    }
  }
}

/// What a worker does for itself is a thin line, and its sleep nothing.
function drawIdle(paint, run, left, wide, y, text) {
  if (run.name === "asleep") return;
  paint.globalAlpha = 0.35;
  paint.fillStyle = text;
  paint.fillRect(left, y + TRACK / 2 - 1, wide, 2);
  paint.globalAlpha = 1;
}

/// From who wakes to who is woken, where they are few enough to be told apart.
function drawArrows(paint, x, width, text) {
  const seen = trace.arrows.filter((arrow) => arrow.f.at >= trace.from && arrow.s.at <= trace.to);
  if (seen.length > MOST_ARROWS) return;
  paint.strokeStyle = paint.fillStyle = text;
  paint.globalAlpha = 0.6;
  const middle = (track) => AXIS + track * TRACK + TRACK / 2;
  for (const arrow of seen) {
    const [x1, y1, x2, y2] = [Math.max(LABEL, x(arrow.s.at)), middle(arrow.from), Math.min(width, x(arrow.f.at)), middle(arrow.to)];
    paint.beginPath();
    paint.moveTo(x1, y1);
    paint.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
    paint.stroke();
    paint.fillRect(x2 - 2, y2 - 2, 4, 4);
  }
  paint.globalAlpha = 1;
}

function hue(name) {
  let hash = 7;
  for (let at = 0; at < name.length; at++) hash = (hash * 31 + name.charCodeAt(at)) >>> 0;
  return (hash * 47) % 360;
}

function drawHover(paint, width, height) {
  const { run, x, y } = trace.hover;
  const more = Object.entries(run.args || {}).slice(0, 4).map(([key, value]) => clean(key) + " " + clean(value));
  const lines = [run.name, duration(run.long * 1000) + " from " + duration((run.at - trace.first) * 1000), ...more];
  const wide = Math.max(...lines.map((line) => paint.measureText(line).width)) + 14;
  const [left, top] = [Math.min(x + 12, width - wide - 2), Math.max(0, Math.min(y + 12, height - lines.length * 15 - 8))];
  paint.fillStyle = "#1b1f24";
  paint.fillRect(left, top, wide, lines.length * 15 + 6);
  paint.fillStyle = "#fff";
  lines.forEach((line, at) => paint.fillText(line, left + 7, top + 14 + at * 15));
}

/// Zooms around a place from 0 (left) to 1, or moves by a part of what is seen.
function zoom(factor, around) {
  const middle = trace.from + (trace.to - trace.from) * around;
  const span = Math.min((trace.last - trace.first) * 1.1, Math.max(SHORTEST_SPAN, (trace.to - trace.from) * factor));
  trace.from = middle - span * around;
  trace.to = trace.from + span;
  drawTimeline();
}

function move(part) {
  const by = (trace.to - trace.from) * part;
  trace.from += by;
  trace.to += by;
  drawTimeline();
}

function runAt(event) {
  const canvas = byId("canvas"), box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const track = trace.tracks[Math.floor((y - AXIS) / TRACK)];
  const at = trace.from + ((x - LABEL) / (box.width - LABEL)) * (trace.to - trace.from);
  const near = (trace.to - trace.from) / (box.width - LABEL);
  const run = track && x >= LABEL && track.runs.find((run) => run.at <= at + near && run.at + run.long >= at - near);
  return run ? { run, x, y } : null;
}

function saveTrace() {
  const url = URL.createObjectURL(new Blob([JSON.stringify(trace.data)], { type: "application/json" }));
  element("a", { href: url, download: "sisal-trace.json" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function startTimeline() {
  const canvas = byId("canvas");
  let dragged = null, hasMoved = false;
  byId("record").addEventListener("click", record);
  byId("save").addEventListener("click", saveTrace);
  canvas.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY < 0 ? 0.8 : 1.25, Math.max(0, (event.offsetX - LABEL) / (canvas.clientWidth - LABEL))); }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { dragged = event.clientX; hasMoved = false; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("click", (event) => {
    const found = hasMoved ? null : runAt(event);
    if (found && found.run.args && Number.isInteger(found.run.args.fiber)) openFiber(found.run.args.fiber);
  });
  canvas.addEventListener("pointerup", () => { dragged = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged !== null) { hasMoved = hasMoved || dragged !== event.clientX; move((dragged - event.clientX) / (canvas.clientWidth - LABEL)); dragged = event.clientX; }
    else { trace.hover = runAt(event); drawTimeline(); }
  });
  canvas.addEventListener("pointerleave", () => { trace.hover = null; drawTimeline(); });
}
