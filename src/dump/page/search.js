
// The search.
let texts = null, hits = [], current = -1;
/** All that is known of a node, as one text. The texts are made for the first search. */
const searchable = () => texts ??= nodes.map((node) => [
  node.name, node.op, node.location ?? "", node.content ?? "", node.error ?? "", ...node.scopes ?? [],
  ...node.outputs.flatMap((output) => [output.value, output.text, output.dtype, ...output.provenance ?? []]),
  ...Object.entries(node.attrs ?? {}).map(([name, value]) => `${name}=${value}`),
  ...node.kernel === undefined ? [] : [kernels[node.kernel].kind, `step ${kernels[node.kernel].step}`],
  ...data.guards.filter((guard) => guard.node === node.name).map((guard) => guard.text),
].join("\n").toLowerCase());
/** The label, the loops and the code of every kernel, each kernel as one text. */
let kernelTexts = null;
const searchableKernels = () => kernelTexts ??= kernels.map((kernel) =>
  [kernel.label, ...kernel.writes ?? [], kernel.loops ?? "", kernel.clif ?? "", kernel.asm ?? ""].join("\n").toLowerCase());
/** The row of a hit: a node with its type, or a kernel with its step. */
const rowOf = ({ node, kernel }, i) => {
  const [name, detail] = kernel === undefined
    ? [nodes[node].name === nodes[node].op ? nodes[node].op : `${nodes[node].name} (${nodes[node].op})`, nodes[node].outputs[0]?.text ?? ""]
    : [shortLabel(kernels[kernel].label)[1], `${kernels[kernel].kind}, step ${kernels[kernel].step}`];
  return element("li", { id: `hit-${i}`, role: "option", "aria-selected": "false", "data-hit": i, on: () => go(i) }, name, element("span", { class: "mono" }, detail));
};
const search = (text) => {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = (texts) => texts.flatMap((text, at) => terms.every((term) => text.includes(term)) ? [at] : []);
  const found = terms.length ? matching(searchable()) : [];
  const inKernels = terms.length ? matching(searchableKernels()) : [];
  hits = [...found.map((node) => ({ node })), ...inKernels.map((kernel) => ({ kernel }))];
  current = -1;
  marks.found = new Set(found);
  // Every scope around a found node is marked.
  for (const at of found) for (let scope = scopeOf.get(at); scope; scope = scopes[scope].parent) marks.found.add(`s${scope}`);
  redress();
  // Rows of nodes leave room for rows of kernels.
  const shown = hits.flatMap((hit, i) => i < 30 || i >= found.length && i < found.length + 10 ? [rowOf(hit, i)] : []);
  if (terms.length && !hits.length) shown.push(element("li", { class: "none" }, "Nothing found"));
  if (hits.length > shown.length) shown.push(element("li", { class: "none" }, `and ${(hits.length - shown.length).toLocaleString("en")} more`));
  list(shown);
};
/** Shows the rows of the search, or none. */
const list = (rows) => {
  byId("found").replaceChildren(...rows);
  byId("search").setAttribute("aria-expanded", String(rows.length > 0));
  byId("search").removeAttribute("aria-activedescendant");
};
const go = (i) => {
  current = i;
  for (const row of byId("found").querySelectorAll("[data-hit]")) {
    const isCurrent = row.dataset.hit === String(i);
    row.classList.toggle("on", isCurrent);
    row.setAttribute("aria-selected", String(isCurrent));
    if (!isCurrent) continue;
    row.scrollIntoView({ block: "nearest" });
    byId("search").setAttribute("aria-activedescendant", row.id);
  }
  const { node, kernel } = hits[i];
  if (kernel === undefined) select(node, true);
  else { marks.kernel = null; focusKernel(kernel); }
};
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("search").addEventListener("keydown", (event) => {
  const step = event.key === "Enter" || event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step && hits.length) { event.preventDefault(); go((current + (event.shiftKey ? -step : step) + hits.length) % hits.length); }
  if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) list([]); });
