//! Adds ops on diagonals and triangles of matrices to random graphs, and ops that shift or mirror elements.

use super::{props_of, random_axes, random_axis};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "diag" | "matrix_diag" => on_ranks(g, op, 1..=2),
        "diag_part" => diag_part(g),
        "matrix_diag_part" => on_ranks(g, op, 2..=5),
        "matrix_diag_with" => matrix_diag_with(g),
        "matrix_diag_part_with" | "matrix_set_diag" => on_matrices(g, op),
        "matrix_band_part" | "tril" | "triu" => triangle(g, op),
        "roll" => roll(g),
        "mirror_pad_grad" => mirror_pad_grad(g),
        _ => strided_slice_grad(g, op),
    }
}

/// Adds an op on a value of one of these ranks.
fn on_ranks(
    g: &mut GraphGenerator<'_>,
    op: &'static str,
    ranks: std::ops::RangeInclusive<usize>,
) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, ranks, |_| true)?;
    let props = props_of(g, &[x]);
    g.add_step(Call::new(op), &[x], &[], props)
}

fn diag_part(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let half: Vec<Size> = (0..1 + g.rng.below(2)).map(|_| Size::Known(1 + g.rng.below(5) as i64)).collect();
    let sizes = [&half[..], &half[..]].concat();
    let (dtype, content) = (DTypeClass::Any.sample(&mut g.rng), g.random_content());
    let x = g.source(dtype, sizes, content, false)?;
    let props = props_of(g, &[x]);
    g.add_step(Call::new("diag_part"), &[x], &[], props)
}

/// Draws a band of diagonals of matrices with these sizes: one diagonal, or the lowest and the highest. Returns the
/// band and the length of the longest diagonal.
fn random_band(g: &mut GraphGenerator<'_>, rows: i64, columns: i64) -> Option<(Vec<i64>, i64)> {
    let mut ends = [0; 2];
    for end in &mut ends {
        // Diagonal 0 is allowed in empty matrices too.
        *end = if rows < 1 || columns < 1 { 0 } else { g.rng.range_inclusive(1 - rows, columns - 1) };
    }
    ends.sort_unstable();
    let [low, high] = ends;
    let longest = (rows + high.min(0)).min(columns - low.max(0));
    if low == high || g.rng.chance(1, 3) {
        return Some((vec![low], (rows + low.min(0)).min(columns - low.max(0))));
    }
    Some((vec![low, high], longest))
}

/// Passes parameter `k`, as a scalar or as a vector, and attribute `align`. `is_one` says that `draw` draws one
/// diagonal.
fn band_param(
    g: &mut GraphGenerator<'_>,
    call: Call,
    params: &mut Vec<ValueIndex>,
    mut draw: impl FnMut(&mut GraphGenerator<'_>) -> Vec<i64>,
    is_one: bool,
) -> Option<Call> {
    let align = *g.rng.choose(&["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"]);
    let is_vector = !is_one || g.rng.chance(1, 2);
    g.structure_param(call.attr("align", align), params, "k", is_vector, |g| draw(g))
}

fn matrix_diag_with(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (rows, columns) = (g.rng.range_inclusive(1, 6), g.rng.range_inclusive(1, 6));
    let (band, longest) = random_band(g, rows, columns)?;
    let mut sizes: Vec<Size> = (0..g.rng.below(3)).map(|_| g.random_size()).collect();
    if let [low, high] = band[..] {
        sizes.push(Size::Known(high - low + 1));
    }
    sizes.push(Size::Known(longest));
    let (dtype, content) = (DTypeClass::Any.sample(&mut g.rng), g.random_content());
    let x = g.source(dtype, sizes, content, false)?;
    let padding = g.scalar(dtype, Content::SmallIntegers)?;
    let mut params = Vec::new();
    let mut call =
        band_param(g, Call::new("matrix_diag_with"), &mut params, |_| band.clone(), band.len() == 1)?;
    let fits = |g: &mut GraphGenerator<'_>, size: i64| if g.rng.chance(1, 4) { -1 } else { size };
    let sizes = if g.rng.chance(1, 4) { [-1, -1] } else { [rows, columns] };
    let sizes = if g.rng.chance(1, 8) { [fits(g, rows), fits(g, columns)] } else { sizes };
    for (name, size) in ["num_rows", "num_cols"].into_iter().zip(sizes) {
        call = g.param(call, &mut params, name, &[size], false)?;
    }
    let props = props_of(g, &[x, padding]);
    g.add_step(call, &[x, padding], &params, props)
}

/// Adds `matrix_diag_part_with` or `matrix_set_diag`.
fn on_matrices(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 2..=4, |_| true)?;
    let (dims, dtype) = (g.dims(x), g.dtype(x));
    let [leading @ .., rows, columns] = &dims[..] else { return None };
    let (least_rows, least_columns) = (g.min_size(rows), g.min_size(columns));
    let (band, longest) = random_band(g, least_rows, least_columns)?;
    let mut params = Vec::new();
    // Every band of this number of diagonals fits, if the result does not depend on another operand.
    let is_free = op == "matrix_diag_part_with";
    let draw = |g: &mut GraphGenerator<'_>| {
        let drawn = random_band(g, least_rows, least_columns).map(|(drawn, _)| drawn);
        drawn.filter(|drawn| is_free && drawn.len() == band.len()).unwrap_or_else(|| band.clone())
    };
    let call = band_param(g, Call::new(op), &mut params, draw, band.len() == 1)?;
    let other = if op == "matrix_diag_part_with" {
        g.scalar(dtype, Content::SmallIntegers)?
    } else {
        // The length of the diagonals must be the same in every run.
        if !rows.is_known() || !columns.is_known() {
            return None;
        }
        let mut sizes: Vec<Size> = leading.iter().map(|dim| g.size_like(dim)).collect::<Option<_>>()?;
        if let [low, high] = band[..] {
            sizes.push(Size::Known(high - low + 1));
        }
        sizes.push(Size::Known(longest));
        let content = g.random_content();
        g.source(dtype, sizes, content, false)?
    };
    let props = props_of(g, &[x, other]);
    g.add_step(call, &[x, other], &params, props)
}

fn triangle(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 2..=5, |_| true)?;
    let dims = g.dims(x);
    let mut params = Vec::new();
    let mut call = Call::new(op);
    if op == "matrix_band_part" {
        let sizes = [&dims[dims.len() - 2], &dims[dims.len() - 1]];
        for (name, size) in ["num_lower", "num_upper"].into_iter().zip(sizes) {
            let number = g.rng.range_inclusive(-2, g.min_size(size).clamp(0, 6));
            call = g.param(call, &mut params, name, &[number], false)?;
        }
    } else {
        let k = g.rng.range_inclusive(-5, 5);
        call = g.param(call, &mut params, "k", &[k], false)?;
    }
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

fn roll(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=5, |_| true)?;
    let rank = g.rank(x);
    let count = 1 + g.rng.below(rank);
    let mut axes = random_axes(g, rank, count);
    if g.rng.chance(1, 4) {
        axes.push(axes[0]);
    }
    let shifts: Vec<i64> = axes.iter().map(|_| g.rng.range_inclusive(-9, 9)).collect();
    let is_vector = axes.len() > 1 || g.rng.chance(1, 2);
    let mut params = Vec::new();
    let call = g.param(Call::new("roll"), &mut params, "shift", &shifts, is_vector)?;
    let call = g.structure_param(call, &mut params, "axis", is_vector, |g| {
        axes.iter().map(|_| random_axis(g, rank).1).collect()
    })?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

fn mirror_pad_grad(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let symmetric = g.rng.chance(1, 2);
    let (mut sizes, mut paddings) = (Vec::new(), Vec::new());
    for _ in 0..1 + g.rng.below(3) {
        let inner = g.rng.range_inclusive(1, 5);
        let most = inner - i64::from(!symmetric);
        let sides = [0; 2].map(|_: i64| g.rng.range_inclusive(0, most.min(3)));
        sizes.push(Size::Known(inner + sides[0] + sides[1]));
        paddings.extend(sides);
    }
    let dtype = DTypeClass::Number.sample(&mut g.rng);
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let call = Call::new("mirror_pad_grad").attr("mode", if symmetric { "SYMMETRIC" } else { "REFLECT" });
    let mut params = Vec::new();
    let call = match g.rng.chance(1, 4) {
        // A fed list of paddings has two axes.
        true => {
            let rows = Size::Known(paddings.len() as i64 / 2);
            let dtype = DTypeClass::Index.sample(&mut g.rng);
            params.push(g.source(dtype, vec![rows, Size::Known(2)], Content::Fixed(paddings), false)?);
            let mut call = call;
            call.params.push("paddings");
            call
        }
        false => call.attr("paddings", paddings),
    };
    let props = ElementProps { small_integers: true, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

/// Adds a strided slice and its gradient.
fn strided_slice_grad(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |_| true)?;
    let dims = g.dims(x);
    let mut lists = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..1 + g.rng.below(dims.len()) {
        lists[0].push(g.rng.range_inclusive(-6, 6));
        lists[1].push(g.rng.range_inclusive(-6, 9));
        lists[2].push(*g.rng.choose(&[1, 1, 1, 2, 3, -1, -2]));
    }
    let entries = lists[0].len();
    let mut masks = Vec::new();
    for name in ["begin_mask", "end_mask", "new_axis_mask"] {
        if g.rng.chance(1, 3) {
            masks.push((name, 1i64 << g.rng.below(entries)));
        }
    }
    let with_masks = |call: Call| masks.iter().fold(call, |call, (name, mask)| call.attr(name, *mask));
    let names = ["begin", "end", "strides"];
    let call = with_masks(Call::new("strided_slice"));
    let call = names.into_iter().zip(&lists).fold(call, |call, (name, list)| call.attr(name, list.clone()));
    let props = props_of(g, &[x]);
    let dy = g.add_step(call, &[x], &[], props)?;
    let mut params = Vec::new();
    let mut call = with_masks(Call::new(op));
    if op == "strided_slice_grad" {
        call = g.dims_param(call, &mut params, "shape", &dims)?;
    }
    for (name, list) in names.into_iter().zip(&lists) {
        call = g.param(call, &mut params, name, list, true)?;
    }
    let both = [x, dy];
    let data = if op == "strided_slice_grad" { &both[1..] } else { &both };
    g.add_step(call, data, &params, props)
}
