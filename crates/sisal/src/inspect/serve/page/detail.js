// One fiber: all that is known of it, with its stack.

async function openFiber(id) {
  if (state.open === null) state.focusBefore = document.activeElement;
  state.open = id;
  state.opened = null;
  renderDetail();
  byId("detail").scrollTop = 0;
  byId("detail-title").focus();
  await refreshDetail();
}

/// Asks for the fiber that is open, this time with its stack.
async function refreshDetail() {
  const id = state.open;
  if (id === null) return;
  try {
    const answer = await request("/debug/fibers.json?id=" + id, 10000);
    const fiber = (answer.fibers || []).find((fiber) => fiber.id === id);
    // The last that was known of a fiber stays when it has ended.
    const kept = fiber || (state.opened && state.opened.fiber) || state.snapshot.byId.get(id) || null;
    if (state.open === id) state.opened = { fiber: kept, hasEnded: !fiber, objects: answer.objects || [] };
  } catch (error) {
    if (error.status === 401) return askForToken();
  }
  if (state.open === id) renderDetail();
}

function closeDetail() {
  state.open = state.opened = null;
  byId("detail").hidden = true;
  const before = state.focusBefore;
  const isThere = before && before.isConnected && before !== document.body;
  (isThere ? before : byId("grid")).focus({ preventScroll: true });
}

function renderDetail() {
  const id = state.open;
  const known = (state.opened && state.opened.fiber) || (state.snapshot && state.snapshot.byId.get(id));
  byId("detail").hidden = false;
  byId("detail-title").textContent = "#" + id + (known && known.name ? " " + clean(known.name) : "");
  const body = byId("detail-body");
  if (!known) {
    body.replaceChildren(element("p", { class: "quiet" }, state.opened ? "There is no such fiber any more." : "Asking…"));
    return;
  }
  const parts = [];
  if (state.opened && state.opened.hasEnded) parts.push(notice("warn", "This fiber has ended. This is the last that was known of it."));
  parts.push(...state.snapshot.cycles.filter((cycle) => cycle.some((step) => step.fiber === id)).map(cycleNotice));
  parts.push(element("h3", null, "What it does"), fieldsOf(known));
  const object = state.snapshot.objectById.get(known.object) || ((state.opened && state.opened.objects) || []).find((object) => object.id === known.object);
  if (object) parts.push(element("h3", null, "What it waits for"), objectFields(object));
  parts.push(element("h3", null, "Stack"), traceOf(known));
  update(body, parts);
}

function fields(entries) {
  const pairs = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("dl", { class: "fields" }, ...pairs.flatMap(([name, value]) => [element("dt", null, name), element("dd", null, value)]));
}

const code = (text) => (text ? element("span", { class: "code" }, clean(text)) : null);

function fieldsOf(fiber) {
  const isThere = (value) => value !== null && value !== undefined;
  return fields([
    ["state", element("span", { class: "state " + stateClass(fiber.state) }, clean(fiber.state))],
    ["waits for", fiber.reason ? clean(fiber.reason) : null],
    ["object", isThere(fiber.object) ? objectName(fiber.object) : null],
    ["at", code(fiber.place)],
    ["how long", waited(fiber) === null ? null : duration(waited(fiber))],
    ["worker", isThere(fiber.worker) ? String(fiber.worker) : null],
    ["spawned at", code(fiber.spawned_at)],
    ["spawned by", isThere(fiber.spawned_by) ? fiberLink(fiber.spawned_by) : null],
    ["nursery", hex(fiber.nursery)],
    ["stack", isThere(fiber.stack_size) ? (isThere(fiber.stack_used) ? bytes(fiber.stack_used) + " used of " : "") + bytes(fiber.stack_size) : null],
  ]);
}

function objectFields(object) {
  const fibers = (ids) => (ids && ids.length > 0 ? fiberLinks(ids) : null);
  const isThere = (value) => value !== null && value !== undefined;
  return fields([
    ["kind", clean(object.kind)],
    ["number", hex(object.id)],
    ["holds", isThere(object.length) ? number(object.length) + (isThere(object.capacity) ? " of " + number(object.capacity) : "") : null],
    ["closed", isThere(object.closed) ? (object.closed ? "yes" : "no") : null],
    ["held by", isThere(object.owner) ? fiberLink(object.owner) : isThere(object.outsider) ? clean(object.outsider) : null],
    ["fiber", isThere(object.fiber) ? fiberLink(object.fiber) : null],
    ["want to send", fibers(object.waiting_to_send)],
    ["want to receive", fibers(object.waiting_to_receive)],
    ["wait", fibers(object.waiting)],
    ["plain threads", object.waiting_threads ? number(object.waiting_threads) + " wait too" : null],
  ]);
}

function fiberLinks(ids) {
  const links = ids.slice(0, 20).flatMap((id, at) => (at === 0 ? [fiberLink(id)] : [", ", fiberLink(id)]));
  return element("span", null, ...links, ids.length > 20 ? " and " + (ids.length - 20) + " more" : "");
}

function traceOf(fiber) {
  if (!state.opened) return element("p", { class: "quiet" }, "Asking…");
  if (!fiber.trace) return element("p", { class: "quiet" }, "Not known. Stacks need sisal’s feature stack-traces.");
  if (fiber.trace.length === 0) return element("p", { class: "quiet" }, "Empty: it has not been started.");
  return element("ol", { class: "trace", tabindex: 0, "aria-label": "Stack, innermost call first" }, ...fiber.trace.map((frame) =>
    element("li", null, clean(frame.function || frame.address || "?"), element("span", { class: "quiet" }, frame.file ? clean(frame.file) + (frame.line ? ":" + frame.line : "") : clean(frame.address || "")))));
}
