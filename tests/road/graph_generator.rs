//! `Grower`: a random graph, one op after the other.

use std::collections::HashMap;

use shapeflow::shape_fns::{PartialElements, Symbol};
use shapeflow::{Attr, DType, Dim, Graph, Value};

use crate::graph_recipe::{Content, Recipe, Size, Source, Step};
use crate::op_call::Call;
use crate::random_numbers::Draws;
use crate::value_facts::{Class, Facts};

/// Results of more elements than this are not kept. An axis of size 0 counts as one of size 1: it may be folded away.
const MOST_ELEMENTS: i64 = 12_000;
const MOST_SOURCES: usize = 9;

/// A graph that grows.
pub struct Grower<'g> {
    pub graph: &'g Graph,
    pub draws: Draws,
    pub recipe: Recipe,
    pub values: Vec<Value<'g>>,
    pub facts: Vec<Facts>,
    /// By value, its source or its number among the outputs of steps.
    pub places: Vec<usize>,
    /// The sizes of symbols in every run.
    pub symbols: HashMap<Symbol, Vec<i64>>,
    /// Symbols that are sizes of sources.
    variables: HashMap<Symbol, usize>,
    /// Sizes are below this.
    reach: usize,
    pub max_rank: usize,
    /// Per mille of parameters that are fed.
    pub fed: usize,
    /// Whether most sizes have no name, and each run chooses most parameters.
    pub open: bool,
}

/// A value of a growing graph.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Id(pub usize);

/// Where a value stands in a recipe: sources and steps are numbered apart until it is finished.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Source(usize),
    Output(usize),
}

/// The parts of a growing graph's recipe.
pub struct Grown {
    pub recipe: Recipe,
    pub facts: Vec<Facts>,
}

impl<'g> Grower<'g> {
    pub fn new(graph: &'g Graph, seed: u64) -> Grower<'g> {
        let mut draws = Draws::new(seed);
        let runs = 1 + draws.below(3);
        let reach = *draws.pick(&[4, 4, 8, 20, 70]);
        let max_rank = *draws.pick(&[2, 3, 3, 4, 6]);
        let fed = *draws.pick(&[0, 0, 0, 60, 250]);
        Grower {
            graph,
            draws,
            recipe: Recipe { seed, runs: vec![Vec::new(); runs], ..Recipe::default() },
            values: Vec::new(),
            facts: Vec::new(),
            places: Vec::new(),
            symbols: HashMap::new(),
            variables: HashMap::new(),
            reach,
            max_rank,
            fed,
            open: false,
        }
    }

    pub fn dtype(&self, id: Id) -> DType {
        self.values[id.0].dtype()
    }

    pub fn rank(&self, id: Id) -> usize {
        self.values[id.0].shape().rank().unwrap_or(0)
    }

    pub fn dims(&self, id: Id) -> Vec<Dim> {
        self.values[id.0].shape().dims().unwrap_or_default().to_vec()
    }

    /// A dimension's size in every run; nothing if data decides.
    pub fn sizes_of(&self, dim: &Dim) -> Option<Vec<i64>> {
        (0..self.recipe.runs.len())
            .map(|run| dim.eval(&|symbol| self.symbols.get(&symbol).map(|all| all[run])).ok().flatten())
            .collect()
    }

    /// The least size of a dimension; 0 if data decides.
    pub fn least(&self, dim: &Dim) -> i64 {
        self.sizes_of(dim).and_then(|sizes| sizes.into_iter().min()).unwrap_or(0)
    }

    fn size(&mut self) -> i64 {
        match self.draws.below(12) {
            0 => 0,
            1 | 2 => 1,
            3 if self.reach > 8 => *self.draws.pick(&[8, 16, 17, 32, 33, 64]).min(&(self.reach as i64)),
            // Beyond the tiles that kernels work in.
            4 if self.reach > 20 && self.draws.chance(1, 4) => {
                *self.draws.pick(&[129, 513, 1025, 4097, 5000])
            }
            _ => self.draws.below(self.reach) as i64 + 1,
        }
    }

    /// A size that differs between runs.
    pub fn variable(&mut self, sizes: &[i64]) -> usize {
        for (run, size) in self.recipe.runs.iter_mut().zip(sizes) {
            run.push(*size);
        }
        self.recipe.runs[0].len() - 1
    }

    /// A random dimension for a source.
    pub fn draw_size(&mut self) -> Size {
        let variables = self.recipe.runs[0].len();
        let fresh: Vec<i64> = (0..self.recipe.runs.len()).map(|_| self.size()).collect();
        if self.open {
            // The numbers of a run are also those of fed elements, which may be no sizes: none is drawn twice.
            return match self.draws.below(8) {
                0 => Size::Known(self.size()),
                1 => Size::Named(self.variable(&fresh)),
                _ => Size::Unnamed(self.variable(&fresh)),
            };
        }
        match self.draws.below(10) {
            0..=3 => Size::Known(self.size()),
            4..=6 if variables > 0 => Size::Named(self.draws.below(variables)),
            7 => Size::Unnamed(self.variable(&fresh)),
            8 if variables > 0 => {
                let (scale, offset) = (1 + self.draws.below(2) as i64, self.draws.below(3) as i64);
                Size::Linear(scale, self.draws.below(variables), offset)
            }
            _ => Size::Named(self.variable(&fresh)),
        }
    }

    /// A dimension for a source that has the sizes of one that is there.
    pub fn like(&mut self, dim: &Dim) -> Option<Size> {
        if let Some(known) = dim.as_known() {
            return Some(Size::Known(known));
        }
        // Runs may be refused: then a dimension need not be a size in each of them.
        let sizes = self.sizes_of(dim).filter(|sizes| sizes.iter().all(|size| *size >= 0))?;
        if let Some(symbol) = dim.as_symbol()
            && let Some(at) = self.variables.get(&symbol)
            && symbol.name().is_some()
            && self.draws.chance(3, 4)
        {
            return Some(Size::Named(*at));
        }
        Some(match self.draws.chance(1, 2) {
            true => Size::Named(self.variable(&sizes)),
            false => Size::Unnamed(self.variable(&sizes)),
        })
    }

    /// Adds a source.
    pub fn source(&mut self, dtype: DType, sizes: Vec<Size>, content: Content, constant: bool) -> Option<Id> {
        let constant = constant && sizes.iter().all(|size| matches!(size, Size::Known(_)));
        for run in &self.recipe.runs {
            if sizes.iter().map(|size| size.of(run).max(1)).product::<i64>() > MOST_ELEMENTS {
                return None;
            }
        }
        let number = self.recipe.sources.len();
        let facts = Facts {
            whole: !matches!(content, Content::Ordinary | Content::Wild) || !dtype.is_float(),
            wild: matches!(content, Content::Wild),
            ..Facts::default()
        };
        self.recipe.sources.push(Source { dtype, sizes: sizes.clone(), content, constant, unranked: false });
        let value = self.recipe.declare(self.graph, number).expect("a source");
        for (dim, size) in value.shape().dims().unwrap_or_default().iter().zip(&sizes) {
            let at = match size {
                Size::Known(_) => continue,
                Size::Named(at) | Size::Unnamed(at) | Size::Linear(_, at, _) => *at,
            };
            dim.symbols(&mut |symbol| {
                self.symbols.insert(symbol, self.recipe.runs.iter().map(|run| run[at]).collect());
                self.variables.insert(symbol, at);
            });
        }
        Some(self.note(Origin::Source(number), value, facts))
    }

    fn note(&mut self, origin: Origin, value: Value<'g>, facts: Facts) -> Id {
        self.values.push(value);
        self.facts.push(facts);
        self.places.push(match origin {
            Origin::Source(number) => number,
            Origin::Output(number) => number | OUTPUT,
        });
        Id(self.values.len() - 1)
    }

    /// A new source with a random shape of a rank.
    pub fn draw_source(&mut self, class: Class, rank: usize) -> Option<Id> {
        if self.recipe.sources.len() >= MOST_SOURCES {
            return None;
        }
        let dtype = class.draw(&mut self.draws);
        let sizes: Vec<Size> = (0..rank).map(|_| self.draw_size()).collect();
        let content = self.content();
        let constant = self.draws.chance(1, 6);
        self.source(dtype, sizes, content, constant)
    }

    pub fn content(&mut self) -> Content {
        match self.draws.below(8) {
            0 => Content::Wild,
            1..=3 => Content::Ordinary,
            _ => Content::Whole,
        }
    }

    /// A value that suits, or a new source.
    pub fn pick(
        &mut self,
        class: Class,
        ranks: std::ops::RangeInclusive<usize>,
        suits: impl Fn(&Facts) -> bool,
    ) -> Option<Id> {
        let ok = |this: &Self, at: usize| {
            let shape = this.values[at].shape();
            class.holds(this.values[at].dtype())
                && shape.rank().is_some_and(|rank| ranks.contains(&rank))
                && suits(&this.facts[at])
        };
        let all: Vec<usize> = (0..self.values.len()).filter(|at| ok(self, *at)).collect();
        let new = all.is_empty() || self.draws.chance(1, 12);
        if new {
            let high = (*ranks.end()).min(self.max_rank).max(*ranks.start());
            let rank = self.draws.within(*ranks.start() as i64, high as i64) as usize;
            if let Some(id) = self.draw_source(class, rank) {
                return suits(&self.facts[id.0]).then_some(id);
            }
        }
        if all.is_empty() {
            return None;
        }
        // Late values make deep graphs.
        let late = if self.draws.chance(2, 3) { all.len().min(3) } else { all.len() };
        Some(Id(all[all.len() - 1 - self.draws.below(late)]))
    }

    /// A value that broadcasts with another of its dtype.
    pub fn partner(&mut self, id: Id, suits: impl Fn(&Facts) -> bool, content: Content) -> Option<Id> {
        let dims = self.dims(id);
        let dtype = self.dtype(id);
        if self.draws.chance(1, 2) {
            let fits = |this: &Self, at: usize| {
                let other = this.dims(Id(at));
                this.values[at].dtype() == dtype
                    && this.values[at].shape().rank().is_some()
                    && suits(&this.facts[at])
                    && dims.iter().rev().zip(other.iter().rev()).all(|(a, b)| a == b || *a == 1 || *b == 1)
            };
            let all: Vec<usize> = (0..self.values.len()).filter(|at| fits(self, *at)).collect();
            if !all.is_empty() {
                return Some(Id(*self.draws.pick(&all)));
            }
        }
        self.companion(id, dtype, content)
    }

    /// A new source that broadcasts with a value.
    pub fn companion(&mut self, id: Id, dtype: DType, content: Content) -> Option<Id> {
        if self.recipe.sources.len() >= MOST_SOURCES {
            return None;
        }
        let dims = self.dims(id);
        if self.draws.chance(1, 3) {
            let constant = self.draws.chance(2, 3);
            return self.source(dtype, Vec::new(), content, constant);
        }
        let rank = if self.draws.chance(1, 3) { self.draws.below(dims.len() + 1) } else { dims.len() };
        let mut sizes = Vec::new();
        for dim in &dims[dims.len() - rank..] {
            let size = if self.open && self.draws.chance(1, 3) {
                self.like_or_one(dim)?
            } else if self.draws.chance(1, 5) {
                Size::Known(1)
            } else {
                self.like(dim)?
            };
            sizes.push(size);
        }
        let constant = self.draws.chance(1, 4);
        self.source(dtype, sizes, content, constant)
    }

    /// A scalar.
    pub fn scalar(&mut self, dtype: DType, content: Content) -> Option<Id> {
        let constant = self.draws.chance(3, 4);
        self.source(dtype, Vec::new(), content, constant)
    }

    /// A new source of a value's shape.
    pub fn twin(&mut self, id: Id, dtype: DType, content: Content) -> Option<Id> {
        let dims = self.dims(id);
        let sizes: Option<Vec<Size>> = dims.iter().map(|dim| self.like(dim)).collect();
        self.source(dtype, sizes?, content, false)
    }

    /// Adds a step and gives its first output; nothing if the op refuses or the results are too large.
    pub fn add(&mut self, call: Call, data: &[Id], params: &[Id], facts: Facts) -> Option<Id> {
        let of = |ids: &[Id]| ids.iter().map(|id| self.values[id.0]).collect::<Vec<_>>();
        let outputs = match call.apply(self.graph, &of(data), &of(params)) {
            Ok(outputs) => outputs,
            Err(error) => {
                if std::env::var_os("SHAPEFLOW_REFUSED").is_some() {
                    println!("{error}");
                }
                return None;
            }
        };
        if self.open {
            self.learn(&call, data, params, &outputs)?;
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
                if count > MOST_ELEMENTS {
                    return None;
                }
            }
        }
        let operand = |ids: &[Id]| ids.iter().map(|id| self.places[id.0]).collect::<Vec<_>>();
        let (data, params) = (operand(data), operand(params));
        let first: usize = self.recipe.steps.iter().map(|step| step.outputs).sum();
        self.recipe.steps.push(Step { call, data, params, outputs: outputs.len() });
        let mut ids = Vec::new();
        for (number, output) in outputs.into_iter().enumerate() {
            ids.push(self.note(Origin::Output(first + number), output, facts));
        }
        ids.first().copied()
    }

    /// The recipe with values numbered as recipes do.
    pub fn finish(mut self, outputs: &[Id]) -> Grown {
        let sources = self.recipe.sources.len();
        let number = |at: usize| if at & OUTPUT != 0 { (at & !OUTPUT) + sources } else { at };
        for step in &mut self.recipe.steps {
            for operand in step.data.iter_mut().chain(&mut step.params) {
                *operand = number(*operand);
            }
        }
        let mut facts = vec![Facts::default(); self.values.len()];
        for (at, facts_of) in self.facts.iter().enumerate() {
            facts[number(self.places[at])] = *facts_of;
        }
        self.recipe.outputs = outputs.iter().map(|id| number(self.places[id.0])).collect();
        Grown { recipe: self.recipe, facts }
    }
}

/// Dimensions as an attribute. An unnamed one means nothing in another graph, so that a recipe has none.
pub fn attribute(dims: &[Dim]) -> Option<Attr> {
    let mut named = true;
    dims.iter().for_each(|dim| dim.symbols(&mut |symbol| named &= !symbol.is_anonymous()));
    named.then(|| Attr::from(PartialElements::vector(dims.iter().cloned())))
}

/// Marks the number of a step's output, which moves while sources are added.
pub const OUTPUT: usize = 1 << 40;
