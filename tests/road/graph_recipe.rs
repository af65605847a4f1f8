//! `Recipe`: a graph as data, which can be built, fed, printed and made smaller.

use std::fmt;

use shapeflow::{DType, Dim, Graph, Result, Tensor, TensorShape, Unknown, Value};

use crate::op_call::Call;
use crate::random_numbers::Draws;
use crate::tensor_compare::tensor_of;

/// A dimension of a source; the number is that of a size that each run chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Size {
    Known(i64),
    Named(usize),
    Unnamed(usize),
    /// `scale · size + offset`.
    Linear(i64, usize, i64),
}

impl Size {
    /// The size in a run.
    pub fn of(self, run: &[i64]) -> i64 {
        match self {
            Size::Known(size) => size,
            Size::Named(at) | Size::Unnamed(at) => run[at],
            Size::Linear(scale, at, offset) => scale * run[at] + offset,
        }
    }
}

/// What a source holds.
#[derive(Clone, Debug)]
pub enum Content {
    /// Small whole numbers.
    Whole,
    /// Numbers of ordinary size.
    Ordinary,
    /// Extremes, infinities, NaN, zeros of both signs.
    Wild,
    /// Whole numbers from the first to the second.
    Within(i64, i64),
    /// These.
    Given(Vec<i64>),
    /// The sizes of these numbers, which each run chooses; not always sizes of anything.
    Sizes(Vec<usize>),
}

/// An input or constant.
#[derive(Clone, Debug)]
pub struct Source {
    pub dtype: DType,
    pub sizes: Vec<Size>,
    pub content: Content,
    /// Part of the graph; its sizes are known.
    pub constant: bool,
    /// Nothing is declared of its shape.
    pub unranked: bool,
}

/// A node; operands are numbers of values: sources first, then the outputs of steps.
#[derive(Clone, Debug)]
pub struct Step {
    pub call: Call,
    pub data: Vec<usize>,
    pub params: Vec<usize>,
    pub outputs: usize,
}

/// A graph and the sizes it runs at.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    pub seed: u64,
    pub sources: Vec<Source>,
    pub steps: Vec<Step>,
    pub outputs: Vec<usize>,
    pub runs: Vec<Vec<i64>>,
}

impl Recipe {
    /// The value of a source in a graph.
    pub fn declare<'g>(&self, graph: &'g Graph, number: usize) -> Result<Value<'g>> {
        let source = &self.sources[number];
        if source.constant {
            return graph.constant(self.tensor(number, 0));
        }
        if source.unranked {
            return graph.input(&format!("x{number}"), source.dtype, TensorShape::unranked());
        }
        let fresh: TensorShape = vec![Unknown; source.sizes.len()].into();
        let dims =
            source.sizes.iter().zip(fresh.dims().unwrap_or_default()).map(|(size, fresh)| match size {
                Size::Known(size) => Dim::known(*size),
                Size::Named(at) => Dim::symbol(&format!("s{at}")),
                Size::Unnamed(_) => fresh.clone(),
                Size::Linear(scale, at, offset) => Dim::symbol(&format!("s{at}")) * *scale + *offset,
            });
        graph.input(&format!("x{number}"), source.dtype, TensorShape::new(dims))
    }

    /// Builds the graph; gives all values.
    pub fn build<'g>(&self, graph: &'g Graph) -> Result<Vec<Value<'g>>> {
        let mut values = Vec::new();
        for number in 0..self.sources.len() {
            values.push(self.declare(graph, number)?);
        }
        for step in &self.steps {
            let of = |numbers: &[usize]| numbers.iter().map(|at| values[*at]).collect::<Vec<_>>();
            let outputs = step.call.apply(graph, &of(&step.data), &of(&step.params))?;
            values.extend(outputs);
        }
        Ok(values)
    }

    /// What a source holds in a run.
    pub fn tensor(&self, number: usize, run: usize) -> Tensor {
        let source = &self.sources[number];
        let sizes: Vec<usize> = source
            .sizes
            .iter()
            .map(|size| match size {
                Size::Known(size) => *size as usize,
                size => size.of(&self.runs[run]) as usize,
            })
            .collect();
        let count: usize = sizes.iter().product();
        let salt = if source.constant { 0 } else { run as u64 + 1 };
        let mut draws = Draws::new(self.seed ^ (number as u64) << 32 ^ salt << 48);
        let chosen = |at: usize| self.runs[run][at];
        let signed = source.dtype.is_signed();
        let float = source.dtype.is_float();
        if source.dtype == DType::I64 || source.dtype == DType::U64 {
            // Not every one of these is a float.
            let wide: Vec<i64> = (0..count)
                .map(|at| match &source.content {
                    Content::Given(all) => all[at],
                    Content::Sizes(all) => chosen(all[at]),
                    Content::Within(low, high) => draws.within(*low, *high),
                    Content::Wild if draws.chance(1, 2) => {
                        *draws.pick(&[i64::MIN, i64::MAX, -1, 1 << 53, 1 << 31, i64::MAX - 1])
                    }
                    Content::Wild => draws.bits() as i64,
                    _ => draws.within(if signed { -4 } else { 0 }, 4),
                })
                .collect();
            return match signed {
                true => Tensor::from_vec(&sizes, wide).unwrap(),
                false => Tensor::from_vec(&sizes, wide.into_iter().map(|x| x as u64).collect()).unwrap(),
            };
        }
        let elements: Vec<f64> = (0..count)
            .map(|at| match &source.content {
                Content::Given(all) => all[at] as f64,
                Content::Sizes(all) => chosen(all[at]) as f64,
                Content::Within(low, high) => draws.within(*low, *high) as f64,
                Content::Whole => draws.within(if signed { -3 } else { 0 }, 3) as f64,
                Content::Ordinary if float => draws.unit() * 6.0 - 3.0,
                Content::Ordinary => draws.within(if signed { -9 } else { 0 }, 9) as f64,
                Content::Wild if float => wild_float(&mut draws, source.dtype),
                Content::Wild => {
                    let (low, high) = source.dtype.integer_range().unwrap_or((0, 1));
                    let drawn = draws.within(low as i64, high as i64);
                    *draws.pick(&[low as i64, high as i64, 0, 1, drawn, drawn, drawn]) as f64
                }
            })
            .collect();
        tensor_of(source.dtype, &sizes, &elements)
    }

    /// The numbers of the sources that are fed.
    pub fn fed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.sources.len()).filter(|number| !self.sources[*number].constant)
    }

    /// The step that makes a value, and which of its outputs it is.
    pub fn maker(&self, value: usize) -> Option<(usize, usize)> {
        let mut first = self.sources.len();
        for (number, step) in self.steps.iter().enumerate() {
            if (first..first + step.outputs).contains(&value) {
                return Some((number, value - first));
            }
            first += step.outputs;
        }
        None
    }

    /// Without steps and sources that no output needs.
    pub fn needed(&self) -> Recipe {
        self.renamed().0
    }

    /// As [`Recipe::needed`]; the second gives the old number of each value that is left.
    pub fn renamed(&self) -> (Recipe, Vec<usize>) {
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
        let mut renamed = vec![usize::MAX; count];
        let mut result = Recipe { seed: self.seed, runs: self.runs.clone(), ..Recipe::default() };
        for (number, source) in self.sources.iter().enumerate() {
            if needed[number] {
                renamed[number] = result.sources.len();
                result.sources.push(source.clone());
            }
        }
        let mut next = result.sources.len();
        let mut first = self.sources.len();
        // All outputs of a step stay.
        for (step, keep) in self.steps.iter().zip(keep) {
            if keep {
                for output in 0..step.outputs {
                    renamed[first + output] = next + output;
                }
                next += step.outputs;
                let rename = |list: &[usize]| list.iter().map(|at| renamed[*at]).collect();
                result.steps.push(Step {
                    data: rename(&step.data),
                    params: rename(&step.params),
                    ..step.clone()
                });
            }
            first += step.outputs;
        }
        result.outputs = self.outputs.iter().map(|output| renamed[*output]).collect();
        let mut old: Vec<usize> = (0..count).filter(|at| renamed[*at] != usize::MAX).collect();
        old.sort_by_key(|at| renamed[*at]);
        (result, old)
    }
}

fn wild_float(draws: &mut Draws, dtype: DType) -> f64 {
    let bits = draws.bits();
    match draws.below(6) {
        0 => *draws.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
        1 => *draws.pick(&[0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5]),
        2 => *draws.pick(&[1e30, -1e30, 1e-30, 1e-42, 1e-310, 65504.0, 2147483648.0, -9.3e18, 1e19]),
        3 if dtype == DType::F64 => f64::from_bits(bits),
        3 => f64::from(f32::from_bits(bits as u32)),
        4 => draws.unit() * 200.0 - 100.0,
        _ => draws.unit() * 4.0 - 2.0,
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, sizes {:?}", self.seed, self.runs)?;
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
