
// The details of a node, a scope or a kernel, and the list of kernels.

// The node that makes each value, and the nodes that read it.
const maker = new Map(), readers = new Map();
nodes.forEach((node, at) => node.outputs.forEach((output) => { maker.set(output.value, at); readers.set(output.value, []); }));
nodes.forEach((node, at) => node.operands.forEach((value) => readers.get(value)?.push(at)));

const element = (tag, attributes, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === "class") made.className = value;
    else if (name === "on") made.addEventListener("click", value);
    else if (name === "hue") made.style.setProperty("--hue", value);
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};
/** The hue of a kernel, as its boxes have it. */
const hueOf = (kernel) => String((211 + (kernel % 3600) * 222) % 360);
const micros = (us) => us >= 1000 ? `${(us / 1000).toFixed(us >= 10000 ? 1 : 2)} ms` : `${us.toFixed(us >= 100 ? 0 : us >= 10 ? 1 : 2)} µs`;
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
/** Splits a kernel's label into the scope of its first node and the names of its nodes, without their scopes. */
const shortLabel = (label) => {
  const end = label.indexOf(": "), shared = end < 0 ? "" : label.slice(0, end);
  const names = label.slice(end < 0 ? 0 : end + 2).split(", ");
  const own = names[0].includes("/") ? names[0].slice(0, names[0].lastIndexOf("/")) : "";
  return [end < 0 ? own : shared, names.map((name) => name.slice(name.lastIndexOf("/") + 1)).join(", ")];
};

/** Empties and returns the panel of details. The width of the panel never changes, so that the graph does not move. */
const emptiedPanel = () => {
  const panel = byId("details");
  panel.replaceChildren();
  panel.scrollTop = 0;
  return panel;
};
const closeButton = () => element("button", { class: "close", title: "Close (esc)", "aria-label": "Close", on: () => clear() }, "×");
/** A name that may break after each slash. */
const breakable = (name) => name.split("/").flatMap((part, i) => i ? ["/", element("wbr"), part] : [part]);
const reference = (at, text) => element("button", { class: "ref", on: () => select(at, true) }, ...breakable(text ?? nodes[at].name));
const listed = (numbers, most) => {
  const links = numbers.slice(0, most).flatMap((at, i) => i ? [", ", reference(at)] : [reference(at)]);
  if (numbers.length > most) links.push(` and ${numbers.length - most} more`);
  return links;
};
const section = (panel, title, ...content) => panel.append(element("h2", {}, title), ...content);
const checks = (guards) => element("ul", {}, ...guards.map((guard) => {
  const at = guard.node === null ? -1 : nodes.findIndex((node) => node.name === guard.node);
  return element("li", { class: "mono" }, guard.text, ...at >= 0 ? [" in ", reference(at)] : []);
}));

/** Describes the whole graph. */
const describeGraph = () => {
  const panel = emptiedPanel();
  panel.append(element("h3", {}, "Graph"), element("div", { class: "sub" }, byId("summary").textContent));
  const rows = (chosen) => element("ul", { class: "ends" }, ...chosen.map(([at, output]) => element("li", {}, reference(at), element("span", { class: "mono" }, output.text))));
  const inputs = nodes.flatMap((node, at) => node.kind === "input" && !node.region ? [[at, node.outputs[0]]] : []);
  if (inputs.length) section(panel, plural(inputs.length, "input"), rows(inputs));
  // A graph that is not compiled has no results; then its outputs are the outputs of the nodes that no node reads.
  const isCompiled = nodes.some((node) => node.outputs.some((output) => output.result !== undefined));
  const isEnd = (node, output) => isCompiled ? output.result !== undefined
    : !node.region && node.kind !== "constant" && node.outputs.every((other) => !readers.get(other.value).length);
  const results = nodes.flatMap((node, at) => node.outputs.filter((output) => isEnd(node, output)).map((output) => [at, output]));
  if (results.length) section(panel, plural(results.length, "output"), rows(results.slice(0, 60)));
  const refused = nodes.flatMap((node, at) => node.error ? [at] : []);
  if (refused.length) section(panel, plural(refused.length, "error"), element("ul", {}, ...refused.map((at) => element("li", {}, reference(at), `: ${nodes[at].error}`))));
  if (data.guards.length) section(panel, plural(data.guards.length, "run-time check"), checks(data.guards));
};

/** A link to a scope. */
const scopeLink = (number, text) => element("button", { class: "ref", on: () => goToScope(number) }, ...breakable(text ?? scopes[number].path));
/** The scopes around a scope or a node, each a link, the outermost first. */
const crumbs = (innermost) => {
  const links = [];
  for (let scope = innermost; scope; scope = scopes[scope].parent) links.unshift(scopeLink(scope, scopes[scope].name));
  return links.length ? element("div", { class: "crumbs" }, "in ", ...links.flatMap((link, i) => i ? [" › ", link] : [link])) : null;
};
/** Each value of `values` with the node that makes it, as a list of at most 60 rows. */
const ends = (id, values) => {
  const all = [...values], row = (value) => {
    const from = maker.get(value), output = nodes[from].outputs.find((output) => output.value === value);
    return element("li", {}, reference(from), element("span", { class: "mono" }, output.text));
  };
  const rows = all.slice(0, 60).map(row);
  if (all.length > 60) rows.push(element("li", {}, `and ${(all.length - 60).toLocaleString("en")} more`));
  return element("ul", { class: "ends", id }, ...rows);
};
/** The branches and loop bodies of a node: for each its name, and its scope or its only node. */
const regionsOf = (at) => {
  const found = new Map(), prefix = `${nodes[at].name}/`;
  nodes.forEach((node, inner) => {
    if (node.region !== nodes[at].name || !node.name.startsWith(prefix)) return;
    const name = node.name.slice(prefix.length).split("/")[0];
    if (!found.has(name) || !scopeOf.has(found.get(name))) found.set(name, inner);
  });
  return [...found].map(([name, inner]) => {
    let scope = scopeOf.get(inner);
    while (scope && scopes[scope].path.startsWith(`${prefix}${name}/`)) scope = scopes[scope].parent;
    return element("li", {}, scope && scopes[scope].path === prefix + name ? scopeLink(scope, name) : reference(inner, name));
  });
};

/** Describes a scope: its inputs and outputs, its ops by count, and its nodes. */
const describeScope = (number) => {
  const panel = emptiedPanel(), scope = scopes[number];
  panel.append(closeButton(), element("h3", { id: "op" }, scope.name), element("div", { class: "sub", id: "name" }, scope.path));
  const around = crumbs(scope.parent);
  if (around) panel.append(around);
  const inner = [];
  const collect = (at) => { for (const box of scopes[at].boxes) if (box.kind === "node") inner.push(box.of); else if (box.kind === "scope") collect(box.of); };
  collect(number);
  const insiders = new Set(inner), inputs = new Set();
  for (const at of inner) {
    for (const value of nodes[at].operands) {
      const from = maker.get(value);
      if (from !== undefined && !insiders.has(from) && scopeOf.has(from)) inputs.add(value);
    }
  }
  const isRead = ({ value, result }) => result !== undefined || readers.get(value).some((reader) => !insiders.has(reader));
  const outputs = inner.flatMap((at) => nodes[at].outputs.filter(isRead).map((output) => output.value));
  const owner = nodes.findIndex((node) => node.name === nodes[inner[0]]?.region);
  if (owner >= 0 && scope.path.startsWith(nodes[owner].name)) section(panel, "Belongs to", element("div", { id: "owner" }, reference(owner)));
  if (inputs.size) section(panel, plural(inputs.size, "input"), ends("inputs", inputs));
  if (outputs.length) section(panel, plural(outputs.length, "output"), ends("outputs", outputs));
  const counts = new Map();
  for (const at of inner) counts.set(nodes[at].op, (counts.get(nodes[at].op) ?? 0) + 1);
  const ops = [...counts].sort((a, b) => b[1] - a[1]);
  section(panel, plural(scope.nodes, "node"), element("dl", {}, ...ops.flatMap(([op, count]) => [element("dt", {}, op), element("dd", {}, count.toLocaleString("en"))])));
  const within = ({ name }) => name.startsWith(`${scope.path}/`) ? name.slice(scope.path.length + 1) : name;
  const rows = inner.slice(0, 60).map((at) => element("li", {}, reference(at, within(nodes[at]))));
  if (inner.length > 60) rows.push(element("li", {}, `and ${(inner.length - 60).toLocaleString("en")} more`));
  section(panel, "Nodes", element("ul", { class: "ends" }, ...rows));
};

const describe = (at) => {
  const panel = emptiedPanel(), node = nodes[at];
  panel.append(closeButton(), element("h3", { id: "op" }, node.op));
  panel.append(element("div", { class: "sub", id: "name" }, reference(at, node.name === node.op ? "Show in the graph" : node.name)));
  const around = crumbs(scopeOf.get(at));
  if (around) panel.append(around);
  if (node.error) section(panel, "Error", element("pre", { class: "mono wrapped", id: "error" }, node.error));
  const values = node.outputs.map((output) => {
    const value = element("div", { class: "value" },
      element("span", { class: "mono" }, `${output.value}  `), element("span", { class: "mono type" }, output.text));
    if (output.result !== undefined) value.append(element("span", { class: "tag" }, `output ${output.result}`));
    if (output.provenance) value.append(element("ul", {}, ...output.provenance.map((line) => element("li", {}, line))));
    const reads = [...new Set(readers.get(output.value))];
    if (reads.length) value.append(element("div", { class: "sub" }, "read by ", ...listed(reads, 12)));
    return value;
  });
  section(panel, node.outputs.length === 1 ? "Output" : "Outputs", element("div", { id: "outputs" }, ...values));
  if (node.operands.length) {
    const list = element("dl", { id: "inputs" });
    node.operands.forEach((value) => {
      const from = maker.get(value);
      if (from === undefined) return;
      const output = nodes[from].outputs.find((output) => output.value === value);
      list.append(element("dt", { class: "mono" }, value), element("dd", {},
        element("span", { class: "mono" }, `${output.text} `), reference(from)));
      if (nodes[from].content) list.append(element("dt", {}), element("dd", { class: "mono sub" }, nodes[from].content));
    });
    section(panel, "Inputs", list);
  }
  if (node.attrs) {
    const list = element("dl", { id: "attrs" });
    for (const [name, value] of Object.entries(node.attrs)) list.append(element("dt", {}, name), element("dd", { class: "mono" }, value));
    section(panel, "Attributes", list);
  }
  const regions = regionsOf(at);
  if (regions.length) section(panel, "Branches and bodies", element("ul", { class: "ends", id: "regions" }, ...regions));
  if (node.content) section(panel, "Elements", element("pre", { class: "mono wrapped" }, node.content));
  const lines = [node.location ?? "imported", ...(node.scopes ?? []).map((scope) => `in scope ${scope}`)];
  section(panel, "Source", ...lines.map((line, i) => element("div", i ? { class: "mono" } : { class: "mono", id: "location" }, line)));
  const guards = data.guards.filter((guard) => guard.node === node.name);
  if (guards.length) section(panel, "Run-time checks", element("ul", {}, ...guards.map((guard) => element("li", { class: "mono" }, guard.text))));
  if (node.kernel !== undefined) {
    const kernel = kernels[node.kernel];
    section(panel, "Kernel", element("div", {}, element("span", { class: "chip", hue: hueOf(node.kernel) }), " ",
      element("button", { class: "ref", on: () => { marks.kernel = null; focusKernel(node.kernel); } }, ...breakable(`step ${kernel.step}: ${kernel.label}`))));
    describeKernel(panel, node.kernel, false);
  }
};

const describeKernel = (panel, at, isWhole) => {
  const kernel = kernels[at];
  if (kernel.time) {
    const { runs, total_us, least_us } = kernel.time;
    section(panel, "Time", element("div", { id: "time" }, `mean ${micros(total_us / runs)}, fastest ${micros(least_us)}, ${plural(runs, "run")}`));
  }
  if (isWhole) {
    const fused = nodes.flatMap((node, i) => node.kernel === at ? [i] : []);
    section(panel, plural(fused.length, "node"), element("div", {}, ...listed(fused, 60)));
  }
  if (kernel.writes?.length) section(panel, "Written to memory", ...kernel.writes.map((line) => element("div", { class: "mono" }, line)));
  section(panel, kernel.kind === "kernel" ? "Loops" : "Step", code(kernel.loops, "loops"));
  for (const [name, title] of [["clif", "Cranelift"], ["asm", "Machine code"]]) {
    // The page of a stage shows the code of this stage at once.
    const openness = data.stage === name ? { open: "" } : {};
    if (kernel[name]) panel.append(element("details", openness, element("summary", {}, title), code(kernel[name], name)));
  }
};
const WORDS = /(;[^\n]*)|\b(kernel|for|pass|where|else|and|variant|end of a row|end of a column|lanes|may fail|function|block\d+|jump|brif|return)\b|(?<![\w.])(-?(?:0x[0-9a-f_.p+-]+|\d[\d.e+-]*))(?![\w])/g;
// A line of machine code: an address, a mnemonic, operands. Hexadecimal numbers end in `h`.
const ADDRESS = /^( *[0-9a-f]+)(  )(\S+)/;
const OPERANDS = /(;.*)|()(?<![\w.])(-?(?:\d[0-9A-F]*h|\d[\d.e+-]*))(?![\w])/g;
const highlight = (pre, text, words) => {
  let last = 0;
  for (const match of text.matchAll(words)) {
    pre.append(text.slice(last, match.index), element("span", { class: match[1] ? "com" : match[2] ? "kw" : "num" }, match[0]));
    last = match.index + match[0].length;
  }
  pre.append(text.slice(last));
};
const code = (text, id) => {
  const pre = element("pre", { class: "mono", id, tabindex: "0" });
  // Long code is not highlighted, because a page with a hundred thousand spans is slow.
  if (text.length > 40000) { pre.textContent = text; return pre; }
  if (id !== "asm") { highlight(pre, text, WORDS); return pre; }
  for (const line of text.split(/(?<=\n)/)) {
    const parts = line.match(ADDRESS);
    if (parts) pre.append(element("span", { class: "com" }, parts[1]), parts[2], element("span", { class: "kw" }, parts[3]));
    highlight(pre, parts ? line.slice(parts[0].length) : line, OPERANDS);
  }
  return pre;
};

// The list of kernels.
let isByTime = false;
const listKernels = () => {
  const panel = byId("kernels");
  const mean = (at) => kernels[at].time ? kernels[at].time.total_us / kernels[at].time.runs : 0;
  const order = kernels.map((_, at) => at), most = order.reduce((most, at) => Math.max(most, mean(at)), 0);
  if (isByTime) order.sort((a, b) => mean(b) - mean(a));
  const title = element("h2", {}, plural(kernels.length, "step"));
  if (most > 0) title.append(element("button", { on: () => { isByTime = !isByTime; listKernels(); markKernels(); } }, isByTime ? "in order" : "by time"));
  const counts = new Map();
  for (const node of nodes) if (node.kernel !== undefined) counts.set(node.kernel, (counts.get(node.kernel) ?? 0) + 1);
  panel.replaceChildren(title, ...order.map((at) => {
    const kernel = kernels[at];
    const [scope, label] = shortLabel(kernel.label);
    const row = element("button", { class: "kernel", "data-kernel": at, hue: hueOf(at), title: kernel.label, on: () => focusKernel(at) },
      element("b", {}, element("span", { class: "chip" }), element("span", {}, label)));
    if (scope) row.append(element("small", {}, ...breakable(scope)));
    if (mean(at) > 0) {
      const bar = element("i", {});
      bar.style.width = `${100 * mean(at) / most}%`;
      row.append(element("div", { class: "bar" }, bar));
    }
    row.append(element("small", {}, [`step ${kernel.step}`, kernel.kind === "kernel" ? plural(counts.get(at) ?? 0, "node") : kernel.kind, mean(at) > 0 ? micros(mean(at)) : null].filter(Boolean).join(", ")));
    return row;
  }));
  panel.hidden = kernels.length === 0;
};
const markKernels = () => {
  for (const row of document.querySelectorAll(".kernel")) row.classList.toggle("on", row.dataset.kernel === String(marks.kernel));
};
