
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
const search = (text) => {
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = terms.length ? searchable() : [];
  hits = all.flatMap((text, at) => terms.every((term) => text.includes(term)) ? [at] : []);
  current = -1;
  marks.found = new Set(hits);
  // Every scope around a hit is marked.
  for (const at of hits) for (let scope = scopeOf.get(at); scope; scope = scopes[scope].parent) marks.found.add(`s${scope}`);
  redress();
  const rows = hits.slice(0, 40).map((at, i) => element("li", { "data-hit": i, on: () => go(i) }, nodes[at].name === nodes[at].op ? nodes[at].op : `${nodes[at].name} (${nodes[at].op})`,
    element("span", { class: "mono" }, nodes[at].outputs[0]?.text ?? "")));
  if (terms.length && !hits.length) rows.push(element("li", { class: "none" }, "Nothing found"));
  if (hits.length > 40) rows.push(element("li", { class: "none" }, `and ${(hits.length - 40).toLocaleString("en")} more`));
  byId("found").replaceChildren(...rows);
};
const go = (i) => {
  current = i;
  for (const row of byId("found").children) row.classList.toggle("on", row.dataset.hit === String(i));
  select(hits[i], true);
};
byId("search").addEventListener("input", (event) => search(event.target.value));
byId("search").addEventListener("keydown", (event) => {
  const step = event.key === "Enter" || event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step && hits.length) { event.preventDefault(); go((current + (event.shiftKey ? -step : step) + hits.length) % hits.length); }
  if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
});
document.addEventListener("click", (event) => { if (!event.target.closest(".search")) byId("found").replaceChildren(); });
