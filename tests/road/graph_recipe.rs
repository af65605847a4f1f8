//! `Recipe`: a graph as plain data, which can be built, fed, printed and shrunk.

use std::fmt;

use shapeflow::{DType, Dim, Graph, Result, Tensor, TensorShape, Unknown, Value};

use crate::element_props::has_fractions;
use crate::op_call::Call;
use crate::rng::Rng;
use crate::tensor_compare::tensor_of;

/// A dimension of a source. A run variable is a number that each run sets. The variants refer to a run variable by its
/// index in `recipe.runs[run]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    Known(i64),
    /// A named symbol whose value is a run variable.
    Named(usize),
    /// An anonymous symbol whose value is a run variable.
    Unnamed(usize),
    /// `scale · symbol + offset`, as `(scale, run variable, offset)`.
    Linear(i64, usize, i64),
}

impl Size {
    /// Returns the size in a run.
    pub fn of(self, run: &[i64]) -> i64 {
        match self {
            Size::Known(size) => size,
            Size::Named(variable) | Size::Unnamed(variable) => run[variable],
            Size::Linear(scale, variable, offset) => scale * run[variable] + offset,
        }
    }
}

/// The elements of a source.
#[derive(Clone, Debug)]
pub enum Content {
    SmallIntegers,
    /// Numbers of ordinary magnitude. Floats have fractions.
    Ordinary,
    /// Extremes of the dtype, infinities, NaN, zeros of both signs.
    Extreme,
    /// Random integers between two integers, both included.
    Range(i64, i64),
    /// These elements in every run.
    Fixed(Vec<i64>),
    /// For each run, the elements in this run.
    OfRuns(Vec<Vec<i64>>),
    /// The values of the run variables with these indices, such as the entries of a fed `begin`. So a run variable need
    /// not be a size.
    RunVariables(Vec<usize>),
}

/// An input or constant.
#[derive(Clone, Debug)]
pub struct Source {
    pub dtype: DType,
    pub sizes: Vec<Size>,
    pub content: Content,
    /// Whether the source is a constant of the graph, with known sizes, instead of an input.
    pub constant: bool,
    /// Whether the input is declared without a rank.
    pub unranked: bool,
}

/// A node of the graph. Values are numbered: all sources first, then the outputs of all steps in order.
#[derive(Clone, Debug)]
pub struct Step {
    pub call: Call,
    /// The numbers of the data operands.
    pub data: Vec<usize>,
    /// The numbers of the parameters that are values.
    pub params: Vec<usize>,
    /// The number of outputs of the node.
    pub outputs: usize,
}

/// A graph, and the runs on which it is checked.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    pub seed: u64,
    pub sources: Vec<Source>,
    pub steps: Vec<Step>,
    /// The numbers of the values that are outputs of the graph, counted as [`Step`] says.
    pub outputs: Vec<usize>,
    /// For each run, the values of the run variables.
    pub runs: Vec<Vec<i64>>,
}

impl Recipe {
    /// Adds a source to a graph.
    pub fn declare<'g>(&self, graph: &'g Graph, number: usize) -> Result<Value<'g>> {
        let source = &self.sources[number];
        if source.constant {
            return graph.constant(self.source_tensor(number, 0));
        }
        if source.unranked {
            return graph.input(&format!("x{number}"), source.dtype, TensorShape::unranked());
        }
        let fresh: TensorShape = vec![Unknown; source.sizes.len()].into();
        let dims =
            source.sizes.iter().zip(fresh.dims().unwrap_or_default()).map(|(size, fresh)| match size {
                Size::Known(size) => Dim::known(*size),
                Size::Named(variable) => Dim::symbol(&format!("s{variable}")),
                Size::Unnamed(_) => fresh.clone(),
                Size::Linear(scale, variable, offset) => {
                    Dim::symbol(&format!("s{variable}")) * *scale + *offset
                }
            });
        graph.input(&format!("x{number}"), source.dtype, TensorShape::new(dims))
    }

    /// Builds the graph and returns all values.
    pub fn build<'g>(&self, graph: &'g Graph) -> Result<Vec<Value<'g>>> {
        let mut values = Vec::new();
        for number in 0..self.sources.len() {
            values.push(self.declare(graph, number)?);
        }
        for step in &self.steps {
            let values_of =
                |indices: &[usize]| indices.iter().map(|index| values[*index]).collect::<Vec<_>>();
            let outputs = step.call.apply(graph, &values_of(&step.data), &values_of(&step.params))?;
            values.extend(outputs);
        }
        Ok(values)
    }

    /// Returns the tensor of a source in a run. The elements depend only on the recipe's seed, the source and the run.
    pub fn source_tensor(&self, number: usize, run: usize) -> Tensor {
        let source = &self.sources[number];
        let sizes: Vec<usize> = source
            .sizes
            .iter()
            .map(|size| match size {
                Size::Known(size) => *size as usize,
                size => size.of(&self.runs[run]) as usize,
            })
            .collect();
        // A complex number is drawn as two numbers.
        let parts = if source.dtype.is_complex() { 2 } else { 1 };
        let count: usize = sizes.iter().product::<usize>() * parts;
        let salt = if source.constant { 0 } else { run as u64 + 1 };
        let mut rng = Rng::new(self.seed ^ (number as u64) << 32 ^ salt << 48);
        let variable = |index: usize| self.runs[run][index];
        let signed = source.dtype.is_signed();
        let float = has_fractions(source.dtype);
        if source.dtype == DType::I64 || source.dtype == DType::U64 {
            // f64 does not hold every 64-bit integer, so these elements are drawn as integers.
            let wide: Vec<i64> = (0..count)
                .map(|index| match &source.content {
                    Content::Fixed(all) => all[index],
                    Content::OfRuns(all) => all[run][index],
                    Content::RunVariables(all) => variable(all[index]),
                    Content::Range(low, high) => rng.range_inclusive(*low, *high),
                    Content::Extreme if rng.chance(1, 2) => {
                        *rng.choose(&[i64::MIN, i64::MAX, -1, 1 << 53, 1 << 31, i64::MAX - 1])
                    }
                    Content::Extreme => rng.next_u64() as i64,
                    _ => rng.range_inclusive(if signed { -4 } else { 0 }, 4),
                })
                .collect();
            return match signed {
                true => Tensor::from_vec(&sizes, wide).unwrap(),
                false => Tensor::from_vec(&sizes, wide.into_iter().map(|x| x as u64).collect()).unwrap(),
            };
        }
        let elements: Vec<f64> = (0..count)
            .map(|index| match &source.content {
                Content::Fixed(all) => all[index / parts] as f64,
                Content::OfRuns(all) => all[run][index / parts] as f64,
                Content::RunVariables(all) => variable(all[index / parts]) as f64,
                Content::Range(low, high) => rng.range_inclusive(*low, *high) as f64,
                Content::SmallIntegers => rng.range_inclusive(if signed { -3 } else { 0 }, 3) as f64,
                Content::Ordinary if float => rng.unit_f64() * 6.0 - 3.0,
                Content::Ordinary => rng.range_inclusive(if signed { -9 } else { 0 }, 9) as f64,
                Content::Extreme if float => extreme_float(&mut rng, source.dtype),
                Content::Extreme => {
                    let (low, high) = source.dtype.integer_range().unwrap_or((0, 1));
                    let drawn = rng.range_inclusive(low as i64, high as i64);
                    *rng.choose(&[low as i64, high as i64, 0, 1, drawn, drawn, drawn]) as f64
                }
            })
            .collect();
        tensor_of(source.dtype, &sizes, &elements)
    }

    /// Returns the indices of the sources that are inputs.
    pub fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.sources.len()).filter(|number| !self.sources[*number].constant)
    }

    /// Returns the step that computes a value and the value's index among the step's outputs; `None` for a source.
    pub fn producer(&self, value: usize) -> Option<(usize, usize)> {
        let mut first = self.sources.len();
        for (number, step) in self.steps.iter().enumerate() {
            if (first..first + step.outputs).contains(&value) {
                return Some((number, value - first));
            }
            first += step.outputs;
        }
        None
    }

    /// Returns the recipe without the steps and sources that no output needs.
    pub fn pruned(&self) -> Recipe {
        self.pruned_with_old_indices().0
    }

    /// Returns [`Recipe::pruned`], and the old index of each of its values.
    pub fn pruned_with_old_indices(&self) -> (Recipe, Vec<usize>) {
        let count = self.sources.len() + self.steps.iter().map(|step| step.outputs).sum::<usize>();
        let mut needed = vec![false; count];
        for output in &self.outputs {
            needed[*output] = true;
        }
        let mut first = count;
        let mut keep = vec![false; self.steps.len()];
        for (number, step) in self.steps.iter().enumerate().rev() {
            first -= step.outputs;
            keep[number] = needed[first..first + step.outputs].contains(&true);
            needed[first..first + step.outputs].fill(keep[number]);
            if keep[number] {
                step.data.iter().chain(&step.params).for_each(|operand| needed[*operand] = true);
            }
        }
        // Old to new index; `usize::MAX` for a dropped value.
        let mut new_index = vec![usize::MAX; count];
        let mut result = Recipe { seed: self.seed, runs: self.runs.clone(), ..Recipe::default() };
        for (number, source) in self.sources.iter().enumerate() {
            if needed[number] {
                new_index[number] = result.sources.len();
                result.sources.push(source.clone());
            }
        }
        let mut next = result.sources.len();
        let mut first = self.sources.len();
        // A kept step keeps all its outputs.
        for (step, keep) in self.steps.iter().zip(keep) {
            if keep {
                for output in 0..step.outputs {
                    new_index[first + output] = next + output;
                }
                next += step.outputs;
                let rename = |list: &[usize]| list.iter().map(|old| new_index[*old]).collect();
                result.steps.push(Step {
                    data: rename(&step.data),
                    params: rename(&step.params),
                    ..step.clone()
                });
            }
            first += step.outputs;
        }
        result.outputs = self.outputs.iter().map(|output| new_index[*output]).collect();
        let mut old: Vec<usize> = (0..count).filter(|old| new_index[*old] != usize::MAX).collect();
        old.sort_by_key(|old| new_index[*old]);
        (result, old)
    }
}

/// Draws a float with extremes, special values and arbitrary bit patterns.
fn extreme_float(rng: &mut Rng, dtype: DType) -> f64 {
    let bits = rng.next_u64();
    match rng.below(6) {
        0 => *rng.choose(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        1 => *rng.choose(&[0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5]),
        2 => *rng.choose(&[1e30, -1e30, 1e-30, 1e-42, 1e-310, 65504.0, 2147483648.0, -9.3e18, 1e19]),
        3 if matches!(dtype, DType::F64 | DType::C128) => f64::from_bits(bits),
        3 => f64::from(f32::from_bits(bits as u32)),
        4 => rng.unit_f64() * 200.0 - 100.0,
        _ => rng.unit_f64() * 4.0 - 2.0,
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, run variables {:?}", self.seed, self.runs)?;
        for (number, source) in self.sources.iter().enumerate() {
            let kind = if source.constant { "constant" } else { "input" };
            let unranked = if source.unranked { " unranked" } else { "" };
            writeln!(
                f,
                "  %{number} = {kind} {}{:?} {:?}{unranked}",
                source.dtype, source.sizes, source.content
            )?;
        }
        let mut next = self.sources.len();
        for step in &self.steps {
            write!(f, "  %{next}")?;
            if step.outputs != 1 {
                write!(f, "..{}", next + step.outputs)?;
            }
            write!(f, " = {}(", step.call.op)?;
            for operand in &step.data {
                write!(f, " %{operand}")?;
            }
            for (name, operand) in step.call.params.iter().zip(&step.params) {
                write!(f, " {name}=%{operand}")?;
            }
            for (name, attr) in &step.call.attrs {
                write!(f, " {name}={attr}")?;
            }
            writeln!(f, " )")?;
            next += step.outputs;
        }
        writeln!(f, "  return {:?}", self.outputs)
    }
}
