"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const svg = by("svg"), scene = by("scene"), view = by("view");
  const size = { width: Number(svg.dataset.width), height: Number(svg.dataset.height) };
  const nodes = data.nodes, kernels = data.kernels;
  const boxes = [], wires = [];
  for (const box of scene.querySelectorAll("g.node")) boxes[Number(box.dataset.node)] = box;
  for (const wire of scene.querySelectorAll("path[data-from]")) {
    wires.push({ wire, from: Number(wire.dataset.from), to: wire.dataset.to === undefined ? null : Number(wire.dataset.to) });
  }

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
  const hues = new Map();
  for (const box of boxes) if (box?.dataset.kernel) hues.set(Number(box.dataset.kernel), box.style.getPropertyValue("--hue"));
  const micros = (us) => us >= 1000 ? `${(us / 1000).toFixed(us >= 10000 ? 1 : 2)} ms` : `${us.toFixed(us >= 100 ? 0 : us >= 10 ? 1 : 2)} µs`;
  /** Splits a kernel's label into the scope that all its ops share and the rest. */
  const shortened = (label) => {
    const names = label.split(", ");
    const parts = names[0].split("/").slice(0, -1);
    while (parts.length && !names.every((name) => name.startsWith(`${parts.join("/")}/`))) parts.pop();
    const scope = parts.join("/");
    return [scope, scope ? names.map((name) => name.slice(scope.length + 1)).join(", ") : label];
  };
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  // Moving and zooming.
  const place = { x: 0, y: 0, scale: 1 };
  const show = () => {
    scene.setAttribute("transform", `translate(${place.x} ${place.y}) scale(${place.scale})`);
    scene.classList.toggle("far", place.scale < 0.42);
    scene.classList.toggle("farther", place.scale < 0.2);
  };
  const clamp = (scale) => Math.min(3, Math.max(0.01, scale));
  const zoom = (x, y, factor) => {
    const scale = clamp(place.scale * factor);
    place.x = x - (x - place.x) * (scale / place.scale);
    place.y = y - (y - place.y) * (scale / place.scale);
    place.scale = scale;
    show();
  };
  const fit = (least) => {
    const { width, height } = view.getBoundingClientRect();
    const whole = Math.min(width / size.width, height / size.height, 1.25);
    place.scale = clamp(Math.max(whole, least ?? 0));
    place.x = (width - size.width * place.scale) / 2;
    place.y = whole >= place.scale ? (height - size.height * place.scale) / 2 : 0;
    show();
    return whole >= place.scale;
  };
  /** The box of a node in the coordinates of the scene. */
  const boxOf = (at) => {
    const [x, y] = /translate\(([^,]+),([^)]+)\)/.exec(boxes[at].getAttribute("transform")).slice(1).map(Number);
    const box = boxes[at].querySelector(".box");
    return { x, y, width: Number(box.getAttribute("width")), height: Number(box.getAttribute("y")) + Number(box.getAttribute("height")) };
  };
  const reveal = (at) => {
    const { width, height } = view.getBoundingClientRect();
    const box = boxOf(at);
    const x = place.x + (box.x + box.width / 2) * place.scale, y = place.y + (box.y + box.height / 2) * place.scale;
    if (place.scale >= 0.42 && x > 60 && x < width - 60 && y > 60 && y < height - 60) return;
    place.scale = Math.max(place.scale, 0.9);
    place.x = width / 2 - (box.x + box.width / 2) * place.scale;
    place.y = height / 2 - (box.y + box.height / 2) * place.scale;
    show();
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
      place.x += event.clientX - before.x;
      place.y += event.clientY - before.y;
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
    const box = event.target.closest("g.node");
    if (box) select(Number(box.dataset.node)); else clear();
  });

  // The selection: a node, or a kernel in focus.
  let selected = null, focused = null;
  const mark = () => {
    boxes.forEach((box, at) => box.classList.toggle("on", at === selected));
    for (const { wire, from, to } of wires) {
      const reached = to === selected || (from === selected);
      wire.classList.toggle("lit", selected !== null && reached);
    }
    scene.classList.toggle("focus", focused !== null);
    boxes.forEach((box) => box.classList.toggle("in-focus", focused !== null && box.dataset.kernel === String(focused)));
    for (const row of document.querySelectorAll(".kernel")) row.classList.toggle("on", row.dataset.kernel === String(focused));
  };
  const select = (at, moves) => {
    selected = at;
    focused = null;
    mark();
    describe(nodes[at], at);
    if (moves) reveal(at);
    history.replaceState(null, "", `#${nodes[at].outputs[0]?.value.replace("%", "v") ?? ""}`);
  };
  const focus = (kernel) => {
    focused = focused === kernel ? null : kernel;
    selected = null;
    mark();
    if (focused === null) { close(); return; }
    const panel = open();
    panel.append(element("h3", {}, kernels[kernel].label), element("div", { class: "sub" }, `${kernels[kernel].kind}, step ${kernels[kernel].step}`));
    describeKernel(panel, kernel, true);
    const first = nodes.findIndex((node) => node.kernel === kernel);
    if (first >= 0) reveal(first);
  };
  const clear = () => {
    selected = focused = null;
    close();
    mark();
    history.replaceState(null, "", "#");
  };

  // The panel of details.
  const open = () => {
    const panel = by("details");
    panel.replaceChildren(element("button", { class: "close", title: "Close", on: clear }, "×"));
    if (panel.hidden) {
      panel.hidden = false;
      place.x -= panel.offsetWidth / 2;
      show();
    }
    panel.scrollTop = 0;
    return panel;
  };
  const close = () => {
    const panel = by("details");
    if (panel.hidden) return;
    place.x += panel.offsetWidth / 2;
    panel.hidden = true;
    show();
  };
  const reference = (at, text) => element("a", { class: "ref", on: () => select(at, true) }, text ?? nodes[at].name);
  const section = (panel, title, ...content) => panel.append(element("h2", {}, title), ...content);
  const describe = (node, at) => {
    const panel = open();
    panel.append(element("h3", { id: "op" }, node.op));
    if (node.name !== node.op) panel.append(element("div", { class: "sub", id: "name" }, node.name));
    if (node.error) section(panel, "Error", element("pre", { class: "mono error", id: "error" }, node.error));
    const values = node.outputs.map((output) => {
      const value = element("div", { class: "value" },
        element("span", { class: "mono" }, `${output.value}  `), element("span", { class: "mono type" }, output.text));
      if (output.result !== undefined) value.append(element("span", { class: "tag" }, `output ${output.result}`));
      if (output.provenance) value.append(element("ul", {}, ...output.provenance.map((line) => element("li", {}, line))));
      const reads = [...new Set(readers.get(output.value))];
      if (reads.length) {
        const shown = reads.slice(0, 12).flatMap((reader, i) => i ? [", ", reference(reader)] : [reference(reader)]);
        if (reads.length > 12) shown.push(` and ${reads.length - 12} more`);
        value.append(element("div", { class: "sub" }, "read by ", ...shown));
      }
      return value;
    });
    section(panel, node.outputs.length === 1 ? "Result" : "Results", element("div", { id: "outputs" }, ...values));
    if (node.operands.length) {
      const list = element("dl", {});
      node.operands.forEach((value) => {
        const from = maker.get(value);
        const output = nodes[from].outputs.find((output) => output.value === value);
        list.append(element("dt", { class: "mono" }, value), element("dd", {},
          element("span", { class: "mono" }, `${output.text} `), reference(from)));
      });
      section(panel, "Operands", list);
    }
    if (node.attrs) {
      const list = element("dl", { id: "attrs" });
      for (const [name, value] of Object.entries(node.attrs)) list.append(element("dt", {}, name), element("dd", { class: "mono" }, value));
      section(panel, "Attributes", list);
    }
    if (node.content) section(panel, "Elements", element("pre", { class: "mono" }, node.content));
    const lines = [node.location ?? "imported", ...(node.scopes ?? []).map((scope) => `in scope ${scope}`)];
    section(panel, "Source", ...lines.map((line, i) => element("div", i ? { class: "mono" } : { class: "mono", id: "location" }, line)));
    const guards = data.guards.filter((guard) => guard.node === node.name);
    if (guards.length) section(panel, "Run-time checks", element("ul", {}, ...guards.map((guard) => element("li", { class: "mono" }, guard.text))));
    if (node.kernel !== undefined) {
      const kernel = kernels[node.kernel];
      section(panel, "Kernel", element("div", {}, element("span", { class: "chip", hue: hues.get(node.kernel) }), " ",
        element("a", { class: "ref", on: () => { focused = null; focus(node.kernel); } }, `step ${kernel.step}: ${kernel.label}`)));
      describeKernel(panel, node.kernel, false);
    }
  };
  const describeKernel = (panel, at, whole) => {
    const kernel = kernels[at];
    if (kernel.time) {
      const { runs, total_us, least_us } = kernel.time;
      section(panel, "Time", element("div", { id: "time" }, `mean ${micros(total_us / runs)}, fastest ${micros(least_us)}, ${plural(runs, "run")}`));
    }
    if (whole) {
      const fused = nodes.map((node, i) => [node, i]).filter(([node]) => node.kernel === at);
      section(panel, plural(fused.length, "node"), element("div", {}, ...fused.slice(0, 60).flatMap(([, i], k) => k ? [", ", reference(i)] : [reference(i)])));
    }
    if (kernel.writes?.length) section(panel, "Written to memory", ...kernel.writes.map((line) => element("div", { class: "mono" }, line)));
    section(panel, kernel.kind === "kernel" ? "Loops" : "Step", code(kernel.loops, "loops"));
    for (const [name, title] of [["clif", "Cranelift"], ["asm", "Machine code"]]) {
      if (kernel[name]) panel.append(element("details", {}, element("summary", {}, title), code(kernel[name], name)));
    }
  };
  const WORDS = /(;[^\n]*)|\b(kernel|for|pass|where|else|and|variant|end of a row|end of a column|lanes|may fail|function|block\d+|jump|brif|return)\b|(?<![\w.])(-?(?:0x[0-9a-f_.p+-]+|\d[\d.e+-]*))(?![\w])/g;
  const code = (text, id) => {
    const pre = element("pre", { class: "mono", id });
    // Long code is not highlighted, because a page with a hundred thousand spans is slow.
    if (text.length > 40000) { pre.textContent = text; return pre; }
    let last = 0;
    for (const match of text.matchAll(WORDS)) {
      pre.append(text.slice(last, match.index), element("span", { class: match[1] ? "com" : match[2] ? "kw" : "num" }, match[0]));
      last = match.index + match[0].length;
    }
    pre.append(text.slice(last));
    return pre;
  };

  // The list of kernels.
  let byTime = false;
  const listKernels = () => {
    const panel = by("kernels");
    const most = Math.max(...kernels.map((kernel) => kernel.time ? kernel.time.total_us / kernel.time.runs : 0));
    const order = kernels.map((_, at) => at);
    const mean = (at) => kernels[at].time ? kernels[at].time.total_us / kernels[at].time.runs : 0;
    if (byTime) order.sort((a, b) => mean(b) - mean(a));
    const title = element("h2", {}, plural(kernels.length, "step"));
    if (most > 0) title.append(element("button", { on: () => { byTime = !byTime; listKernels(); mark(); } }, byTime ? "in order" : "by time"));
    const counts = new Map();
    for (const node of nodes) if (node.kernel !== undefined) counts.set(node.kernel, (counts.get(node.kernel) ?? 0) + 1);
    panel.replaceChildren(title, ...order.map((at) => {
      const kernel = kernels[at];
      const [scope, label] = shortened(kernel.label);
      const row = element("button", { class: "kernel", "data-kernel": at, hue: hues.get(at) ?? "0", on: () => focus(at) },
        element("b", {}, element("span", { class: "chip" }), element("span", {}, label)));
      if (scope) row.append(element("small", {}, scope));
      if (mean(at) > 0) {
        const bar = element("i", {});
        bar.style.width = `${100 * mean(at) / most}%`;
        row.append(element("div", { class: "bar" }, bar));
      }
      row.append(element("small", {}, [kernel.kind === "kernel" ? plural(counts.get(at) ?? 0, "node") : kernel.kind, mean(at) > 0 ? micros(mean(at)) : null].filter(Boolean).join(", ")));
      return row;
    }));
    panel.hidden = kernels.length === 0;
  };

  // Search.
  const texts = nodes.map((node) => [node.name, node.op, node.location ?? "", node.content ?? "", node.error ?? "", ...node.outputs.flatMap((output) => [output.value, output.text, output.dtype]),
    ...Object.entries(node.attrs ?? {}).map(([name, value]) => `${name}=${value}`)].join("\n").toLowerCase());
  let hits = [], current = -1;
  const search = (text) => {
    const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
    hits = terms.length ? nodes.map((_, at) => at).filter((at) => terms.every((term) => texts[at].includes(term))) : [];
    current = -1;
    const found = new Set(hits);
    boxes.forEach((box, at) => box.classList.toggle("found", found.has(at)));
    const rows = hits.slice(0, 40).map((at, i) => element("li", { "data-hit": i, on: () => go(i) }, nodes[at].name === nodes[at].op ? nodes[at].op : `${nodes[at].name} (${nodes[at].op})`,
      element("span", { class: "mono" }, nodes[at].outputs[0]?.text ?? "")));
    if (terms.length && !hits.length) rows.push(element("li", { class: "none" }, "Nothing found"));
    if (hits.length > 40) rows.push(element("li", { class: "none" }, `and ${(hits.length - 40).toLocaleString("en")} more`));
    by("found").replaceChildren(...rows);
  };
  const go = (i) => {
    current = i;
    for (const row of by("found").children) row.classList.toggle("on", row.dataset.hit === String(i));
    select(hits[i], true);
  };
  by("search").addEventListener("input", (event) => search(event.target.value));
  by("search").addEventListener("keydown", (event) => {
    const step = event.key === "Enter" || event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && hits.length) { event.preventDefault(); go((current + (event.shiftKey ? -step : step) + hits.length) % hits.length); }
    if (event.key === "Escape") { event.target.value = ""; search(""); event.target.blur(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) by("found").replaceChildren(); });

  window.addEventListener("keydown", (event) => {
    if (event.target.closest?.("input") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); by("search").focus(); }
    if (event.key === "f") fit();
    if (event.key === "Escape") clear();
    const { width, height } = view.getBoundingClientRect();
    if (event.key === "+" || event.key === "=") zoom(width / 2, height / 2, 1.25);
    if (event.key === "-") zoom(width / 2, height / 2, 0.8);
  });
  by("fit").addEventListener("click", () => fit());
  by("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    root.dataset.theme = dark ? "light" : "dark";
  });

  by("stage").textContent = data.stage;
  by("summary").textContent = [plural(nodes.length, "node"), kernels.length ? plural(kernels.filter((kernel) => kernel.kind === "kernel").length, "kernel") : null,
    data.guards.length ? plural(data.guards.length, "run-time check") : null].filter(Boolean).join(" · ");
  listKernels();
  if (!fit(0.55) && boxes.length) {
    // If the whole graph is too small to read, the first view shows the topmost node.
    const tops = boxes.map((_, at) => boxOf(at));
    const first = tops.reduce((best, box, at) => box.y < tops[best].y ? at : best, 0);
    place.scale = 0.8;
    place.x = view.clientWidth / 2 - (tops[first].x + tops[first].width / 2) * place.scale;
    place.y = 24 - tops[first].y * place.scale;
    show();
  }
  const linked = maker.get(location.hash.replace(/^#v/, "%"));
  if (linked !== undefined) select(linked, true);
})();
