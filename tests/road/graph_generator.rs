//! `GraphGenerator`: builds a random graph op by op, as a real graph and as a `Recipe`.

use std::collections::HashMap;

use shapeflow::shape_fns::{PartialElements, Symbol};
use shapeflow::{Attr, DType, Dim, Graph, Value};

use crate::element_props::{DTypeClass, ElementProps, has_fractions};
use crate::graph_recipe::{Content, Recipe, Size, Source, Step};
use crate::op_call::Call;
use crate::rng::Rng;

/// Largest number of elements of a value. An axis of size 0 counts as size 1, since a reduction may remove it.
const MAX_ELEMENTS: i64 = 12_000;

/// The number of sources from which on a graph gets no further random source. An op may still add sources for the
/// operands after its first operand.
pub const MAX_SOURCES: usize = 9;

/// A graph under construction, with the sizes of its values in every run.
pub struct GraphGenerator<'g> {
    pub graph: &'g Graph,
    pub rng: Rng,
    pub recipe: Recipe,
    pub values: Vec<Value<'g>>,
    /// Per value: its properties.
    pub props: Vec<ElementProps>,
    /// Per value: the index of its source, or [`OUTPUT_FLAG`] and its index among the outputs of all steps.
    pub recipe_indices: Vec<usize>,
    /// The value of each symbol in every run.
    pub symbol_sizes: HashMap<Symbol, Vec<i64>>,
    /// The run variable of each symbol in the shape of a source. A run variable is a number that each run sets.
    symbol_variables: HashMap<Symbol, usize>,
    /// Largest size of an ordinary dimension.
    size_limit: usize,
    pub max_rank: usize,
    /// Probability, in 1/1000, that a parameter is a graph input instead of an attribute.
    pub fed_per_mille: usize,
    /// Whether most dims are anonymous, and most parameters differ between runs.
    pub dynamic_shapes: bool,
}

/// The index of a value in [`GraphGenerator::values`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValueIndex(pub usize);

/// What defines a value. Sources and step outputs are numbered separately until the recipe is finished.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Source(usize),
    Output(usize),
}

/// A finished recipe, with the properties of each of its values.
#[derive(Clone)]
pub struct GeneratedGraph {
    pub recipe: Recipe,
    pub props: Vec<ElementProps>,
}

impl<'g> GraphGenerator<'g> {
    pub fn new(graph: &'g Graph, seed: u64) -> GraphGenerator<'g> {
        let mut rng = Rng::new(seed);
        let runs = 1 + rng.below(3);
        let size_limit = *rng.choose(&[4, 4, 8, 20, 70]);
        let max_rank = *rng.choose(&[2, 3, 3, 4, 6]);
        let fed_per_mille = *rng.choose(&[0, 0, 0, 60, 250]);
        GraphGenerator {
            graph,
            rng,
            recipe: Recipe { seed, runs: vec![Vec::new(); runs], ..Recipe::default() },
            values: Vec::new(),
            props: Vec::new(),
            recipe_indices: Vec::new(),
            symbol_sizes: HashMap::new(),
            symbol_variables: HashMap::new(),
            size_limit,
            max_rank,
            fed_per_mille,
            dynamic_shapes: false,
        }
    }

    pub fn dtype(&self, id: ValueIndex) -> DType {
        self.values[id.0].dtype()
    }

    pub fn rank(&self, id: ValueIndex) -> usize {
        self.values[id.0].shape().rank().unwrap_or(0)
    }

    pub fn dims(&self, id: ValueIndex) -> Vec<Dim> {
        self.values[id.0].shape().dims().unwrap_or_default().to_vec()
    }

    /// Returns a dimension's size in every run, or `None` if the size depends on data.
    pub fn sizes_of(&self, dim: &Dim) -> Option<Vec<i64>> {
        (0..self.recipe.runs.len())
            .map(|run| dim.eval(&|symbol| self.symbol_sizes.get(&symbol).map(|all| all[run])).ok().flatten())
            .collect()
    }

    /// Returns a dimension's smallest size over all runs, or 0 if the size depends on data.
    pub fn min_size(&self, dim: &Dim) -> i64 {
        self.sizes_of(dim).and_then(|sizes| sizes.into_iter().min()).unwrap_or(0)
    }

    /// Draws a size for one run; 0, 1 and sizes near vector and tile widths are frequent.
    fn size(&mut self) -> i64 {
        match self.rng.below(12) {
            0 => 0,
            1 | 2 => 1,
            3 if self.size_limit > 8 => {
                *self.rng.choose(&[8, 16, 17, 32, 33, 64]).min(&(self.size_limit as i64))
            }
            // This size is larger than the tiles of kernels.
            4 if self.size_limit > 20 && self.rng.chance(1, 4) => {
                *self.rng.choose(&[129, 513, 1025, 4097, 5000])
            }
            _ => self.rng.below(self.size_limit) as i64 + 1,
        }
    }

    /// Adds a run variable with these values and returns its index.
    pub fn new_variable(&mut self, sizes: &[i64]) -> usize {
        for (run, size) in self.recipe.runs.iter_mut().zip(sizes) {
            run.push(*size);
        }
        self.recipe.runs[0].len() - 1
    }

    /// Draws a dimension for a source.
    pub fn random_size(&mut self) -> Size {
        let variables = self.recipe.runs[0].len();
        let fresh: Vec<i64> = (0..self.recipe.runs.len()).map(|_| self.size()).collect();
        if self.dynamic_shapes {
            // This branch reuses no run variable: some run variables are elements of fed parameters and not sizes.
            return match self.rng.below(8) {
                0 => Size::Known(self.size()),
                1 => Size::Named(self.new_variable(&fresh)),
                _ => Size::Unnamed(self.new_variable(&fresh)),
            };
        }
        match self.rng.below(10) {
            0..=3 => Size::Known(self.size()),
            4..=6 if variables > 0 => Size::Named(self.rng.below(variables)),
            7 => Size::Unnamed(self.new_variable(&fresh)),
            8 if variables > 0 => {
                let (scale, offset) = (1 + self.rng.below(2) as i64, self.rng.below(3) as i64);
                Size::Linear(scale, self.rng.below(variables), offset)
            }
            _ => Size::Named(self.new_variable(&fresh)),
        }
    }

    /// Returns a dimension for a source that has the same size as `dim` in every run; `None` if the size depends on
    /// data.
    pub fn size_like(&mut self, dim: &Dim) -> Option<Size> {
        if let Some(known) = dim.as_known() {
            return Some(Size::Known(known));
        }
        // A dimension may be negative in a run that the library refuses. A source cannot have such a dimension.
        let sizes = self.sizes_of(dim).filter(|sizes| sizes.iter().all(|size| *size >= 0))?;
        if let Some(symbol) = dim.as_symbol()
            && let Some(variable) = self.symbol_variables.get(&symbol)
            && symbol.name().is_some()
            && self.rng.chance(3, 4)
        {
            return Some(Size::Named(*variable));
        }
        Some(match self.rng.chance(1, 2) {
            true => Size::Named(self.new_variable(&sizes)),
            false => Size::Unnamed(self.new_variable(&sizes)),
        })
    }

    /// Adds a source; `None` if it has too many elements. A constant needs known sizes; otherwise it becomes an input.
    pub fn source(
        &mut self,
        dtype: DType,
        sizes: Vec<Size>,
        content: Content,
        constant: bool,
    ) -> Option<ValueIndex> {
        let constant = constant && sizes.iter().all(|size| matches!(size, Size::Known(_)));
        for run in &self.recipe.runs {
            let sizes = sizes.iter().map(|size| size.of(run).max(1));
            if sizes.fold(1, i64::saturating_mul) > MAX_ELEMENTS {
                return None;
            }
        }
        let number = self.recipe.sources.len();
        let props = ElementProps {
            small_integers: !matches!(content, Content::Ordinary | Content::Extreme) || !has_fractions(dtype),
            extreme: matches!(content, Content::Extreme),
            ..ElementProps::default()
        };
        self.recipe.sources.push(Source { dtype, sizes: sizes.clone(), content, constant, unranked: false });
        let value = self.recipe.declare(self.graph, number).expect("sources have valid shapes");
        for (dim, size) in value.shape().dims().unwrap_or_default().iter().zip(&sizes) {
            let variable = match size {
                Size::Known(_) => continue,
                Size::Named(variable) | Size::Unnamed(variable) | Size::Linear(_, variable, _) => *variable,
            };
            dim.symbols(&mut |symbol| {
                self.symbol_sizes.insert(symbol, self.recipe.runs.iter().map(|run| run[variable]).collect());
                self.symbol_variables.insert(symbol, variable);
            });
        }
        Some(self.push_value(Origin::Source(number), value, props))
    }

    /// Records a value and returns its index.
    fn push_value(&mut self, origin: Origin, value: Value<'g>, props: ElementProps) -> ValueIndex {
        self.values.push(value);
        self.props.push(props);
        self.recipe_indices.push(match origin {
            Origin::Source(number) => number,
            Origin::Output(number) => number | OUTPUT_FLAG,
        });
        ValueIndex(self.values.len() - 1)
    }

    /// Adds a source of random dtype, sizes and content; `None` if there are enough sources.
    pub fn random_source(&mut self, class: DTypeClass, rank: usize) -> Option<ValueIndex> {
        if self.recipe.sources.len() >= MAX_SOURCES {
            return None;
        }
        let dtype = class.sample(&mut self.rng);
        let mut sizes: Vec<Size> = (0..rank).map(|_| self.random_size()).collect();
        // Axes of one size can be read in place of each other.
        if rank > 1 && self.rng.chance(1, 4) {
            sizes[rank - 1] = sizes[self.rng.below(rank - 1)];
        }
        let content = self.random_content();
        let constant = self.rng.chance(1, 6);
        self.source(dtype, sizes, content, constant)
    }

    /// Draws the content of a source.
    pub fn random_content(&mut self) -> Content {
        match self.rng.below(8) {
            0 => Content::Extreme,
            1..=3 => Content::Ordinary,
            _ => Content::SmallIntegers,
        }
    }

    /// Adds a step and returns its first output; `None` if the op refuses its operands or an output is too large.
    ///
    /// If the environment variable `SHAPEFLOW_REFUSED` is set, this prints the error of a refused op.
    pub fn add_step(
        &mut self,
        call: Call,
        data: &[ValueIndex],
        params: &[ValueIndex],
        props: ElementProps,
    ) -> Option<ValueIndex> {
        let values_of = |ids: &[ValueIndex]| ids.iter().map(|id| self.values[id.0]).collect::<Vec<_>>();
        let outputs = match call.apply(self.graph, &values_of(data), &values_of(params)) {
            Ok(outputs) => outputs,
            Err(error) => {
                if std::env::var_os("SHAPEFLOW_REFUSED").is_some() {
                    println!("{error}");
                }
                return None;
            }
        };
        if self.dynamic_shapes || params.iter().any(|id| self.differs_between_runs(*id)) {
            self.infer_run_sizes(&call, data, params, &outputs)?;
        }
        for output in &outputs {
            let shape = output.shape();
            if shape.rank().is_none_or(|rank| rank > 8) {
                return None;
            }
            for run in 0..self.recipe.runs.len() {
                let mut count = 1i64;
                for dim in shape.dims().unwrap_or_default() {
                    if let Some(sizes) = self.sizes_of(dim) {
                        if sizes[run] < 0 {
                            return None;
                        }
                        count = count.saturating_mul(sizes[run].max(1));
                    }
                }
                if count > MAX_ELEMENTS {
                    return None;
                }
            }
        }
        let operand = |ids: &[ValueIndex]| ids.iter().map(|id| self.recipe_indices[id.0]).collect::<Vec<_>>();
        let (data, params) = (operand(data), operand(params));
        let first: usize = self.recipe.steps.iter().map(|step| step.outputs).sum();
        self.recipe.steps.push(Step { call, data, params, outputs: outputs.len() });
        let mut ids = Vec::new();
        for (number, output) in outputs.into_iter().enumerate() {
            ids.push(self.push_value(Origin::Output(first + number), output, props));
        }
        ids.first().copied()
    }

    /// Returns whether a value is an input whose elements the recipe chooses for every run.
    fn differs_between_runs(&self, id: ValueIndex) -> bool {
        let source = self.recipe.sources.get(self.recipe_indices[id.0]);
        source.is_some_and(|source| matches!(source.content, Content::OfRuns(_)))
    }

    /// Finishes the recipe: numbers its values as [`Step`] says, sources first.
    pub fn finish(mut self, outputs: &[ValueIndex]) -> GeneratedGraph {
        let sources = self.recipe.sources.len();
        let number = |index: usize| match index & OUTPUT_FLAG {
            0 => index,
            _ => (index & !OUTPUT_FLAG) + sources,
        };
        for step in &mut self.recipe.steps {
            for operand in step.data.iter_mut().chain(&mut step.params) {
                *operand = number(*operand);
            }
        }
        let mut props = vec![ElementProps::default(); self.values.len()];
        for (index, value_props) in self.recipe_indices.iter().zip(&self.props) {
            props[number(*index)] = *value_props;
        }
        self.recipe.outputs = outputs.iter().map(|id| number(self.recipe_indices[id.0])).collect();
        GeneratedGraph { recipe: self.recipe, props }
    }
}

/// Returns dimensions as an attribute, or `None` if a symbol is anonymous: no other graph can name that symbol.
pub fn dims_attr(dims: &[Dim]) -> Option<Attr> {
    let mut named = true;
    dims.iter().for_each(|dim| dim.symbols(&mut |symbol| named &= !symbol.is_anonymous()));
    named.then(|| Attr::from(PartialElements::vector(dims.iter().cloned())))
}

/// Marks the index of a step's output, whose final index depends on the number of sources.
pub const OUTPUT_FLAG: usize = 1 << 40;
