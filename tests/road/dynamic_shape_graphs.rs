//! Random graphs with dynamic shapes: most dims are anonymous, and most parameters are inputs that differ between runs.

use shapeflow::{DType, Dim, Graph, Tensor, Value};

use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, OUTPUT_FLAG, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::ops::{add_op, props_of};

/// The ops of these graphs, each with its relative frequency.
const WEIGHTS: &[(&str, usize)] = &[
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

/// Adds a random op. Returns its first output, or `None` if no suitable operands and parameters are found.
pub fn add_random_op(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    match g.rng.choose_weighted(WEIGHTS) {
        "slice" if g.rng.chance(3, 4) => slice(g),
        "reshape" if g.rng.chance(3, 4) => reshape(g),
        "broadcast_to" if g.rng.chance(1, 2) => broadcast_to(g),
        "fill" => fill(g),
        "strided_slice" if g.rng.chance(1, 2) => strided_slice(g),
        "concat" if g.rng.chance(1, 40) => concat_many(g),
        op => add_op(g, op),
    }
}

/// Returns the sizes of a value, indexed by axis and run, or `None` if a size depends on data.
fn sizes_of(g: &GraphGenerator<'_>, x: ValueIndex) -> Option<Vec<Vec<i64>>> {
    g.dims(x).iter().map(|dim| g.sizes_of(dim)).collect()
}

/// Adds a vector parameter as an input; `entries[i][run]` is its element `i` in a run.
fn add_fed_param(
    g: &mut GraphGenerator<'_>,
    call: &mut Call,
    params: &mut Vec<ValueIndex>,
    name: &'static str,
    entries: &[Vec<i64>],
) -> Option<()> {
    // Each run variable is an integer whose value the recipe fixes for every run.
    let variables = entries.iter().map(|entry| g.new_variable(entry)).collect::<Vec<_>>();
    let length = match g.rng.chance(1, 6) {
        true => Size::Unnamed(g.new_variable(&vec![entries.len() as i64; g.recipe.runs.len()])),
        false => Size::Known(entries.len() as i64),
    };
    let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
    params.push(g.source(dtype, vec![length], Content::RunVariables(variables), false)?);
    call.params.push(name);
    Some(())
}

/// Adds an op of one data operand and one vector parameter, as [`add_fed_param`] adds it.
fn add_with_fed_param(
    g: &mut GraphGenerator<'_>,
    op: &'static str,
    x: ValueIndex,
    name: &'static str,
    entries: &[Vec<i64>],
) -> Option<ValueIndex> {
    let (mut call, mut params) = (Call::new(op), Vec::new());
    add_fed_param(g, &mut call, &mut params, name, entries)?;
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

fn slice(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=4, |_| true)?;
    let (mut begin, mut size) = (Vec::new(), Vec::new());
    for axis in sizes_of(g, x)? {
        let full = g.rng.chance(1, 4);
        let (from, count): (Vec<i64>, Vec<i64>) = axis
            .iter()
            .map(|&all| {
                let from = if full { 0 } else { g.rng.range_inclusive(0, all) };
                (from, if full || g.rng.chance(1, 4) { -1 } else { g.rng.range_inclusive(0, all - from) })
            })
            .unzip();
        begin.push(from);
        size.push(count);
    }
    // Sometimes the slice may exceed the tensor.
    if g.rng.chance(1, 40) && !size.is_empty() {
        size[0][0] += 3;
    }
    let (mut call, mut params) = (Call::new("slice"), Vec::new());
    add_fed_param(g, &mut call, &mut params, "begin", &begin)?;
    if size.iter().flatten().all(|size| *size == -1) && g.rng.chance(1, 2) {
        call = call.attr("size", vec![-1i64; size.len()]);
    } else {
        add_fed_param(g, &mut call, &mut params, "size", &size)?;
    }
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

fn strided_slice(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |_| true)?;
    let count = 1 + g.rng.below(g.rank(x));
    let runs = g.recipe.runs.len();
    let (mut begin, mut end) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let reach = *g.rng.choose(&[3, 8, 20, i64::from(i32::MAX)]);
        begin.push((0..runs).map(|_| g.rng.range_inclusive(-reach, reach)).collect::<Vec<_>>());
        end.push((0..runs).map(|_| g.rng.range_inclusive(-reach, reach)).collect::<Vec<_>>());
    }
    let strides: Vec<i64> = (0..count).map(|_| *g.rng.choose(&[1, 1, 1, 2, 3, -1, -2])).collect();
    let (mut call, mut params) = (Call::new("strided_slice"), Vec::new());
    for name in ["begin_mask", "end_mask"] {
        if g.rng.chance(1, 3) {
            call = call.attr(name, g.rng.below(1 << count) as i64);
        }
    }
    match g.rng.below(3) {
        0 => call = call.attr("begin", begin.iter().map(|entry| entry[0]).collect::<Vec<i64>>()),
        _ => add_fed_param(g, &mut call, &mut params, "begin", &begin)?,
    }
    match g.rng.below(3) {
        0 => call = call.attr("end", end.iter().map(|entry| entry[0]).collect::<Vec<i64>>()),
        _ => add_fed_param(g, &mut call, &mut params, "end", &end)?,
    }
    match g.rng.below(4) {
        0 => {
            let fed: Vec<Vec<i64>> = strides.iter().map(|stride| vec![*stride; runs]).collect();
            add_fed_param(g, &mut call, &mut params, "strides", &fed)?;
        }
        _ => call = call.attr("strides", strides),
    }
    let props = props_of(g, &[x]);
    g.add_step(call, &[x], &params, props)
}

fn reshape(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=4, |_| true)?;
    let mut axes = sizes_of(g, x)?;
    let runs = g.recipe.runs.len();
    for _ in 0..1 + g.rng.below(3) {
        let position = g.rng.below(axes.len());
        match g.rng.below(4) {
            0 | 1 if axes.len() > 1 && position > 0 => {
                let removed = axes.remove(position);
                axes[position - 1].iter_mut().zip(removed).for_each(|(size, other)| *size *= other);
            }
            2 if !axes.is_empty() => {
                // Every run splits the axis into its own factors.
                let parts: Vec<i64> = axes[position]
                    .iter()
                    .map(|size| {
                        let fits: Vec<i64> = (1..=4).filter(|part| size % part == 0).collect();
                        *g.rng.choose(&fits)
                    })
                    .collect();
                axes[position].iter_mut().zip(&parts).for_each(|(size, part)| *size /= part);
                axes.insert(position, parts);
            }
            _ => axes.insert(position, vec![1; runs]),
        }
    }
    if axes.len() > 5 || axes.is_empty() {
        return None;
    }
    for run in 0..runs {
        let position = g.rng.below(axes.len());
        let others: i64 = axes
            .iter()
            .enumerate()
            .filter(|(axis, _)| *axis != position)
            .map(|(_, sizes)| sizes[run])
            .product();
        if others != 0 && g.rng.chance(1, 2) {
            axes[position][run] = -1;
        }
    }
    add_with_fed_param(g, "reshape", x, "shape", &axes)
}

fn broadcast_to(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 0..=3, |_| true)?;
    let mut axes = sizes_of(g, x)?;
    for size in axes.iter_mut().flatten() {
        if *size == 1 && g.rng.chance(1, 2) {
            *size = g.rng.below(5) as i64;
        }
    }
    if axes.is_empty() || g.rng.chance(1, 3) {
        let lead = (0..g.recipe.runs.len()).map(|_| g.rng.below(4) as i64).collect();
        axes.insert(0, lead);
    }
    add_with_fed_param(g, "broadcast_to", x, "shape", &axes)
}

fn fill(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let runs = g.recipe.runs.len();
    let axes = match g.pick(DTypeClass::Any, 1..=3, |_| true) {
        Some(like) if g.rng.chance(2, 3) => sizes_of(g, like)?,
        _ => (0..1 + g.rng.below(2)).map(|_| (0..runs).map(|_| g.rng.below(5) as i64).collect()).collect(),
    };
    let dtype = *g.rng.choose(&[DType::F32, DType::F32, DType::I32, DType::Bool]);
    let value = g.scalar(dtype, Content::SmallIntegers)?;
    add_with_fed_param(g, "fill", value, "dims", &axes)
}

/// Adds a `concat` of more operands of unknown size than the expression of a dimension may have terms.
fn concat_many(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let runs = g.recipe.runs.len();
    let count = 64 + g.rng.below(16);
    let mut parts = Vec::new();
    for _ in 0..count {
        let sizes: Vec<i64> = (0..runs).map(|_| g.rng.below(3) as i64).collect();
        let size = Size::Unnamed(g.new_variable(&sizes));
        parts.push(g.source(DType::F32, vec![size], Content::SmallIntegers, false)?);
    }
    g.add_step(
        Call::new("concat").attr("axis", 0i64),
        &parts,
        &[],
        ElementProps { small_integers: true, ..ElementProps::default() },
    )
}

impl GraphGenerator<'_> {
    /// Returns a dimension as [`GraphGenerator::size_like`] does, but with size 1 in some runs.
    pub fn size_like_or_one(&mut self, dim: &Dim) -> Option<Size> {
        let sizes = self.sizes_of(dim)?;
        let sizes: Vec<i64> =
            sizes.into_iter().map(|size| if self.rng.chance(1, 2) { 1 } else { size }).collect();
        Some(Size::Unnamed(self.new_variable(&sizes)))
    }

    /// Infers the sizes of an op's outputs in every run, by a graph of known sizes, and records them for new symbols.
    ///
    /// Returns `None`, which rejects the op, if a run refuses its sizes. A few such ops are kept, to test refusals.
    pub fn infer_run_sizes(
        &mut self,
        call: &Call,
        data: &[ValueIndex],
        params: &[ValueIndex],
        outputs: &[Value<'_>],
    ) -> Option<()> {
        let mut found: Vec<Vec<Option<Vec<i64>>>> = vec![Vec::new(); outputs.len()];
        for run in 0..self.recipe.runs.len() {
            let graph = Graph::new();
            let Some(operands) = data
                .iter()
                .enumerate()
                .map(|(position, id)| self.input_of_run(&graph, position, *id, run))
                .collect::<Option<Vec<_>>>()
            else {
                return Some(());
            };
            let Some(known) =
                params.iter().map(|id| self.param_of_run(&graph, *id, run)).collect::<Option<Vec<_>>>()
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
                Err(_) => return self.rng.chance(1, 20).then_some(()),
            }
        }
        for (output, found) in outputs.iter().zip(found) {
            let Some(found) = found.into_iter().collect::<Option<Vec<Vec<i64>>>>() else { continue };
            for (axis, dim) in output.shape().dims().unwrap_or_default().iter().enumerate() {
                let sizes: Vec<i64> = found.iter().map(|sizes| sizes[axis]).collect();
                self.solve_symbol(dim, &sizes);
            }
        }
        Some(())
    }

    /// Solves a dimension for its one unknown symbol, given the sizes of the dimension in every run.
    fn solve_symbol(&mut self, dim: &Dim, sizes: &[i64]) {
        if self.sizes_of(dim).is_some() {
            return;
        }
        let mut solutions = Vec::new();
        let mut solved = None;
        for (run, size) in sizes.iter().enumerate() {
            let remainder =
                dim.substitute(&mut |symbol| self.symbol_sizes.get(&symbol).map(|all| Dim::known(all[run])));
            let Some((scale, symbol, offset)) = remainder.as_linear() else { return };
            solutions.push((size - offset) / scale);
            solved = Some(symbol);
        }
        self.symbol_sizes.extend(solved.map(|symbol| (symbol, solutions)));
    }

    /// Adds an input with the sizes that a value has in a run.
    fn input_of_run<'h>(
        &self,
        graph: &'h Graph,
        position: usize,
        id: ValueIndex,
        run: usize,
    ) -> Option<Value<'h>> {
        let sizes: Vec<i64> = sizes_of(self, id)?.iter().map(|all| all[run]).collect();
        graph.input(&format!("x{position}"), self.dtype(id), &sizes[..]).ok()
    }

    /// Adds a constant with the elements that a parameter has in a run. Returns `None` if a step computes the
    /// parameter: then its recipe index has the bit [`OUTPUT_FLAG`].
    fn param_of_run<'h>(&self, graph: &'h Graph, id: ValueIndex, run: usize) -> Option<Value<'h>> {
        let source = self.recipe_indices[id.0];
        if source & OUTPUT_FLAG != 0 {
            return None;
        }
        let tensor: Tensor = self.recipe.source_tensor(source, run);
        graph.constant(tensor).ok()
    }
}
