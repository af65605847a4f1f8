//! Lays out the connected parts of a graph apart, and packs them side by side.

use super::{BoxLayout, Pin, Sketch, SketchBox, Wire};

/// Distance between two parts.
const GAP: f64 = 36.0;

/// The wanted ratio of the picture's width to its height, which decides the width of the rows of parts, and the width
/// of ranks (the layers in which a layout draws boxes).
pub(super) const ASPECT: f64 = 1.6;

/// Lays out every connected part with `lay_out`, whose layouts have the given margin, and packs the parts in rows.
pub(super) fn pack(sketch: &Sketch, margin: f64, lay_out: &dyn Fn(&Sketch) -> BoxLayout) -> BoxLayout {
    let parts = connected_parts(sketch);
    if parts.len() < 2 {
        return lay_out(sketch);
    }
    let mut layouts: Vec<(Vec<usize>, BoxLayout)> = parts
        .into_iter()
        .map(|members| {
            let layout = lay_out(&part(sketch, &members));
            (members, layout)
        })
        .collect();
    // High parts come first, so that the parts of a row have similar heights.
    layouts.sort_by(|(_, a), (_, b)| b.height.total_cmp(&a.height));
    let inner = |layout: &BoxLayout| (layout.width - 2.0 * margin, layout.height - 2.0 * margin);
    let sizes = layouts.iter().map(|(_, layout)| inner(layout));
    let (widest, area) = sizes.fold((0.0f64, 0.0), |(widest, area), (width, height)| {
        (widest.max(width), area + (width + GAP) * (height + GAP))
    });
    let row_width = widest.max((area * ASPECT).sqrt());
    let mut packed = BoxLayout {
        corners: vec![(0.0, 0.0); sketch.boxes.len()],
        width: 2.0 * margin,
        ..BoxLayout::default()
    };
    let (mut left, mut top, mut row_height) = (0.0, 0.0, 0.0f64);
    // The width and height of the current row if the user of the page opens all boxes that hold nodes.
    let mut open_row = (0.0f64, 0.0f64);
    for (members, mut layout) in layouts {
        let (width, height) = inner(&layout);
        if left > 0.0 && left + width > row_width {
            (left, top, row_height) = (0.0, top + row_height + GAP, 0.0);
            packed.open_size.1 += open_row.1 + GAP;
            open_row = (0.0, 0.0);
        }
        open_row = (open_row.0 + layout.open_size.0 + GAP, open_row.1.max(layout.open_size.1));
        packed.open_size.0 = packed.open_size.0.max(open_row.0);
        for (number, (x, y)) in members.iter().zip(&layout.corners) {
            packed.corners[*number] = (x + left, y + top);
        }
        for wire in &mut layout.wires {
            wire.move_to(&members, left, top);
        }
        packed.wires.append(&mut layout.wires);
        packed.width = packed.width.max(left + width + 2.0 * margin);
        left += width + GAP;
        row_height = row_height.max(height);
    }
    packed.height = top + row_height + 2.0 * margin;
    packed.open_size.1 += open_row.1;
    packed.wires.sort_by_key(|wire| wire.source);
    packed
}

impl Wire {
    /// Moves the wire to the place of its part. The wire's boxes are numbered within the part before the move, and
    /// within the whole sketch afterwards.
    fn move_to(&mut self, members: &[usize], left: f64, top: f64) {
        self.source.0 = members[self.source.0];
        for (reader, _, _) in &mut self.readers {
            *reader = members[*reader];
        }
        for crossing in &mut self.trunk {
            crossing.x += left;
            crossing.top += top;
            crossing.bottom += top;
        }
    }
}

/// Returns the boxes of each connected part in ascending order. All pinned boxes belong to one part: they lie at the
/// upper or the lower border of the picture, and separate layouts would have separate borders.
fn connected_parts(sketch: &Sketch) -> Vec<Vec<usize>> {
    let mut root: Vec<usize> = (0..sketch.boxes.len()).collect();
    fn find(root: &mut [usize], mut number: usize) -> usize {
        while root[number] != number {
            root[number] = root[root[number]];
            number = root[number];
        }
        number
    }
    let mut join = |a: usize, b: usize| {
        let (a, b) = (find(&mut root, a), find(&mut root, b));
        root[a.max(b)] = a.min(b);
    };
    let mut pinned = None;
    for (number, item) in sketch.boxes.iter().enumerate() {
        for (source, _, _) in &item.operands {
            join(*source, number);
        }
        if item.pin != Pin::None {
            join(*pinned.get_or_insert(number), number);
        }
    }
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut part_of_root = vec![None; sketch.boxes.len()];
    for number in 0..sketch.boxes.len() {
        let root = find(&mut root, number);
        let part = *part_of_root[root].get_or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(number);
    }
    parts
}

/// Returns the sketch of some boxes, numbered by their indices in `members`.
fn part(sketch: &Sketch, members: &[usize]) -> Sketch {
    let place =
        |number: &usize| members.binary_search(number).expect("operands are in the part of their reader");
    let boxes = members.iter().map(|number| {
        let item = &sketch.boxes[*number];
        let operands = item.operands.iter().map(|(source, output, offset)| (place(source), *output, *offset));
        SketchBox { operands: operands.collect(), ..item.clone() }
    });
    Sketch { boxes: boxes.collect() }
}
