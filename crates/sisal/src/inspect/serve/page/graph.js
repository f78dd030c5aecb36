// The wait graph as a picture: fibers on the left wait for objects, which are held by fibers further right. A cycle is red.
//
// There may be thousands. Fibers that wait for the same object at the same place are one node with their number, and only the
// most telling objects are drawn: those of cycles, then those that are held, then those most wait for.

const MOST_OBJECTS = 40, MOST_ALONE = 3, LAYER = 212, LINE = 46, BOX = 166;

function renderGraph() {
  if (!state.snapshot || state.view !== "graph") return;
  const graph = buildGraph(state.snapshot);
  const picture = byId("picture");
  const hidden = graph.hidden > 0 ? " " + plural(graph.hidden, "more object") + " that fewer wait for are left out." : "";
  byId("graph-text").textContent = graph.nodes.length === 0 ? "Nobody waits for an object that is known." : "An arrow leads to what is waited for, and from there to who holds it. Dashed: several fibers at one place." + hidden;
  if (graph.nodes.length === 0) return picture.replaceChildren();
  const focused = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.node : null;
  picture.replaceChildren(draw(graph, layOut(graph)));
  const again = focused && [...picture.querySelectorAll("[data-node]")].find((node) => node.dataset.node === focused);
  if (again) again.focus({ preventScroll: true });
}

/// Nodes and edges: fiber (or group) to object, object to its owner.
function buildGraph(snapshot) {
  const waiting = new Map();
  for (const fiber of snapshot.fibers) {
    if (fiber.object === null || fiber.object === undefined || fiber.state !== "parked") continue;
    if (!waiting.has(fiber.object)) waiting.set(fiber.object, []);
    waiting.get(fiber.object).push(fiber);
  }
  const cycleObjects = new Set(snapshot.cycles.flat().map((step) => step.object));
  const weight = (id) => {
    const object = snapshot.objectById.get(id);
    const isHeld = object && object.owner !== null && object.owner !== undefined;
    return (cycleObjects.has(id) ? 1e12 : 0) + (isHeld ? 1e9 : 0) + waiting.get(id).length;
  };
  const objects = [...waiting.keys()].sort((a, b) => weight(b) - weight(a) || a - b);
  const graph = { nodes: [], edges: [], byKey: new Map(), hidden: Math.max(0, objects.length - MOST_OBJECTS) };
  const owners = new Set(objects.slice(0, MOST_OBJECTS).map((id) => (snapshot.objectById.get(id) || {}).owner));
  for (const id of objects.slice(0, MOST_OBJECTS)) addObject(graph, snapshot, id, waiting.get(id), owners, cycleObjects.has(id));
  return graph;
}

function addNode(graph, node) {
  if (!graph.byKey.has(node.key)) {
    graph.byKey.set(node.key, node);
    graph.nodes.push(node);
  }
  return graph.byKey.get(node.key);
}

function addObject(graph, snapshot, id, fibers, owners, inCycle) {
  const object = snapshot.objectById.get(id) || { kind: "object", id };
  const isThere = (value) => value !== null && value !== undefined;
  const holds = isThere(object.length) ? number(object.length) + (isThere(object.capacity) ? " of " + number(object.capacity) : "") + (object.closed ? ", closed" : "") : object.closed ? "closed" : "";
  const isEnd = object.kind === "fiber" && isThere(object.owner);
  const node = addNode(graph, { key: "o" + id, kind: "object", title: isEnd ? "end of a fiber" : clean(object.kind), small: isEnd ? "#" + object.owner : holds || String(id), isStuck: inCycle });
  // Those that hold something themselves, or are in a cycle, are drawn one by one; crowds at one place together.
  const isAlone = (fiber) => snapshot.inCycle.has(fiber.id) || owners.has(fiber.id);
  const places = new Map();
  for (const fiber of fibers.filter((fiber) => !isAlone(fiber))) {
    const key = (fiber.reason || "") + "\n" + (fiber.place || "");
    if (!places.has(key)) places.set(key, []);
    places.get(key).push(fiber);
  }
  const single = (fiber) => addEdge(graph, addFiber(graph, snapshot, fiber.id), node, clean(fiber.reason || ""), inCycle && snapshot.inCycle.has(fiber.id));
  fibers.filter(isAlone).forEach(single);
  for (const [key, group] of places) {
    if (group.length <= MOST_ALONE) group.forEach(single);
    else {
      const [reason, place] = key.split("\n");
      const made = addNode(graph, { key: "g" + id + key, kind: "group", title: plural(group.length, "fiber"), small: shortPlace(place), press: () => setFilter('"' + reason + '" "' + place + '"'), isStuck: false });
      addEdge(graph, made, node, clean(reason), false);
    }
  }
  if (isThere(object.owner)) addEdge(graph, node, addFiber(graph, snapshot, object.owner), "", inCycle && snapshot.inCycle.has(object.owner));
}

function addFiber(graph, snapshot, id) {
  const fiber = snapshot.byId.get(id);
  const small = fiber ? (fiber.state === "parked" ? "for " + duration(fiber.since_ns) : clean(fiber.state)) : "ended";
  return addNode(graph, { key: "f" + id, kind: "fiber", title: fiberName(id), small, press: () => openFiber(id), isStuck: snapshot.inCycle.has(id) });
}

function addEdge(graph, from, to, text, isStuck) {
  graph.edges.push({ from, to, text, isStuck });
}

/// Gives each node a layer, one further than those before it, and a line in that layer. Components are below each other.
function layOut(graph) {
  const out = new Map(graph.nodes.map((node) => [node, []]));
  const into = new Map(graph.nodes.map((node) => [node, []]));
  for (const edge of graph.edges) {
    out.get(edge.from).push(edge.to);
    into.get(edge.to).push(edge.from);
  }
  let bottom = 0, layers = 0;
  const seen = new Set();
  for (const start of graph.nodes) {
    if (seen.has(start)) continue;
    const component = reach(start, (node) => [...out.get(node), ...into.get(node)], seen);
    assignLayers(component, out, into);
    const columns = [];
    for (const node of component) (columns[node.layer] = columns[node.layer] || []).push(node);
    const tallest = Math.max(...columns.map((column) => column.length));
    columns.forEach((column, layer) => {
      // In the order of what leads to them, so that few edges cross.
      const middle = (node) => { const before = into.get(node).filter((other) => other.y !== undefined); return before.reduce((sum, other) => sum + other.y, 0) / (before.length || 1); };
      if (layer > 0) column.sort((a, b) => middle(a) - middle(b));
      const offset = bottom + ((tallest - column.length) * LINE) / 2;
      column.forEach((node, at) => { node.x = layer * LAYER; node.y = offset + at * LINE; });
    });
    bottom += tallest * LINE + (component.length > 2 ? 26 : 10);
    layers = Math.max(layers, columns.length);
  }
  return { width: (layers - 1) * LAYER + BOX + 30, height: bottom + 24 };
}

function reach(start, next, seen) {
  const found = [start];
  seen.add(start);
  for (let at = 0; at < found.length; at++) for (const node of next(found[at])) if (!seen.has(node)) { seen.add(node); found.push(node); }
  return found;
}

/// A node's layer is one further than that of the last which leads to it, so that arrows go to the right. Those that close a cycle are
/// left out of this, and go back.
function assignLayers(component, out, into) {
  const [OPEN, DONE] = [1, 2];
  const mark = new Map(), order = [], back = new Set();
  const visit = (node) => {
    mark.set(node, OPEN);
    for (const next of out.get(node)) {
      if (mark.get(next) === OPEN) back.add(node.key + "\n" + next.key);
      else if (!mark.has(next)) visit(next);
    }
    mark.set(node, DONE);
    order.unshift(node);
  };
  // From those that nobody waits for; then, in cycles, from a fiber.
  const isFirst = (node) => (into.get(node).length === 0 ? 0 : node.kind === "fiber" ? 1 : 2);
  for (const node of [...component].sort((a, b) => isFirst(a) - isFirst(b))) if (!mark.has(node)) visit(node);
  const leads = (from, to) => !back.has(from.key + "\n" + to.key);
  for (const node of order) {
    const before = into.get(node).filter((other) => leads(other, node)).map((other) => other.layer);
    node.layer = before.length === 0 ? 0 : Math.max(...before) + 1;
  }
  // Who waits for something far to the right stands beside it.
  for (const node of order) {
    if (into.get(node).length === 0 && out.get(node).length > 0) node.layer = Math.min(...out.get(node).map((other) => other.layer)) - 1;
  }
}

function draw(graph, size) {
  const made = svg("svg", { width: size.width, height: size.height, viewBox: "-4 -6 " + size.width + " " + size.height });
  const arrow = (id, className) => svg("marker", { id, class: className, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" }, svg("path", { d: "M0,0L8,4L0,8Z" }));
  made.append(svg("defs", null, arrow("arrow", ""), arrow("arrow-cycle", "cycle")));
  made.append(...graph.edges.map(drawEdge), ...graph.nodes.map(drawNode));
  return made;
}

function drawEdge(edge) {
  const { from, to } = edge;
  const [y1, y2] = [from.y + 17, to.y + 17];
  const marker = edge.isStuck ? "url(#arrow-cycle)" : "url(#arrow)";
  const attributes = { class: edge.isStuck ? "cycle" : null, "marker-end": marker };
  const title = svg("title", null, edge.text || "held by");
  if (to.x > from.x) {
    const [x1, x2] = [from.x + BOX, to.x];
    const middle = (x1 + x2) / 2;
    return svg("path", { ...attributes, d: `M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}` }, title);
  }
  // Back below the boxes.
  const low = Math.max(from.y, to.y) + LINE;
  return svg("path", { ...attributes, d: `M${from.x + BOX / 2},${from.y + 34}C${from.x + BOX / 2},${low + 14} ${to.x + BOX / 2},${low + 14} ${to.x + BOX / 2},${to.y + 36}` }, title);
}

function drawNode(node) {
  const isObject = node.kind === "object";
  const shape = isObject ? svg("ellipse", { cx: node.x + BOX / 2, cy: node.y + 17, rx: BOX / 2, ry: 17 }) : svg("rect", { x: node.x, y: node.y, width: BOX, height: 34, rx: 5 });
  const cut = (text, most) => ([...text].length > most ? [...text].slice(0, most - 1).join("") + "…" : text);
  const texts = [svg("text", { x: node.x + BOX / 2, y: node.y + 15, "text-anchor": "middle" }, cut(node.title, isObject ? 18 : 23)), svg("text", { class: "small", x: node.x + BOX / 2, y: node.y + 28, "text-anchor": "middle" }, cut(node.small, isObject ? 20 : 27))];
  const attributes = { class: node.kind + (node.isStuck ? " cycle" : ""), "data-node": node.key };
  if (node.press) Object.assign(attributes, { tabindex: 0, role: "button", onclick: node.press, onkeydown: (event) => { if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); node.press(); } } });
  return svg("g", attributes, svg("title", null, node.title + "\n" + node.small), shape, ...texts);
}
