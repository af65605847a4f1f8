//! `lay_out`: a layered layout of boxes and of the wires between them, after Sugiyama.
//!
//! The rank of a box is its layer, counted from the top. [`ranks::ranks`] computes the ranks: first the length of the
//! longest path to each box; then boxes with few operands move down to their readers. If a rank is too wide, the boxes
//! spread over more ranks. Barycenters give the order of
//! boxes within each rank, and least squares give the positions of the boxes. A value whose readers are several ranks
//! below the value's box crosses the ranks in between as a single wire, the trunk; a branch leads from the trunk to
//! each reader. Parts of the graph that no wire connects are laid out apart, and packed side by side. All steps are
//! loops, take nearly linear time, and give equal graphs equal layouts.

mod components;
mod order;
mod place;
mod ranks;

/// The input of a layout: boxes whose operands are earlier boxes.
#[derive(Default)]
pub(super) struct Sketch {
    pub boxes: Vec<SketchBox>,
}

/// A box. Wires arrive and leave at offsets from its left edge.
#[derive(Clone, Default)]
pub(super) struct SketchBox {
    pub width: f64,
    pub height: f64,
    /// If the box is a scope, the width and height that it has when it and all its inner scopes are open.
    pub open_size: (f64, f64),
    /// For each operand: the source box, the output of this box, and the offset at which the wire arrives.
    pub operands: Vec<(usize, usize, f64)>,
    /// For each output: the offset at which its wire leaves.
    pub outputs: Vec<f64>,
    pub pin: Pin,
}

impl SketchBox {
    /// Returns the width and height of the box when it and all its inner scopes are open.
    fn largest_size(&self) -> (f64, f64) {
        (self.width.max(self.open_size.0), self.height.max(self.open_size.1))
    }
}

/// The rank that a box must have: none in particular, the first or the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Pin {
    #[default]
    None,
    /// The box is above all boxes that are not `Top`. Only a box without operands may be `Top`.
    Top,
    /// The box is below all boxes that are not `Bottom`. Only a box that no other box reads may be `Bottom`.
    Bottom,
}

/// The result of a layout.
#[derive(Default)]
pub(super) struct BoxLayout {
    pub width: f64,
    pub height: f64,
    /// About the width and height of the layout when all scopes are open.
    pub open_size: (f64, f64),
    /// The upper left corner of each box.
    pub corners: Vec<(f64, f64)>,
    /// The wires of values that have readers, in the order of boxes and outputs.
    pub wires: Vec<Wire>,
}

/// The wire from a value to its readers.
pub(super) struct Wire {
    /// The box and the output that the value comes from.
    pub source: (usize, usize),
    /// The crossings of the ranks between the source and its lowest reader, from top to bottom.
    pub trunk: Vec<Crossing>,
    /// For each reader: the box, the operand, and the number of crossings that the wire passes before it branches off
    /// to the reader. The number is `None` if the wire does not reach the reader: see [`layered`].
    pub readers: Vec<(usize, usize, Option<usize>)>,
}

/// The vertical part of a wire that passes through a rank.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    pub x: f64,
    pub top: f64,
    pub bottom: f64,
}

/// A box, or the crossing of a wire through a rank.
#[derive(Clone, Copy)]
struct Item {
    rank: usize,
    width: f64,
    /// Whether the item is a crossing.
    is_crossing: bool,
    /// Whether the item is a box without operands. The layout places a leaf near its readers.
    is_leaf: bool,
}

/// A part of a wire from an item to an item in the next rank.
#[derive(Clone, Copy)]
struct Link {
    upper: usize,
    lower: usize,
    /// The offset of the link's upper end from the middle of the upper item.
    upper_port: f64,
    /// The offset of the link's lower end from the middle of the lower item.
    lower_port: f64,
}

/// Items and their links by rank.
struct Layers {
    /// The boxes, then the crossings.
    items: Vec<Item>,
    links: Vec<Link>,
    /// For each rank: its items from left to right.
    ranks: Vec<Vec<usize>>,
}

/// Distance between ranks.
const RANK_GAP: f64 = 46.0;

/// Distance between the boxes and the edges of the picture.
const MARGIN: f64 = 24.0;

/// A [`Wire`] whose crossings have no positions yet.
struct Route {
    source: (usize, usize),
    /// The items of the crossings, from top to bottom.
    crossings: Vec<usize>,
    readers: Vec<(usize, usize, Option<usize>)>,
}

/// Computes the positions of all boxes and wires.
pub(super) fn lay_out(sketch: &Sketch) -> BoxLayout {
    components::pack(sketch, MARGIN, &lay_out_connected)
}

/// Computes the positions for a graph whose parts are connected.
fn lay_out_connected(sketch: &Sketch) -> BoxLayout {
    let ranks = ranks::ranks(sketch);
    let (mut layers, routes) = layered(sketch, &ranks);
    order::order(&mut layers);
    let middles = place::place(&layers);
    let left = layers.items.iter().zip(&middles).map(|(item, middle)| middle - item.width / 2.0);
    let left = left.fold(f64::INFINITY, f64::min);
    let right = layers.items.iter().zip(&middles).map(|(item, middle)| middle + item.width / 2.0);
    let right = right.fold(f64::NEG_INFINITY, f64::max);
    let mut heights = vec![0.0f64; layers.ranks.len()];
    for (number, item) in sketch.boxes.iter().enumerate() {
        heights[ranks[number]] = heights[ranks[number]].max(item.height);
    }
    let mut tops = Vec::with_capacity(heights.len());
    let mut top = MARGIN;
    for height in &heights {
        tops.push(top);
        top += height + RANK_GAP;
    }
    let mut open_ranks = vec![(2.0 * MARGIN, 0.0f64); layers.ranks.len()];
    for (item, rank) in sketch.boxes.iter().zip(&ranks) {
        let (width, height) = item.largest_size();
        let rank = &mut open_ranks[*rank];
        *rank = (rank.0 + width + place::GAP, rank.1.max(height));
    }
    let open_size = open_ranks.iter().fold((0.0f64, MARGIN), |(widest, total), (width, height)| {
        (widest.max(*width), total + height + RANK_GAP)
    });
    let shift = if left.is_finite() { MARGIN - left } else { 0.0 };
    let corners = sketch
        .boxes
        .iter()
        .enumerate()
        .map(|(number, item)| (middles[number] - item.width / 2.0 + shift, tops[ranks[number]]));
    let wires = routes.into_iter().map(|route| Wire {
        source: route.source,
        trunk: route
            .crossings
            .iter()
            .map(|&item| {
                let rank = layers.items[item].rank;
                Crossing { x: middles[item] + shift, top: tops[rank], bottom: tops[rank] + heights[rank] }
            })
            .collect(),
        readers: route.readers,
    });
    BoxLayout {
        width: if right.is_finite() { right - left + 2.0 * MARGIN } else { 2.0 * MARGIN },
        height: (top - RANK_GAP).max(MARGIN) + MARGIN,
        open_size,
        corners: corners.collect(),
        wires: wires.collect(),
    }
}

/// Width of a crossing.
const CROSSING: f64 = 10.0;

/// Makes the items and links of a sketch. A wire over several ranks becomes a chain of crossings. The number of
/// crossings is limited, and shorter wires get their crossings first. A wire that gets no crossings is drawn only to
/// its readers in the next rank.
fn layered(sketch: &Sketch, ranks: &[usize]) -> (Layers, Vec<Route>) {
    let mut items: Vec<Item> = sketch
        .boxes
        .iter()
        .zip(ranks)
        .map(|(item, rank)| Item {
            rank: *rank,
            width: item.width,
            is_crossing: false,
            is_leaf: item.operands.is_empty(),
        })
        .collect();
    let first_route: Vec<usize> = sketch
        .boxes
        .iter()
        .scan(0, |next, item| {
            let first = *next;
            *next += item.outputs.len();
            Some(first)
        })
        .collect();
    let mut routes: Vec<Route> = Vec::new();
    for (number, item) in sketch.boxes.iter().enumerate() {
        let route = |output| Route { source: (number, output), crossings: Vec::new(), readers: Vec::new() };
        routes.extend((0..item.outputs.len()).map(route));
    }
    for (number, item) in sketch.boxes.iter().enumerate() {
        for (operand, (source, output, _)) in item.operands.iter().enumerate() {
            routes[first_route[*source] + output].readers.push((number, operand, None));
        }
    }
    routes.retain(|route| !route.readers.is_empty());
    let span = |route: &Route| {
        let last = route.readers.iter().map(|(reader, _, _)| ranks[*reader]).max().unwrap_or_default();
        last - ranks[route.source.0]
    };
    let mut by_span: Vec<usize> = (0..routes.len()).collect();
    by_span.sort_by_key(|&route| span(&routes[route]));
    let mut budget = 6 * sketch.boxes.len() + 2000;
    let mut links = Vec::new();
    for number in by_span {
        let route = &mut routes[number];
        let (source, output) = route.source;
        let between = span(route).saturating_sub(1);
        let crosses = between <= budget;
        if crosses {
            budget -= between;
            for rank in ranks[source] + 1..ranks[source] + 1 + between {
                route.crossings.push(items.len());
                items.push(Item { rank, width: CROSSING, is_crossing: true, is_leaf: false });
            }
        }
        let source_port = sketch.boxes[source].outputs[output] - sketch.boxes[source].width / 2.0;
        let mut before = (source, source_port);
        for &crossing in &route.crossings {
            links.push(Link { upper: before.0, lower: crossing, upper_port: before.1, lower_port: 0.0 });
            before = (crossing, 0.0);
        }
        for (reader, operand, passed) in &mut route.readers {
            let distance = ranks[*reader] - ranks[source];
            if !crosses && distance > 1 {
                continue;
            }
            *passed = Some(distance - 1);
            let lower_port = sketch.boxes[*reader].operands[*operand].2 - sketch.boxes[*reader].width / 2.0;
            let (upper, upper_port) = match distance {
                1 => (source, source_port),
                _ => (route.crossings[distance - 2], 0.0),
            };
            links.push(Link { upper, lower: *reader, upper_port, lower_port });
        }
    }
    let mut layers: Vec<Vec<usize>> = vec![Vec::new(); ranks.iter().max().map_or(0, |rank| rank + 1)];
    for (number, item) in items.iter().enumerate() {
        layers[item.rank].push(number);
    }
    (Layers { items, links, ranks: layers }, routes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a sketch of equal boxes with the given operands.
    fn sketch(operands: &[&[usize]]) -> Sketch {
        let boxes = operands.iter().map(|operands| SketchBox {
            width: 100.0,
            height: 40.0,
            open_size: (0.0, 0.0),
            operands: operands.iter().map(|source| (*source, 0, 50.0)).collect(),
            outputs: vec![50.0],
            pin: Pin::None,
        });
        Sketch { boxes: boxes.collect() }
    }

    /// Lays out boxes of width 100, and checks that no boxes overlap and that each box is below its operands.
    fn check(sketch: &Sketch) -> BoxLayout {
        let layout = lay_out(sketch);
        let mut by_top: std::collections::BTreeMap<i64, Vec<f64>> = Default::default();
        for (x, y) in &layout.corners {
            assert!(*x >= MARGIN - 1e-6 && *x + 100.0 <= layout.width + 1e-6, "{x} of {}", layout.width);
            by_top.entry(*y as i64).or_default().push(*x);
        }
        for row in by_top.values_mut() {
            row.sort_by(f64::total_cmp);
            assert!(row.windows(2).all(|pair| pair[1] - pair[0] >= 100.0 - 1e-6), "boxes overlap: {row:?}");
        }
        for (number, item) in sketch.boxes.iter().enumerate() {
            for (source, _, _) in &item.operands {
                assert!(layout.corners[*source].1 < layout.corners[number].1, "{number} is above {source}");
            }
        }
        layout
    }

    #[test]
    fn a_chain_is_a_straight_line() {
        let layout = check(&sketch(&[&[], &[0], &[1], &[2]]));
        assert!(layout.corners.iter().all(|corner| (corner.0 - MARGIN).abs() < 1e-6));
    }

    #[test]
    fn a_chain_beside_boxes_of_shortcuts_does_not_drift() {
        let mut operands: Vec<Vec<usize>> = vec![vec![]];
        let mut joins = vec![0];
        for _ in 0..8 {
            let start = operands.len() - 1;
            operands.extend([vec![start], vec![start + 1], vec![start + 2], vec![start]]);
            operands.push(vec![start + 3, start + 4]);
            joins.push(start + 5);
        }
        let operands: Vec<&[usize]> = operands.iter().map(Vec::as_slice).collect();
        let layout = check(&sketch(&operands));
        let places = joins[1..].iter().map(|join| layout.corners[*join].0);
        let (least, most) =
            places.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(x), most.max(x)));
        assert!(most - least < 50.0, "{least} to {most}");
    }

    #[test]
    fn long_wires_share_a_trunk() {
        let layout = check(&sketch(&[&[], &[0], &[1], &[0, 2], &[0, 3]]));
        let wire = layout.wires.iter().find(|wire| wire.source == (0, 0)).unwrap();
        assert_eq!(wire.readers, [(1, 0, Some(0)), (3, 0, Some(2)), (4, 0, Some(3))]);
        assert_eq!(wire.trunk.len(), 3);
    }

    #[test]
    fn links_that_intersect_are_untangled() {
        // Two chains whose sources are in the wrong order.
        let layout = check(&sketch(&[&[], &[], &[1], &[0], &[3], &[2]]));
        let side = |number: usize| layout.corners[number].0;
        assert_eq!(side(0) < side(1), side(3) < side(2));
        assert_eq!(side(4) < side(5), side(3) < side(2));
    }

    #[test]
    fn ten_thousand_boxes_are_placed_within_30_seconds() {
        let mut state = 1u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let operands: Vec<Vec<usize>> = (0..10_000usize)
            .map(|number| (0..number.min(2)).map(|_| number - 1 - draw(number.min(200))).collect())
            .collect();
        let operands: Vec<&[usize]> = operands.iter().map(Vec::as_slice).collect();
        let start = std::time::Instant::now();
        check(&sketch(&operands));
        assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
    }

    /// Returns a chain of boxes; each also reads box 0. The last box is alone.
    fn fan(count: usize) -> Sketch {
        let mut operands: Vec<Vec<usize>> = vec![vec![], vec![]];
        operands.extend((2..count).map(|number| vec![number - 1, 0]));
        operands.push(Vec::new());
        sketch(&operands.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn a_chain_stays_narrow_beside_a_long_wire_and_an_unused_box() {
        let mut sketch = fan(100);
        for item in &mut sketch.boxes {
            if let [first, second] = &mut item.operands[..] {
                (first.2, second.2) = (10.0, 90.0);
            }
        }
        let layout = check(&sketch);
        assert!(layout.width < 500.0, "{}", layout.width);
    }

    #[test]
    fn unconnected_boxes_fill_rows() {
        let layout = check(&sketch(&[&[] as &[usize]; 100]));
        assert!(layout.width < 2.5 * layout.height && layout.height < 2.5 * layout.width);
    }

    #[test]
    fn pinned_boxes_are_at_the_edges() {
        let mut sketch = sketch(&[&[], &[], &[0], &[2, 1], &[2]]);
        sketch.boxes[1].pin = Pin::Top;
        sketch.boxes[4].pin = Pin::Bottom;
        let corners = check(&sketch).corners;
        assert!((0..5).all(|number| number == 1 || corners[1].1 < corners[number].1), "{corners:?}");
        assert!((0..4).all(|number| corners[number].1 < corners[4].1), "{corners:?}");
    }

    #[test]
    fn an_empty_sketch_has_a_size() {
        assert!(lay_out(&Sketch::default()).width > 0.0);
    }
}
