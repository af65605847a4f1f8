
// The camera, the pointer and the keyboard.
const clamp = (scale) => Math.min(3, Math.max(0.002, scale));
const zoom = (x, y, factor) => {
  const scale = clamp(camera.scale * factor);
  camera.x = x - (x - camera.x) * (scale / camera.scale);
  camera.y = y - (y - camera.y) * (scale / camera.scale);
  camera.scale = scale;
  show();
};
/** Height of the line of help below the graph. */
const HELP = 32;
/** Below this scale, text is too small to be read. */
const READABLE = 0.75;
/** The scale that shows the whole graph. */
const fittingScale = () => {
  const { width, height } = view.getBoundingClientRect();
  return clamp(Math.min(width / extent.width, (height - HELP) / extent.height, 1.25));
};
/** Shows the whole graph. */
const fit = () => {
  const { width, height } = view.getBoundingClientRect();
  camera.scale = fittingScale();
  camera.x = (width - extent.width * camera.scale) / 2;
  camera.y = (height - HELP - extent.height * camera.scale) / 2;
  show();
};
/** Opens scopes, the outer first, as long as the whole graph stays readable. */
const openReadable = () => {
  const open = items.filter((item) => item.kind === "scope");
  for (const { of } of open) {
    opened.add(of);
    arrange();
    if (fittingScale() >= READABLE) open.push(...itemOf.get(`s${of}`).inner.filter((item) => item.kind === "scope"));
    else opened.delete(of);
  }
  arrange();
};
/** Opens all scopes, and shows where the graph begins. */
const openAll = () => {
  scopes.forEach((scope, number) => { if (scope && number) opened.add(number); });
  rearrange();
  camera.scale = Math.max(fittingScale(), READABLE);
  camera.x = view.clientWidth / 2 - (items[0].x + items[0].width / 2) * camera.scale;
  camera.y = 0;
  show();
};
/** Moves the camera to a box, unless the box is readable already. */
const reveal = (item) => {
  const { width, height } = view.getBoundingClientRect();
  const middle = { x: item.x + item.width / 2, y: item.y + (item.isOpen ? item.labelHeight + HEAD : item.height / 2) };
  const x = camera.x + middle.x * camera.scale, y = camera.y + middle.y * camera.scale;
  if (camera.scale >= READABLE && x > 60 && x < width - 60 && y > 60 && y < height - 60) return;
  camera.scale = Math.max(camera.scale, 1);
  camera.x = width / 2 - middle.x * camera.scale;
  camera.y = height / 2 - middle.y * camera.scale;
  show();
};
/**
 * Opens or closes a scope. The point of the scope under `(x, y)` of the view stays in place. The default point is the
 * title of the scope.
 */
const toggle = (number, x, y) => {
  const before = itemOf.get(`s${number}`);
  x ??= camera.x + (before.x + before.width / 2) * camera.scale;
  y ??= camera.y + (before.y + before.labelHeight + HEAD / 2) * camera.scale;
  const part = (x - camera.x) / camera.scale - before.x;
  const down = (y - camera.y) / camera.scale - before.y - before.labelHeight;
  opened.has(number) ? opened.delete(number) : opened.add(number);
  rearrange();
  const after = itemOf.get(`s${number}`);
  // The pointer stays on the title of an open scope, and on the box of a closed one.
  const high = after.isOpen ? Math.min(down, HEAD - 4) : Math.min(down, after.bodyHeight - 4);
  // The corners are round.
  const right = Math.max(8, Math.min(after.width - 8, part * after.width / before.width));
  camera.x = x - (after.x + right) * camera.scale;
  camera.y = y - (after.y + after.labelHeight + Math.max(4, high)) * camera.scale;
  show();
};
/**
 * Opens all scopes around a node and returns the box of the node. For a constant without a box, the node is the first
 * reader of the constant.
 */
const openTo = (at) => {
  if (!scopeOf.has(at)) at = readers.get(nodes[at].outputs[0]?.value)?.[0] ?? at;
  openAround(scopeOf.get(at));
  return itemOf.get(`n${at}`);
};
/** Opens a scope and all scopes around it. */
const openAround = (innermost) => {
  let isNew = false;
  for (let scope = innermost; scope; scope = scopes[scope].parent) {
    if (!opened.has(scope)) { opened.add(scope); isNew = true; }
  }
  if (isNew) rearrange();
};

// The address of the page names what the page shows: `#v12` the value `%12`, `#n7` a node without outputs, `#s3` a
// scope, `#step5` a step. `#loops`, `#clif` and `#asm` name the first kernel with such code.
const addressOf = (at) => nodes[at].outputs[0]?.value.replaceAll("%", "v") ?? `n${at}`;
/** Whether the page shows what its address names. Then the address stays. */
let isFollowing = false;
/** Adds an address to the history, so that the reader can go back. */
const record = (address) => {
  if (!isFollowing && location.hash.slice(1) !== address) history.pushState(null, "", `#${address}`);
};
/** Shows what the address names. */
const follow = () => {
  const address = location.hash.slice(1), [, kind, number] = address.match(/^(n|s|step)(\d+)$/) ?? [];
  isFollowing = true;
  const isCode = ["loops", "clif", "asm"].includes(address);
  const step = isCode ? kernels.findIndex((kernel) => kernel[address] && kernel.kind === "kernel") : kind === "step" ? kernels.findIndex((kernel) => kernel.step === Number(number)) : -1;
  const named = kind === "n" ? Number(number) : nodes.findIndex((node) => node.outputs.some((output) => output.value.replaceAll("%", "v") === address));
  if (step >= 0) { marks.kernel = null; focusKernel(step); }
  else if (kind === "s" && scopes[number] && Number(number)) goToScope(Number(number));
  else if (nodes[named]) select(named, true);
  else if (marks.selected !== null || marks.kernel !== null) clear();
  if (step >= 0 && isCode) {
    const code = byId(address);
    code.closest("details")?.setAttribute("open", "");
    code.scrollIntoView({ block: "nearest" });
  }
  isFollowing = false;
};
window.addEventListener("popstate", follow);

const select = (at, moves) => {
  marks.selected = at;
  marks.kernel = null;
  markKernels();
  describe(at);
  if (moves) {
    const item = openTo(at);
    if (item) { setFocus(item, false); reveal(item); show(); }
  }
  redress();
  record(addressOf(at));
};
const selectScope = (number) => {
  marks.selected = `s${number}`;
  marks.kernel = null;
  markKernels();
  describeScope(number);
  redress();
  record(`s${number}`);
};
/** Moves the camera to a scope and describes the scope. */
const goToScope = (number) => {
  openAround(scopes[number].parent);
  const item = itemOf.get(`s${number}`);
  if (item) { setFocus(item, false); reveal(item); show(); }
  selectScope(number);
};
const focusKernel = (kernel) => {
  marks.kernel = marks.kernel === kernel ? null : kernel;
  marks.selected = null;
  markKernels();
  if (marks.kernel === null) { clear(); return; }
  const panel = emptiedPanel();
  panel.append(closeButton(), element("h3", {}, ...breakable(kernels[kernel].label)), element("div", { class: "sub" }, `${kernels[kernel].kind}, step ${kernels[kernel].step}`));
  describeKernel(panel, kernel, true);
  const first = nodes.findIndex((node) => node.kernel === kernel);
  const item = first >= 0 ? openTo(first) : null;
  if (item) reveal(item);
  show();
  redress();
  record(`step${kernels[kernel].step}`);
};
const clear = () => {
  marks.selected = marks.kernel = null;
  markKernels();
  describeGraph();
  redress();
  record("");
};
/** Does what Enter or a click at `(x, y)` does to a box. A click does not move the graph. */
const activate = (item, x, y) => {
  if (item.kind === "scope") { toggle(item.of, x, y); selectScope(item.of); } else select(item.of, item.kind !== "node" && x === undefined);
};

svg.addEventListener("wheel", (event) => {
  event.preventDefault();
  const frame = view.getBoundingClientRect();
  const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? frame.height : 1);
  zoom(event.clientX - frame.left, event.clientY - frame.top, Math.exp(-Math.max(-240, Math.min(240, pixels)) * 0.0018));
}, { passive: false });
const pointers = new Map();
let moved = 0;
svg.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  moved = 0;
});
window.addEventListener("pointermove", (event) => {
  const before = pointers.get(event.pointerId);
  if (!before) return;
  const frame = view.getBoundingClientRect();
  if (pointers.size === 2) {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const reach = (point) => Math.hypot(point.x - other.x, point.y - other.y);
    zoom((event.clientX + other.x) / 2 - frame.left, (event.clientY + other.y) / 2 - frame.top,
      reach({ x: event.clientX, y: event.clientY }) / Math.max(1, reach(before)));
  } else {
    camera.x += event.clientX - before.x;
    camera.y += event.clientY - before.y;
    show();
  }
  moved += Math.abs(event.clientX - before.x) + Math.abs(event.clientY - before.y);
  if (moved > 4) svg.classList.add("moving");
  pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
});
const release = (event) => { pointers.delete(event.pointerId); svg.classList.remove("moving"); };
window.addEventListener("pointerup", release);
window.addEventListener("pointercancel", release);
svg.addEventListener("click", (event) => {
  if (moved > 4) return;
  const constant = event.target.closest("[data-constant]"), item = itemOf.get(event.target.closest("[data-key]")?.dataset.key);
  const frame = view.getBoundingClientRect();
  const focus = () => { const same = itemOf.get(item?.key); if (same) setFocus(same, true); };
  focus();
  if (constant) select(Number(constant.dataset.constant), false);
  // The inside of an open scope is background.
  else if (!item || item.isOpen && (event.clientY - frame.top - camera.y) / camera.scale > item.y + item.labelHeight + HEAD) clear();
  else {
    activate(item, event.clientX - frame.left, event.clientY - frame.top);
    // The elements are new if a scope was opened or closed.
    focus();
  }
});

/** Gives a box the focus: the arrow keys move from this box. */
const setFocus = (item, grabs) => {
  marks.focused = item.key;
  if (!shown.has(item)) render();
  redress();
  if (grabs) shown.get(item)?.focus({ preventScroll: true });
};
/** The box that an arrow key leads to: a source or a reader, else the nearest box on that side. */
const neighbor = (item, key) => {
  const joined = key === "ArrowUp" ? item.above : key === "ArrowDown" ? item.below : [];
  if (joined.length) return joined[0];
  const middle = (of) => [of.x + of.width / 2, of.y + of.labelHeight + (of.isOpen ? HEAD : of.bodyHeight) / 2];
  const [x, y] = middle(item), isAcross = key === "ArrowLeft" || key === "ArrowRight", sign = key === "ArrowLeft" || key === "ArrowUp" ? -1 : 1;
  let best = null, least = Infinity;
  for (const other of items) {
    const [otherX, otherY] = middle(other), along = sign * (isAcross ? otherX - x : otherY - y), aside = Math.abs(isAcross ? otherY - y : otherX - x);
    if (other === item || along <= 1 || aside > 2 * along) continue;
    if (along + 2 * aside < least) { least = along + 2 * aside; best = other; }
  }
  return best;
};
svg.addEventListener("keydown", (event) => {
  const item = itemOf.get(marks.focused);
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const step = { PageDown: 1, PageUp: -1 }[event.key];
  let next = null;
  if (event.key.startsWith("Arrow")) next = neighbor(item, event.key);
  else if (step) next = items[(item.index + step + items.length) % items.length];
  else if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    activate(item);
    const same = itemOf.get(item.key);
    if (same && (item.kind === "scope" || item.kind === "node")) setFocus(same, true);
    return;
  } else if (event.key === "Escape" && marks.selected === null && item.parent) next = itemOf.get(item.parent.key);
  else return;
  event.preventDefault();
  if (event.key === "Escape") event.stopPropagation();
  if (next) { reveal(next); setFocus(next, true); }
});
svg.addEventListener("focusin", (event) => {
  const item = itemOf.get(event.target.closest("[data-key]")?.dataset.key);
  if (item && marks.focused !== item.key) { marks.focused = item.key; redress(); }
});

window.addEventListener("keydown", (event) => {
  if (event.target.closest?.("input") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); byId("search").focus(); }
  if (event.key === "f") fit();
  if (event.key === "Escape") clear();
  const { width, height } = view.getBoundingClientRect();
  if (event.key === "+" || event.key === "=") zoom(width / 2, height / 2, 1.25);
  if (event.key === "-") zoom(width / 2, height / 2, 0.8);
});
byId("fit").addEventListener("click", fit);
byId("fold").addEventListener("click", () => { opened.clear(); rearrange(); fit(); });
byId("unfold").addEventListener("click", openAll);
byId("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const theme = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = theme === "dark" ? "light" : "dark";
});
window.addEventListener("resize", () => { covered = null; show(); });

let noticeTimer = 0;
/** Shows a message until the next one, at most for the given seconds. */
const notify = (text, seconds) => {
  clearTimeout(noticeTimer);
  byId("notice").textContent = text;
  if (text) noticeTimer = setTimeout(() => notify("", 0), 1000 * seconds);
};
const save = (url, extension) => {
  const link = element("a", { href: url, download: `shapeflow-${data.stage}.${extension}` });
  link.click();
  // The browser needs the address until the download has begun.
  setTimeout(() => URL.revokeObjectURL(url), 60000);
};
const svgUrl = () => URL.createObjectURL(new Blob([pictureSvg()], { type: "image/svg+xml" }));
byId("save-svg").addEventListener("click", () => save(svgUrl(), "svg"));
/** The most pixels of a side of a PNG, and of a PNG. Browsers limit both, not all alike. */
const SIDE = 32000, AREA = 1.2e8;
byId("save-png").addEventListener("click", () => {
  const { width, height } = extent, url = svgUrl(), image = new Image();
  const refuse = () => notify("The browser cannot make this PNG. Close some scopes, or save the picture as SVG.", 12);
  /** Saves the picture; if the browser cannot make it, a smaller one. */
  const savePng = (side) => {
    const scale = Math.min(2, side / Math.max(width, height), Math.sqrt(AREA / (width * height)));
    const canvas = element("canvas", { width: Math.ceil(width * scale), height: Math.ceil(height * scale) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => {
      if (!blob) {
        if (side > 2000) savePng(side / 2); else refuse();
        return;
      }
      notify("", 0);
      save(URL.createObjectURL(blob), "png");
    });
  };
  notify("The PNG is being made.", 120);
  image.addEventListener("load", () => { savePng(SIDE); URL.revokeObjectURL(url); });
  image.addEventListener("error", refuse);
  image.src = url;
});

byId("stage").textContent = data.stage;
const folded = nodes.filter((node, at) => node.op === "constant" && !scopeOf.has(at)).length;
byId("summary").textContent = [plural(nodes.length, "node"), folded ? `${plural(folded, "folded constant")}` : null,
  kernels.length ? plural(kernels.filter((kernel) => kernel.kind === "kernel").length, "kernel") : null,
  data.guards.length ? plural(data.guards.length, "run-time check") : null].filter(Boolean).join(" · ");
byId("fold").hidden = byId("unfold").hidden = scopes.length < 2;
listKernels();
describeGraph();
arrange();
openReadable();
marks.focused = items[0]?.key ?? null;
fit();
follow();
