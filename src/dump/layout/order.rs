//! The order of items within their ranks: barycenters of neighbours, swept down and up, best of all tries.

use std::cmp::Ordering;

use super::Layers;

/// Sorts every rank so that few links cross.
pub(super) fn order(layers: &mut Layers) {
    let ties = Ties::new(layers);
    let mut positions = vec![0.0; layers.items.len()];
    let sweeps = match layers.items.len() {
        0..3_000 => 24,
        3_000..30_000 => 12,
        _ => 4,
    };
    let mut best = layers.ranks.clone();
    let mut fewest = u64::MAX;
    for sweep in 0..sweeps {
        let count = layers.ranks.len();
        for step in 0..count {
            let (rank, ties) = match sweep % 2 {
                0 => (step, &ties.above),
                _ => (count - 1 - step, &ties.below),
            };
            sort(&mut layers.ranks[rank], ties, &mut positions);
        }
        let crossings = crossings(layers, &ties, &positions);
        if crossings < fewest {
            fewest = crossings;
            best.clone_from(&layers.ranks);
        }
        if crossings == 0 {
            break;
        }
    }
    layers.ranks = best;
}

/// By item: its neighbours in the rank above or below, with the parts of an item's width where they meet.
struct Ties {
    above: Vec<Vec<(usize, f64)>>,
    below: Vec<Vec<(usize, f64)>>,
}

impl Ties {
    fn new(layers: &Layers) -> Ties {
        let mut ties =
            Ties { above: vec![Vec::new(); layers.items.len()], below: vec![Vec::new(); layers.items.len()] };
        let part = |item: usize, port: f64| (port / layers.items[item].width.max(1.0)).clamp(-0.5, 0.5);
        // From the first operand of a box to its last.
        let mut links = layers.links.clone();
        links.sort_by(|a, b| {
            (a.lower, a.lower_port).partial_cmp(&(b.lower, b.lower_port)).unwrap_or(Ordering::Equal)
        });
        for link in &links {
            ties.above[link.lower].push((link.upper, part(link.upper, link.upper_port)));
            ties.below[link.upper].push((link.lower, part(link.lower, link.lower_port)));
        }
        ties
    }
}

/// Sorts a rank by the middle of each item's neighbours; items without any keep their place.
fn sort(rank: &mut Vec<usize>, ties: &[Vec<(usize, f64)>], positions: &mut [f64]) {
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(rank.len());
    let mut fixed: Vec<Option<usize>> = vec![None; rank.len()];
    for (at, &item) in rank.iter().enumerate() {
        let near = &ties[item];
        if near.is_empty() {
            fixed[at] = Some(item);
            continue;
        }
        let sum: f64 = near.iter().map(|(other, part)| positions[*other] + part).sum();
        keyed.push((sum / near.len() as f64, item));
    }
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moved = keyed.into_iter();
    *rank = fixed.iter().filter_map(|item| item.or_else(|| moved.next().map(|(_, item)| item))).collect();
    for (at, &item) in rank.iter().enumerate() {
        positions[item] = at as f64;
    }
}

/// How many pairs of links cross, counted from rank to rank by a Fenwick tree. Where links meet a box counts, too.
fn crossings(layers: &Layers, ties: &Ties, positions: &[f64]) -> u64 {
    let mut crossings = 0;
    for pair in layers.ranks.windows(2) {
        // The links at the lower rank from left to right have a number each, those of one place the same.
        let mut number = 0;
        let mut links: Vec<(f64, usize)> = Vec::new();
        for &lower in &pair[1] {
            for &(upper, part) in &ties.above[lower] {
                links.push((positions[upper] + part, number));
                number += 1;
            }
        }
        links.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut tree = vec![0u64; number + 1];
        for (seen, (_, end)) in links.iter().enumerate() {
            let (mut at, mut not_beyond) = (end + 1, 0);
            while at > 0 {
                not_beyond += tree[at];
                at &= at - 1;
            }
            crossings += seen as u64 - not_beyond;
            let mut at = end + 1;
            while at < tree.len() {
                tree[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
    }
    crossings
}
