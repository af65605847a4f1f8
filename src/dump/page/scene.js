"use strict";
// The graph as boxes and wires: places open scopes inside each other, and draws what is visible.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const scopes = JSON.parse(byId("scopes").textContent);
const nodes = data.nodes, kernels = data.kernels;
const svg = byId("svg"), view = byId("view"), layers = {};
for (const name of ["frames", "wires", "captions", "nodes"]) layers[name] = svg.querySelector(`.${name}`);
const scene = byId("scene");

/** Height of the title of an open scope. */
const HEAD = 24;
/** Height of the end of a wire between the label at a box and the box. The wire does not cross the label. */
const TICK = 3;

const headWidth = ({ name, nodes }) => 8 * name.length + 7 * String(nodes).length + 110;

/** The scope that has the box of each node. The box of a constant may be absent. */
const scopeOf = new Map();
scopes.forEach((scope, number) => scope?.boxes.forEach((box) => { if (box.kind === "node") scopeOf.set(box.of, number); }));

const opened = new Set();

/**
 * Returns a map of coordinates that widens each span `[low, high, size]` to its size. The map keeps the order of all
 * coordinates, and makes no distance less.
 */
const stretch = (spans) => {
  const ends = [...new Set(spans.flatMap(([low, high]) => [low, high]))].sort((a, b) => a - b);
  const moved = [ends[0]];
  for (let i = 1; i < ends.length; i++) {
    let slope = 1;
    for (const [low, high, size] of spans) {
      if (low <= ends[i - 1] && high >= ends[i]) slope = Math.max(slope, size / (high - low));
    }
    moved.push(moved[i - 1] + (ends[i] - ends[i - 1]) * slope);
  }
  return (x) => {
    if (!ends.length || x <= ends[0]) return x;
    let i = ends.length - 1;
    while (i > 0 && ends[i] > x) i--;
    if (i === ends.length - 1) return moved[i] + x - ends[i];
    return moved[i] + (x - ends[i]) * (moved[i + 1] - moved[i]) / (ends[i + 1] - ends[i]);
  };
};

/** Measures a scope and the open scopes in it. Lengths in the data are tenths of a pixel. */
const measure = (number) => {
  const scope = scopes[number];
  const inner = scope.boxes.map((box) => box.kind === "scope" && opened.has(box.of) ? measure(box.of) : null);
  const across = [], down = [];
  scope.boxes.forEach((box, i) => {
    if (!inner[i]) return;
    inner[i].frameWidth = Math.max(inner[i].width, box.width / 10, headWidth(scopes[box.of]));
    across.push([box.x / 10, (box.x + box.width) / 10, inner[i].frameWidth]);
    down.push([(box.y + box.label_height) / 10, (box.y + box.label_height + box.body_height) / 10, inner[i].height + HEAD]);
  });
  const x = stretch(across), y = stretch(down);
  const boxes = scope.boxes.map((box, i) => {
    const left = box.x / 10, top = box.y / 10, closedWidth = box.width / 10, closedHeight = box.body_height / 10;
    const labelHeight = box.label_height / 10, bodyTop = top + labelHeight;
    const width = inner[i] ? inner[i].frameWidth : closedWidth, bodyHeight = inner[i] ? inner[i].height + HEAD : closedHeight;
    return {
      x: (x(left) + x(left + closedWidth) - width) / 2, y: (y(bodyTop) + y(bodyTop + closedHeight) - bodyHeight) / 2 - labelHeight,
      width, labelHeight, bodyHeight, height: box.height / 10 - closedHeight + bodyHeight, inner: inner[i], box,
    };
  });
  return { number, width: x(scope.width / 10), height: y(scope.height / 10), boxes, mapX: x, mapY: y };
};

/** The boxes of all open scopes, and the wires. */
let items = [], wires = [], extent = { width: 1, height: 1 };
let itemOf = new Map();

const arrange = () => {
  items = []; wires = []; itemOf = new Map();
  const root = measure(0);
  extent = { width: root.width, height: root.height };
  place(root, 0, 0, null);
  items.forEach((item, i) => { item.index = i; itemOf.set(item.key, item); });
};

const curve = (from, to) => {
  if (Math.abs(from[0] - to[0]) < 0.5) return ` L${to[0]} ${to[1]}`;
  const bend = Math.min(60, Math.max(8, (to[1] - from[1]) * 0.55));
  return ` C${from[0]} ${from[1] + bend} ${to[0]} ${to[1] - bend} ${to[0]} ${to[1]}`;
};

/**
 * Places the boxes of a measured scope, and then its wires, which end at boxes of inner scopes. `parent` is the box of
 * the scope.
 */
const place = (made, dx, dy, parent) => {
  const scope = scopes[made.number];
  const placed = made.boxes.map((box, i) => {
    const { kind, of } = box.box;
    const key = kind === "node" ? `n${of}` : kind === "scope" ? `s${of}` : `${kind}${made.number}:${i}`;
    const item = {
      key, kind, of, scope: made.number, parent, isOpen: box.inner !== null, svg: box.box.svg,
      x: box.x + dx, y: box.y + dy, width: box.width, height: box.height, labelHeight: box.labelHeight, bodyHeight: box.bodyHeight, inner: [], above: [], below: [],
    };
    items.push(item);
    if (box.inner) {
      const slack = (box.width - box.inner.width) / 2;
      item.inner = place(box.inner, item.x + slack, item.y + item.labelHeight + HEAD, item);
    }
    return item;
  });
  const hasLabel = (item) => item.labelHeight > 0 && !item.isOpen;
  /** Draws a wire to a box. The last part is a line down to `low`. The line leaves out the label if there is one. */
  const drawnTo = (start, ends, item, { x, y, low }, of, isStub) => {
    const reader = item.kind === "node" ? item.of : null, whole = `${start} L${x} ${low}`;
    if (hasLabel(item)) drawn(`${start} M${x} ${y - TICK} L${x} ${low}`, ends, of, reader, isStub, whole);
    else drawn(whole, ends, of, reader, isStub);
  };
  /** A short line above a box, for an operand that no wire brings. */
  const stub = (item, to, of) => {
    const bottom = hasLabel(item) ? item.y : to.y, top = bottom - 10;
    drawnTo(`M${to.x} ${top} L${to.x} ${bottom}`, [[to.x, top], [to.x, to.low]], item, to, of, true);
  };
  const drawn = (d, ends, of, to, isStub = false, whole = d) => {
    const xs = ends.map(([x]) => x), ys = ends.map(([, y]) => y);
    wires.push({ d, whole, of, to, isStub, x: Math.min(...xs), y: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys) });
  };
  const arrival = (item, operand, dx) => {
    const entry = item.isOpen && scopes[item.of].entries > operand ? item.inner[operand] : null;
    const x = entry ? entry.x + entry.width / 2 : item.x + dx * item.width / (item.isOpen ? scope.boxes[placed.indexOf(item)].width / 10 : item.width);
    return { x, y: item.y + item.labelHeight, low: entry ? entry.y + entry.labelHeight : item.y + item.labelHeight };
  };
  for (const wire of scope.wires) {
    const source = placed[wire.from[0]], bottom = source.y + source.labelHeight + source.bodyHeight;
    let start = [source.x + wire.dx / 10, bottom], path = "";
    if (source.isOpen) {
      const inner = scopes[source.of], exit = inner.exits > wire.from[1] ? source.inner[inner.boxes.length - inner.exits + wire.from[1]] : null;
      start = exit ? [exit.x + exit.width / 2, bottom] : [source.x + source.width / 2, bottom];
      if (exit) path = `M${start[0]} ${exit.y + exit.labelHeight + exit.bodyHeight} L${start[0]} ${bottom}`;
    }
    const crossings = wire.trunk.map(([x, top, bottom]) => [made.mapX(x / 10) + dx, made.mapY(top / 10) + dy, made.mapY(bottom / 10) + dy]);
    path ||= `M${start[0]} ${start[1]}`;
    let end = start;
    for (const [x, top, bottom] of crossings) {
      path += `${curve(end, [x, top])} L${x} ${bottom}`;
      end = [x, bottom];
    }
    if (crossings.length || path.includes("L")) drawn(path, [start, [start[0], source.y], ...crossings.flatMap(([x, top, low]) => [[x, top], [x, low]])], wire.of, null);
    for (const [reader, operand, offset, passed] of wire.to) {
      const item = placed[reader], to = arrival(item, operand, offset / 10);
      item.above.push(source);
      source.below.push(item);
      if (passed < 0) { stub(item, to, wire.of); continue; }
      const from = passed > 0 ? [crossings[passed - 1][0], crossings[passed - 1][2]] : start;
      const high = item.labelHeight > 0 ? item.y : to.y - 4;
      drawnTo(`M${from[0]} ${from[1]}${curve(from, [to.x, high])}`, [from, [to.x, high], [to.x, to.low]], item, to, wire.of, false);
    }
  }
  for (const [reader, offset] of scope.loose) {
    const item = placed[reader];
    stub(item, arrival(item, Infinity, offset / 10), null);
  }
  return placed;
};

// Drawing.
const SVG = "http://www.w3.org/2000/svg";
const camera = { x: 0, y: 0, scale: 1 };
/** Maps each box or wire object that is in the document to its SVG element. */
const shown = new Map();
/** Maps the box of each open scope in the document to the SVG element of its title. */
const captions = new Map();
/** Removes the elements of a box or a wire from the document. */
const remove = (thing) => {
  for (const made of [shown, captions]) { made.get(thing)?.remove(); made.delete(thing); }
};
/** Whether the scene is so small that it shows no labels. */
let isFar = false;
const pathOf = (wire) => isFar ? wire.whole : wire.d;
/** The part of the scene for which elements exist. */
let covered = null;
/** What marks boxes and wires: the selected and the focused item, hits of the search, the kernel in focus. */
const marks = { selected: null, focused: null, found: new Set(), kernel: null };

const label = (item) => {
  if (item.kind === "scope") return `Scope ${scopes[item.of].path}, ${scopes[item.of].nodes} nodes`;
  const node = nodes[item.of], types = node.outputs.map((output) => output.text).join(", ");
  const name = node.name === node.op ? "" : ` ${node.name}`;
  const what = item.kind === "entry" ? "Enters the scope: " : item.kind === "exit" ? "Leaves the scope: " : "";
  return `${what}${node.op}${name}, ${types}${node.error ? `, error: ${node.error}` : ""}`;
};

/** Escapes a text for XML, as the texts of boxes are. Characters that XML forbids become U+FFFD. */
const escapedText = (text) => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufffe\uffff]/g, "\ufffd")
  .replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter]);
const frameSvg = (item) => {
  const { path } = scopes[item.of];
  return `<g class="frame" data-scope="${item.of}"><title>${escapedText(path)}</title><rect class="box" y="${item.labelHeight}" width="${item.width}" height="${item.bodyHeight}" rx="7"/></g>`;
};
/** The title of an open scope. It is above the wires, which are above the frame. */
const captionSvg = (item) => {
  const { name, nodes: count } = scopes[item.of], y = item.labelHeight + 17;
  return `<g class="caption" data-scope="${item.of}"><text class="title" x="12" y="${y}">− ${escapedText(name)}</text>`
    + `<text class="line" x="${item.width - 12}" y="${y}" text-anchor="end">${plural(count, "node")}</text></g>`;
};
const svgOf = (item) => item.isOpen ? frameSvg(item) : item.svg;
const parsed = (text) => {
  const holder = document.createElementNS(SVG, "g");
  holder.innerHTML = text;
  return holder.firstElementChild;
};

/** Sets the classes of a box that depend on the marks. */
const dress = (item, made) => {
  made.classList.toggle("on", item.kind === "node" ? item.of === marks.selected : item.key === marks.selected);
  made.classList.toggle("found", item.kind === "node" && marks.found.has(item.of) || item.kind === "scope" && marks.found.has(item.key));
  made.classList.toggle("in-focus", marks.kernel !== null && made.dataset.kernel === String(marks.kernel));
  made.setAttribute("tabindex", item.key === marks.focused ? "0" : "-1");
};
const dressWire = (wire, made) => made.classList.toggle("lit", marks.selected !== null && (wire.of === marks.selected && wire.of !== null || wire.to !== null && wire.to === marks.selected));
const redress = () => {
  for (const [thing, made] of shown) thing.d === undefined ? dress(thing, made) : dressWire(thing, made);
  scene.classList.toggle("focus", marks.kernel !== null);
};

/** Adds the elements of what is visible, and removes the others. Boxes of less than 2 pixels are absent. */
const render = () => {
  const { width, height } = view.getBoundingClientRect(), { x, y, scale } = camera;
  const margin = 0.4;
  covered = { x: (-x - margin * width) / scale, y: (-y - margin * height) / scale, right: (-x + (1 + margin) * width) / scale, bottom: (-y + (1 + margin) * height) / scale, scale };
  const inside = (left, top, right, bottom) => right >= covered.x && left <= covered.right && bottom >= covered.y && top <= covered.bottom;
  const wanted = new Set();
  for (const item of items) {
    const isLarge = item.bodyHeight * scale >= 2 || item.kind === "scope";
    if (item.key === marks.focused || isLarge && inside(item.x, item.y, item.x + item.width, item.y + item.height)) wanted.add(item);
  }
  for (const wire of wires) {
    const isLong = (wire.right - wire.x + wire.bottom - wire.y) * scale >= 3;
    if (isLong && inside(wire.x, wire.y, wire.right, wire.bottom)) wanted.add(wire);
  }
  for (const thing of [...shown.keys()]) if (!wanted.has(thing)) remove(thing);
  for (const thing of wanted) {
    if (shown.has(thing)) continue;
    let made;
    if (thing.d !== undefined) {
      made = document.createElementNS(SVG, "path");
      made.setAttribute("class", thing.isStub ? "wire stub" : "wire");
      made.setAttribute("d", pathOf(thing));
      dressWire(thing, made);
      layers.wires.append(made);
    } else {
      made = parsed(svgOf(thing));
      made.setAttribute("transform", `translate(${thing.x} ${thing.y})`);
      made.setAttribute("role", "button");
      made.setAttribute("aria-label", label(thing));
      if (thing.kind === "scope") made.setAttribute("aria-expanded", String(thing.isOpen));
      made.dataset.key = thing.key;
      dress(thing, made);
      (thing.isOpen ? layers.frames : layers.nodes).append(made);
      if (thing.isOpen) {
        const caption = parsed(captionSvg(thing));
        caption.setAttribute("transform", `translate(${thing.x} ${thing.y})`);
        caption.dataset.key = thing.key;
        layers.captions.append(caption);
        captions.set(thing, caption);
      }
    }
    shown.set(thing, made);
  }
};

/** Moves the scene to where the camera looks. */
const show = () => {
  const { x, y, scale } = camera, { width, height } = view.getBoundingClientRect();
  scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  if (isFar !== scale < 0.42) {
    isFar = scale < 0.42;
    scene.classList.toggle("far", isFar);
    for (const [thing, made] of shown) if (thing.d !== thing.whole) made.setAttribute("d", pathOf(thing));
  }
  scene.classList.toggle("farther", scale < 0.2);
  const is = covered && covered.x <= -x / scale && covered.y <= -y / scale && covered.right >= (width - x) / scale && covered.bottom >= (height - y) / scale;
  if (!is || scale > covered.scale * 1.5 || scale < covered.scale / 1.5) render();
};

/** Places everything anew after scopes were opened or closed. */
const rearrange = () => {
  arrange();
  for (const thing of [...shown.keys()]) remove(thing);
  covered = null;
};

/** Returns the whole scene as an SVG document in the theme of the page. */
const pictureSvg = () => {
  const theme = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const frames = [], boxes = [], titles = [];
  for (const item of items) {
    const placed = (text) => text.replace("<g ", `<g transform="translate(${item.x} ${item.y})" `);
    (item.isOpen ? frames : boxes).push(placed(svgOf(item)));
    if (item.isOpen) titles.push(placed(captionSvg(item)));
  }
  const paths = wires.map((wire) => `<path class="wire${wire.isStub ? " stub" : ""}" d="${wire.d}"/>`);
  const { width, height } = extent;
  return `<svg xmlns="${SVG}" class="graph" data-theme="${theme}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><style>${byId("graph-style").textContent}</style>`
    + `<rect class="paper" width="${width}" height="${height}"/>${frames.join("")}${paths.join("")}${titles.join("")}${boxes.join("")}</svg>`;
};
