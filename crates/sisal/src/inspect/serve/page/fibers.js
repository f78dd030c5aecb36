// The list of fibers. Only the rows that can be seen are in the document, so that a hundred thousand do no harm.

const ROW_HEIGHT = 26, OVERSCAN = 8;

const COLUMNS = [
  { key: "id", title: "Fiber", isNumber: true, text: (row) => (row.id === null ? "thread" : "#" + row.id) },
  { key: "name", title: "Name", text: (row) => row.name || (row.spawned ? "at " + row.spawned.split("/").pop() : "") },
  { key: "state", title: "State", text: (row) => row.state },
  { key: "reason", title: "Waits for", text: (row) => row.reason },
  { key: "since", title: "How long", isNumber: true, text: (row) => shortDuration(row.since) },
  { key: "place", title: "At", text: (row) => row.place },
  { key: "worker", title: "Worker", isNumber: true, text: (row) => (row.worker === null ? "" : String(row.worker)) },
  { key: "stack", title: "Stack", isNumber: true, text: (row) => bytes(row.stack) },
];

const list = { rows: [], filter: "", sort: "since", descending: true, selected: null, at: -1 };

/// One row for each fiber, and for each plain thread that waits in a call of sisal.
function rowsOf(snapshot) {
  const value = (given) => (given === undefined ? null : given);
  const fibers = snapshot.fibers.map((fiber) => ({
    key: "f" + fiber.id, id: fiber.id, name: fiber.name || "", state: fiber.state || "", reason: fiber.reason || "", since: waited(fiber),
    place: fiber.place || fiber.spawned_at || "", worker: value(fiber.worker), stack: value(fiber.stack_used), spawned: fiber.spawned_at || "", object: hex(fiber.object), isStuck: snapshot.inCycle.has(fiber.id),
  }));
  const threads = snapshot.threads.map((thread, at) => ({
    key: "t" + at, id: null, name: thread.name || "", state: "thread", reason: thread.reason || "", since: value(thread.since_ns), place: thread.place || "", worker: null, stack: null, spawned: "", object: hex(thread.object), isStuck: false,
  }));
  return fibers.concat(threads);
}

/// What a filter's words ask for: each of them, `"several words"` as one.
function parseFilter(text) {
  const words = (text.match(/-?"[^"]*"?|\S+/g) || []).map((word) => word.replace(/"/g, ""));
  return words.filter((word) => word !== "" && word !== "-" && word !== ">").map((word) => {
    if (word.startsWith(">") && parseDuration(word.slice(1)) !== null) {
      const least = parseDuration(word.slice(1));
      return (row) => row.since !== null && row.since >= least;
    }
    if (/^#\d+$/.test(word)) return (row) => "#" + row.id === word;
    const isWithout = word.startsWith("-");
    const wanted = (isWithout ? word.slice(1) : word).toLowerCase();
    return (row) => haystack(row).includes(wanted) !== isWithout;
  });
}

function haystack(row) {
  row.haystack = row.haystack || [row.id === null ? "" : "#" + row.id, row.name, row.state, row.reason, row.place, row.spawned, row.object, row.worker === null ? "" : "worker " + row.worker, row.isStuck ? "deadlock" : ""].join("\n").toLowerCase();
  return row.haystack;
}

/// Those without a value come last. By time, what is stuck for good comes before what only waits.
function compare(a, b) {
  if (list.sort === "since" && a.isStuck !== b.isStuck) return a.isStuck ? -1 : 1;
  const [left, right] = [a[list.sort], b[list.sort]];
  const isNone = (value) => value === null || value === "";
  if (isNone(left) || isNone(right)) return isNone(left) - isNone(right) || a.id - b.id;
  const order = left < right ? -1 : left > right ? 1 : 0;
  return (list.descending ? -order : order) || a.id - b.id;
}

function renderFibers() {
  if (!state.snapshot) return;
  const tests = parseFilter(list.filter);
  const rows = state.snapshot.rows;
  list.rows = tests.length === 0 ? [...rows] : rows.filter((row) => tests.every((test) => test(row)));
  list.rows.sort(compare);
  const found = list.rows.findIndex((row) => row.key === list.selected);
  list.at = found >= 0 ? found : Math.min(list.at, list.rows.length - 1);
  const threads = state.snapshot.threads.length;
  const all = plural(rows.length - threads, "fiber") + (threads > 0 ? ", " + plural(threads, "thread") : "");
  const shown = tests.length === 0 ? all : number(list.rows.length) + " of " + number(rows.length);
  if (byId("shown").textContent !== shown) byId("shown").textContent = shown;
  byId("space").style.height = Math.max(60, list.rows.length * ROW_HEIGHT) + "px";
  byId("grid").setAttribute("aria-rowcount", list.rows.length + 1);
  renderColumns();
  renderRows();
}

function renderColumns() {
  const row = byId("columns");
  if (row.childElementCount === 0) {
    row.append(...COLUMNS.map((column) => element("div", { role: "columnheader", class: "column-" + column.key + (column.isNumber ? " number" : "") }, element("button", { type: "button", tabindex: -1, onclick: () => sortBy(column.key) }))));
  }
  COLUMNS.forEach((column, at) => {
    const isSorted = column.key === list.sort;
    const cell = row.children[at];
    if (isSorted) cell.setAttribute("aria-sort", list.descending ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
    cell.firstChild.textContent = column.title + (isSorted ? (list.descending ? " ↓" : " ↑") : "");
  });
}

/// Draws the rows that can be seen, into elements that are used again.
function renderRows() {
  const grid = byId("grid"), rows = byId("rows");
  const first = Math.max(0, Math.floor(grid.scrollTop / ROW_HEIGHT) - OVERSCAN);
  const count = Math.min(list.rows.length - first, Math.ceil(grid.clientHeight / ROW_HEIGHT) + 2 * OVERSCAN);
  if (list.rows.length === 0) {
    rows.style.transform = "";
    rows.replaceChildren(element("p", { class: "none" }, list.filter ? "No fiber fits the filter. Esc clears it." : "There are no fibers."));
    grid.removeAttribute("aria-activedescendant");
    return;
  }
  if (rows.firstElementChild && rows.firstElementChild.className === "none") rows.replaceChildren();
  while (rows.childElementCount < count) rows.append(emptyRow());
  while (rows.childElementCount > count) rows.lastChild.remove();
  rows.style.transform = "translateY(" + first * ROW_HEIGHT + "px)";
  for (let at = 0; at < count; at++) fillRow(rows.children[at], list.rows[first + at], first + at);
  const isSeen = list.at >= first && list.at < first + count;
  if (isSeen) grid.setAttribute("aria-activedescendant", "row-" + (list.at - first));
  else grid.removeAttribute("aria-activedescendant");
  [...rows.children].forEach((row, at) => { row.id = "row-" + at; });
}

function emptyRow() {
  const row = element("div", { role: "row", class: "row" });
  row.append(...COLUMNS.map((column) => element("div", { role: "gridcell", class: "column-" + column.key + (column.isNumber ? " number" : "") + (column.key === "place" ? " code" : "") })));
  row.addEventListener("click", () => { select(row.at); openSelected(); });
  return row;
}

function fillRow(element, row, at) {
  element.at = at;
  element.setAttribute("aria-rowindex", at + 2);
  element.setAttribute("aria-selected", String(at === list.at));
  element.className = "row" + (row.isStuck ? " cycle" : "");
  COLUMNS.forEach((column, index) => {
    const cell = element.children[index];
    let text = clean(column.text(row));
    if (column.key === "reason" && row.isStuck) text = "⟲ deadlock: " + text;
    const shown = column.key === "place" ? shortPlace(row.place) : text;
    if (cell.textContent !== shown) cell.textContent = shown;
    if (cell.title !== text) cell.title = text;
    if (column.key === "name") cell.className = "column-name" + (row.name ? "" : " quiet");
    if (column.key === "state") cell.className = "column-state state " + stateClass(row.state);
  });
}

function sortBy(key) {
  if (list.sort === key) list.descending = !list.descending;
  else [list.sort, list.descending] = [key, key === "since" || key === "stack"];
  renderFibers();
}

function select(at) {
  if (list.rows.length === 0) return;
  list.at = Math.max(0, Math.min(list.rows.length - 1, at));
  list.selected = list.rows[list.at].key;
  const grid = byId("grid"), header = byId("columns").offsetHeight;
  const top = list.at * ROW_HEIGHT, seen = grid.clientHeight - header;
  if (top < grid.scrollTop) grid.scrollTop = top;
  else if (top + ROW_HEIGHT > grid.scrollTop + seen) grid.scrollTop = top + ROW_HEIGHT - seen;
  renderRows();
}

function openSelected() {
  const row = list.rows[list.at];
  if (row && row.id !== null) openFiber(row.id);
}

function setFilter(text) {
  byId("filter").value = text;
  list.filter = text;
  byId("grid").scrollTop = 0;
  show("fibers");
}
