//! Random graphs whose sizes mostly have no name, and whose parameters each run chooses.

use shapeflow::{DType, Dim, Graph, Tensor, Value};

use crate::graph_generator::{Grower, Id, OUTPUT};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::ops::{facts_of, grow as grow_any};
use crate::value_facts::{Class, Facts};

type Grown = Option<Id>;

/// The ops of such graphs, and how often each stands in one.
const OPEN: &[(&str, usize)] = &[
    ("add", 8),
    ("boolean_mask", 1),
    ("broadcast_to", 6),
    ("cast", 1),
    ("concat", 6),
    ("equal", 2),
    ("expand_dims", 3),
    ("fill", 4),
    ("gather", 2),
    ("matmul", 2),
    ("maximum", 5),
    ("mul", 5),
    ("neg", 2),
    ("one_hot", 1),
    ("pad", 3),
    ("range", 2),
    ("reduce_sum", 4),
    ("reduce_max", 2),
    ("reshape", 10),
    ("reverse", 2),
    ("segment_sum", 1),
    ("select", 10),
    ("select_v1", 3),
    ("shape", 1),
    ("size", 1),
    ("slice", 10),
    ("softmax", 1),
    ("split_sizes", 3),
    ("squeeze", 1),
    ("stack", 4),
    ("strided_slice", 10),
    ("tile", 4),
    ("transpose", 3),
    ("unique", 2),
    ("unique_with_counts", 1),
    ("unsorted_segment_sum", 1),
    ("where_indices", 1),
];

/// Adds a random op to an open graph.
pub fn grow(g: &mut Grower<'_>) -> Grown {
    let total: usize = OPEN.iter().map(|(_, weight)| weight).sum();
    let mut at = g.draws.below(total);
    let (op, _) = OPEN.iter().find(|(_, weight)| {
        let here = at < *weight;
        at = at.wrapping_sub(*weight);
        here
    })?;
    match *op {
        "slice" if g.draws.chance(3, 4) => slice(g),
        "reshape" if g.draws.chance(3, 4) => reshape(g),
        "broadcast_to" if g.draws.chance(1, 2) => broadcast_to(g),
        "fill" => fill(g),
        "strided_slice" if g.draws.chance(1, 2) => strided_slice(g),
        "concat" if g.draws.chance(1, 40) => concat_many(g),
        op => grow_any(g, op),
    }
}

/// The sizes of a value in every run, an entry an axis; nothing if data decide.
fn sizes_of(g: &Grower<'_>, x: Id) -> Option<Vec<Vec<i64>>> {
    g.dims(x).iter().map(|dim| g.sizes_of(dim)).collect()
}

/// Feeds a list whose entries each run chooses, given by entry.
fn feed(
    g: &mut Grower<'_>,
    call: &mut Call,
    params: &mut Vec<Id>,
    name: &'static str,
    entries: &[Vec<i64>],
) -> Option<()> {
    let numbers = entries.iter().map(|entry| g.variable(entry)).collect::<Vec<_>>();
    let sizes = match g.draws.chance(1, 6) {
        true => Size::Unnamed(g.variable(&vec![entries.len() as i64; g.recipe.runs.len()])),
        false => Size::Known(entries.len() as i64),
    };
    let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
    params.push(g.source(dtype, vec![sizes], Content::Sizes(numbers), false)?);
    call.params.push(name);
    Some(())
}

fn slice(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=4, |_| true)?;
    let (mut begin, mut size) = (Vec::new(), Vec::new());
    for axis in sizes_of(g, x)? {
        let whole = g.draws.chance(1, 4);
        let (from, count): (Vec<i64>, Vec<i64>) = axis
            .iter()
            .map(|&all| {
                let from = if whole { 0 } else { g.draws.within(0, all) };
                (from, if whole || g.draws.chance(1, 4) { -1 } else { g.draws.within(0, all - from) })
            })
            .unzip();
        begin.push(from);
        size.push(count);
    }
    // Now and then the box leaves the tensor.
    if g.draws.chance(1, 40) && !size.is_empty() {
        size[0][0] += 3;
    }
    let (mut call, mut params) = (Call::new("slice"), Vec::new());
    feed(g, &mut call, &mut params, "begin", &begin)?;
    if size.iter().flatten().all(|size| *size == -1) && g.draws.chance(1, 2) {
        call = call.attr("size", vec![-1i64; size.len()]);
    } else {
        feed(g, &mut call, &mut params, "size", &size)?;
    }
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn strided_slice(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 1..=4, |_| true)?;
    let count = 1 + g.draws.below(g.rank(x));
    let runs = g.recipe.runs.len();
    let (mut begin, mut end) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let reach = *g.draws.pick(&[3, 8, 20, i64::from(i32::MAX)]);
        begin.push((0..runs).map(|_| g.draws.within(-reach, reach)).collect::<Vec<_>>());
        end.push((0..runs).map(|_| g.draws.within(-reach, reach)).collect::<Vec<_>>());
    }
    let strides: Vec<i64> = (0..count).map(|_| *g.draws.pick(&[1, 1, 1, 2, 3, -1, -2])).collect();
    let (mut call, mut params) = (Call::new("strided_slice"), Vec::new());
    for name in ["begin_mask", "end_mask"] {
        if g.draws.chance(1, 3) {
            call = call.attr(name, g.draws.below(1 << count) as i64);
        }
    }
    match g.draws.below(3) {
        0 => call = call.attr("begin", begin.iter().map(|entry| entry[0]).collect::<Vec<i64>>()),
        _ => feed(g, &mut call, &mut params, "begin", &begin)?,
    }
    match g.draws.below(3) {
        0 => call = call.attr("end", end.iter().map(|entry| entry[0]).collect::<Vec<i64>>()),
        _ => feed(g, &mut call, &mut params, "end", &end)?,
    }
    match g.draws.below(4) {
        0 => {
            let fed: Vec<Vec<i64>> = strides.iter().map(|stride| vec![*stride; runs]).collect();
            feed(g, &mut call, &mut params, "strides", &fed)?;
        }
        _ => call = call.attr("strides", strides),
    }
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn reshape(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=4, |_| true)?;
    let mut axes = sizes_of(g, x)?;
    let runs = g.recipe.runs.len();
    for _ in 0..1 + g.draws.below(3) {
        let at = g.draws.below(axes.len());
        match g.draws.below(4) {
            0 | 1 if axes.len() > 1 && at > 0 => {
                let last = axes.remove(at);
                axes[at - 1].iter_mut().zip(last).for_each(|(size, other)| *size *= other);
            }
            2 if !axes.is_empty() => {
                // Each run splits the axis by itself.
                let parts: Vec<i64> = axes[at]
                    .iter()
                    .map(|size| {
                        let fits: Vec<i64> = (1..=4).filter(|part| size % part == 0).collect();
                        *g.draws.pick(&fits)
                    })
                    .collect();
                axes[at].iter_mut().zip(&parts).for_each(|(size, part)| *size /= part);
                axes.insert(at, parts);
            }
            _ => axes.insert(at, vec![1; runs]),
        }
    }
    if axes.len() > 5 || axes.is_empty() {
        return None;
    }
    for run in 0..runs {
        let at = g.draws.below(axes.len());
        let others: i64 =
            axes.iter().enumerate().filter(|(axis, _)| *axis != at).map(|(_, sizes)| sizes[run]).product();
        if others != 0 && g.draws.chance(1, 2) {
            axes[at][run] = -1;
        }
    }
    let (mut call, mut params) = (Call::new("reshape"), Vec::new());
    feed(g, &mut call, &mut params, "shape", &axes)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn broadcast_to(g: &mut Grower<'_>) -> Grown {
    let x = g.pick(Class::Any, 0..=3, |_| true)?;
    let mut axes = sizes_of(g, x)?;
    for size in axes.iter_mut().flatten() {
        if *size == 1 && g.draws.chance(1, 2) {
            *size = g.draws.below(5) as i64;
        }
    }
    if axes.is_empty() || g.draws.chance(1, 3) {
        let lead = (0..g.recipe.runs.len()).map(|_| g.draws.below(4) as i64).collect();
        axes.insert(0, lead);
    }
    let (mut call, mut params) = (Call::new("broadcast_to"), Vec::new());
    feed(g, &mut call, &mut params, "shape", &axes)?;
    let facts = facts_of(g, &[x]);
    g.add(call, &[x], &params, facts)
}

fn fill(g: &mut Grower<'_>) -> Grown {
    let runs = g.recipe.runs.len();
    let axes = match g.pick(Class::Any, 1..=3, |_| true) {
        Some(like) if g.draws.chance(2, 3) => sizes_of(g, like)?,
        _ => {
            (0..1 + g.draws.below(2)).map(|_| (0..runs).map(|_| g.draws.below(5) as i64).collect()).collect()
        }
    };
    let dtype = *g.draws.pick(&[DType::F32, DType::F32, DType::I32, DType::Bool]);
    let value = g.scalar(dtype, Content::Whole)?;
    let (mut call, mut params) = (Call::new("fill"), Vec::new());
    feed(g, &mut call, &mut params, "dims", &axes)?;
    let facts = facts_of(g, &[value]);
    g.add(call, &[value], &params, facts)
}

/// More operands of unknown size than one term has room for.
fn concat_many(g: &mut Grower<'_>) -> Grown {
    let runs = g.recipe.runs.len();
    let count = 64 + g.draws.below(16);
    let mut parts = Vec::new();
    for _ in 0..count {
        let sizes: Vec<i64> = (0..runs).map(|_| g.draws.below(3) as i64).collect();
        let size = Size::Unnamed(g.variable(&sizes));
        parts.push(g.source(DType::F32, vec![size], Content::Whole, false)?);
    }
    g.add(Call::new("concat").attr("axis", 0i64), &parts, &[], Facts { whole: true, ..Facts::default() })
}

impl Grower<'_> {
    /// As [`Grower::like`], but 1 in some of the runs.
    pub fn like_or_one(&mut self, dim: &Dim) -> Option<Size> {
        let sizes = self.sizes_of(dim)?;
        let sizes: Vec<i64> =
            sizes.into_iter().map(|size| if self.draws.chance(1, 2) { 1 } else { size }).collect();
        Some(Size::Unnamed(self.variable(&sizes)))
    }

    /// Finds what the sizes of an op's results are in every run, as inference says of known sizes. Nothing if the op
    /// refuses them, except now and then.
    pub fn learn(&mut self, call: &Call, data: &[Id], params: &[Id], outputs: &[Value<'_>]) -> Option<()> {
        let mut found: Vec<Vec<Option<Vec<i64>>>> = vec![Vec::new(); outputs.len()];
        for run in 0..self.recipe.runs.len() {
            let graph = Graph::new();
            let Some(operands) = data
                .iter()
                .enumerate()
                .map(|(at, id)| self.sized(&graph, at, *id, run))
                .collect::<Option<Vec<_>>>()
            else {
                return Some(());
            };
            let Some(known) =
                params.iter().map(|id| self.known(&graph, *id, run)).collect::<Option<Vec<_>>>()
            else {
                return Some(());
            };
            match call.apply(&graph, &operands, &known) {
                Ok(values) => {
                    for (value, found) in values.iter().zip(&mut found) {
                        let sizes = |dims: &[Dim]| dims.iter().map(Dim::as_known).collect();
                        found.push(value.shape().dims().and_then(sizes));
                    }
                }
                Err(_) => return self.draws.chance(1, 20).then_some(()),
            }
        }
        for (output, found) in outputs.iter().zip(found) {
            let Some(found) = found.into_iter().collect::<Option<Vec<Vec<i64>>>>() else { continue };
            for (axis, dim) in output.shape().dims().unwrap_or_default().iter().enumerate() {
                let sizes: Vec<i64> = found.iter().map(|sizes| sizes[axis]).collect();
                self.learn_dim(dim, &sizes);
            }
        }
        Some(())
    }

    /// The one symbol of a dimension whose sizes are not known, from the sizes of the dimension.
    fn learn_dim(&mut self, dim: &Dim, sizes: &[i64]) {
        if self.sizes_of(dim).is_some() {
            return;
        }
        let mut solutions = Vec::new();
        let mut solved = None;
        for (run, size) in sizes.iter().enumerate() {
            let rest =
                dim.substitute(&mut |symbol| self.symbols.get(&symbol).map(|all| Dim::known(all[run])));
            let Some((scale, symbol, offset)) = rest.as_linear() else { return };
            solutions.push((size - offset) / scale);
            solved = Some(symbol);
        }
        self.symbols.extend(solved.map(|symbol| (symbol, solutions)));
    }

    /// A value of a run's sizes.
    fn sized<'h>(&self, graph: &'h Graph, position: usize, id: Id, run: usize) -> Option<Value<'h>> {
        let sizes: Vec<i64> = sizes_of(self, id)?.iter().map(|all| all[run]).collect();
        graph.input(&format!("x{position}"), self.dtype(id), &sizes[..]).ok()
    }

    /// A parameter with the elements that it has in a run.
    fn known<'h>(&self, graph: &'h Graph, id: Id, run: usize) -> Option<Value<'h>> {
        let place = self.places[id.0];
        if place & OUTPUT != 0 {
            return None;
        }
        let tensor: Tensor = self.recipe.tensor(place, run);
        graph.constant(tensor).ok()
    }
}
