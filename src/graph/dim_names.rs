//! `DimNames`: names of a graph's unknown dimensions, after the axes that they come from.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Guard, Symbol, SymbolNames, TensorShape};

use super::{Graph, GraphData, NodeIx};

/// Names of a graph's unknown dimensions, for texts that people read: `tokens.1` is axis 1 of `tokens`.
///
/// The name of a dimension has the scopes that tell it from other dimensions: `net.tokens.1`, if two inputs are `tokens`.
/// A name exists in the text only; it is no symbol that another shape could mention, and an exported graph has no names
/// of unknown dimensions.
///
/// ```
/// use shapeflow::{DType, Graph, shape};
///
/// let g = Graph::new();
/// let tokens = g.input("tokens", DType::I32, shape![?, ?])?;
/// assert_eq!(tokens.shape().to_string(), "[?, ?]");
/// assert_eq!(g.dim_names().shape(&tokens.shape()), "[tokens.0, tokens.1]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DimNames(SymbolNames);

impl DimNames {
    /// Returns the text of a dimension; `None` for an unknown dimension of another graph.
    pub fn dim(&self, dim: &Dim) -> Option<String> {
        let is_nameless = |symbol: Symbol| symbol.is_anonymous() && self.0.get(symbol).is_none();
        (!dim.as_symbol().is_some_and(is_nameless)).then(|| self.0.dim(dim))
    }

    /// Returns the text of a shape: `[n, tokens.1]`, or `[..]` for unknown rank.
    pub fn shape(&self, shape: &TensorShape) -> String {
        if shape.rank().is_none() { "[..]".to_string() } else { self.0.shape(shape) }
    }

    pub(crate) fn any_dim(&self, dim: &Dim) -> String {
        self.0.dim(dim)
    }

    pub(crate) fn guard(&self, guard: &Guard) -> String {
        self.0.guard(guard)
    }
}

impl Graph {
    /// Returns names of the unknown dimensions, for texts that people read. The text of the graph uses them.
    pub fn dim_names(&self) -> DimNames {
        self.read().dim_names()
    }
}

impl GraphData {
    /// Names the unknown dimensions.
    pub(crate) fn dim_names(&self) -> DimNames {
        let (mut seen, mut unknown, mut taken) = (FxHashSet::default(), Vec::new(), FxHashSet::default());
        let mut visit = |dim: &Dim| {
            dim.symbols(&mut |symbol| match symbol.name() {
                Some(name) => drop(taken.insert(name.to_string())),
                None if seen.insert(symbol) => unknown.push(symbol),
                None => {}
            });
        };
        for value in self.nodes.iter().flat_map(|node| node.values()) {
            let shape = self.table.resolve_shape(&self.values[value.at()].shape);
            shape.dims().unwrap_or_default().iter().for_each(&mut visit);
        }
        for record in self.table.guards() {
            record.guard.dims().into_iter().for_each(&mut visit);
        }
        let mut names = SymbolNames::default();
        let mut unnamed: Vec<(Symbol, Origin)> =
            unknown.into_iter().map(|symbol| (symbol, self.origin(symbol))).collect();
        let longest = unnamed.iter().map(|(_, origin)| origin.path.len()).max().unwrap_or(0);
        for length in 1..=longest {
            let mut count: FxHashMap<String, usize> = FxHashMap::default();
            for (_, origin) in &unnamed {
                *count.entry(origin.name(length)).or_default() += 1;
            }
            unnamed.retain(|(symbol, origin)| {
                let name = origin.name(length);
                let is_free = count[&name] == 1 && taken.insert(name.clone());
                if is_free {
                    names.insert(*symbol, name);
                }
                !is_free
            });
        }
        // By name: the last number that made the name unique.
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        for (symbol, origin) in unnamed {
            let name = origin.name(longest);
            let number = numbers.entry(name.clone()).or_default();
            let mut unique = name.clone();
            while !taken.insert(unique.clone()) {
                *number += 1;
                unique = format!("{name}_{}", *number + 1);
            }
            names.insert(symbol, unique);
        }
        DimNames(names)
    }

    /// Returns the place where the symbol comes from.
    fn origin(&self, symbol: Symbol) -> Origin {
        let maker = self.table.maker(symbol).filter(|node| (*node as usize) < self.nodes.len());
        let Some(index) = maker.map(NodeIx) else {
            return Origin { path: vec!["unknown".to_string()], axis: String::new() };
        };
        let is_accepted = |letter: char| letter.is_alphanumeric() || letter == '.';
        let clean = |part: &str| part.chars().map(|c| if is_accepted(c) { c } else { '_' }).collect();
        let path = self.node_name(index).split('/').map(clean).collect();
        let dim = Dim::from(symbol);
        let axis = self.nodes[index.at()].values().enumerate().find_map(|(number, value)| {
            let dims = self.values[value.at()].shape.dims()?;
            let axis = dims.iter().position(|other| *other == dim)?;
            Some(if number == 0 { format!(".{axis}") } else { format!(".{number}.{axis}") })
        });
        Origin { path, axis: axis.unwrap_or_default() }
    }
}

/// Where an unknown dimension comes from.
struct Origin {
    /// The scopes and the name of the node that introduced the dimension.
    path: Vec<String>,
    /// The axis of the node's output, such as `.0`; empty for a dimension that is no axis.
    axis: String,
}

impl Origin {
    /// Returns the name that consists of the last `length` parts of the path, and the axis.
    fn name(&self, length: usize) -> String {
        let first = self.path.len().saturating_sub(length);
        format!("{}{}", self.path[first..].join("."), self.axis)
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use crate::{DType, Graph, Result};

    #[test]
    fn unknowns_have_the_names_of_their_axes() -> Result<()> {
        let g = Graph::new();
        let x = g.input("net/x", DType::F32, shape![?, ?])?;
        let text = |value: crate::Value<'_>| g.dim_names().shape(&value.shape());
        assert_eq!(text(x), "[x.0, x.1]");
        assert_eq!(text(x.reshape([-1])?), "[x.0*x.1]");
        let other = g.input("other/x", DType::F32, shape![?, 3, ?])?;
        assert_eq!(text(x), "[net.x.0, x.1]");
        assert_eq!(text(other), "[other.x.0, 3, x.2]");
        // A name that the program uses stays the program's.
        let y = g.input("y", DType::F32, shape!["net.x.0", "x.1"])?;
        assert_eq!(text(x), "[net.x.0_2, net.x.1]");
        assert_eq!(text(y), "[net.x.0, x.1]");
        Ok(())
    }

    #[test]
    fn names_are_for_texts_only() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", ?])?;
        assert!(g.to_string().contains("f32[n, x.1] = input"));
        assert_eq!(x.shape().to_string(), "[n, ?]");
        // A shape that mentions the name gets a symbol of its own.
        let y = g.input("y", DType::F32, shape!["x.1"])?;
        assert_ne!(
            y.shape().dims().map(|dims| dims[0].clone()),
            x.shape().dims().map(|dims| dims[1].clone())
        );
        assert!(g.to_string().contains("f32[n, x.1_2] = input"));
        // Another graph has no name for the dimension.
        let other = Graph::new().dim_names();
        assert_eq!(x.shape().dims().and_then(|dims| other.dim(&dims[1])), None);
        assert_eq!(other.shape(&x.shape()), "[n, ?]");
        Ok(())
    }
}
