//! The order of items within their ranks: barycenters of neighbours, swept down and up, best of all tries.

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
        for link in &layers.links {
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

/// How many pairs of links cross, counted from rank to rank by a Fenwick tree.
fn crossings(layers: &Layers, ties: &Ties, positions: &[f64]) -> u64 {
    let mut crossings = 0;
    let mut tree: Vec<u64> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    for pair in layers.ranks.windows(2) {
        tree.clear();
        tree.resize(pair[1].len() + 1, 0);
        let mut seen = 0u64;
        for &upper in &pair[0] {
            ends.clear();
            ends.extend(ties.below[upper].iter().map(|(lower, _)| positions[*lower] as usize));
            ends.sort_unstable();
            for &end in &ends {
                let (mut at, mut not_beyond) = (end + 1, 0);
                while at > 0 {
                    not_beyond += tree[at];
                    at &= at - 1;
                }
                crossings += seen - not_beyond;
            }
            for &end in &ends {
                let mut at = end + 1;
                while at < tree.len() {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
                seen += 1;
            }
        }
    }
    crossings
}
