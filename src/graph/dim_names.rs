//! `DimNames`: names of a graph's unknown dimensions, after the axes that they come from.

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{Dim, Guard, Symbol, SymbolNames, TensorShape};

use super::{Graph, GraphData, NodeIx};
use crate::error::{Result, is_library_line};
use crate::op::Body;
use crate::ragged::{FLAT_VALUES, ROW_SPLITS};

/// Names of a graph's unknown dimensions, for texts that people read: `tokens.1` is axis 1 of `tokens`.
///
/// The name of a dimension has the scopes that distinguish it from other dimensions: `net.tokens.1`, if two inputs are
/// `tokens`. A dimension of an unnamed node has the name of its op, and if several nodes have this op, the line of the
/// program that added the node: `unique.0@12`. A name exists in the text only; the name is not a symbol that another
/// shape could mention, and an exported graph has no names of unknown dimensions.
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
        self.0.shape(shape)
    }

    /// Returns the text of a dimension, also of an unknown dimension of another graph.
    pub(crate) fn dim_text(&self, dim: &Dim) -> String {
        self.0.dim(dim)
    }

    pub(crate) fn guard(&self, guard: &Guard) -> String {
        self.0.guard(guard)
    }

    /// Runs `f`. Dimensions in the texts that `f` makes have these names.
    pub(crate) fn scope<T>(&self, f: impl FnOnce() -> T) -> T {
        self.0.scope(f)
    }
}

impl Graph {
    /// Returns names of the unknown dimensions, for texts that people read. The text of the graph uses them.
    pub fn dim_names(&self) -> DimNames {
        self.read().dim_names()
    }
}

impl GraphData {
    /// Runs `f`, and if `f` fails, runs it again for an error whose texts name the unknown dimensions.
    pub(crate) fn name_errors<T>(&self, f: impl Fn() -> Result<T>) -> Result<T> {
        f().or_else(|_| self.dim_names().scope(f))
    }

    /// Names the unknown dimensions of shapes and guards, and then the unknown dimensions that an equality has
    /// replaced.
    pub(crate) fn dim_names(&self) -> DimNames {
        let mut unknown = Unknowns::default();
        let shapes = || {
            self.nodes.iter().flat_map(|node| node.values()).map(|value| &self.values[value.index()].shape)
        };
        for shape in shapes() {
            let shape = self.table.resolve_shape(shape);
            shape.dims().unwrap_or_default().iter().for_each(|dim| unknown.visit(dim));
        }
        for record in self.table.guards() {
            record.guard.dims().into_iter().for_each(|dim| unknown.visit(dim));
        }
        let mut names = SymbolNames::default();
        self.use_equal_names(&mut unknown, &mut names);
        self.name_unknowns(&mut unknown, &mut names);
        for equality in self.table.equalities() {
            unknown.visit(&Dim::from(equality.symbol));
            unknown.visit(&equality.dim);
        }
        self.name_unknowns(&mut unknown, &mut names);
        DimNames(names)
    }

    /// If an unknown dimension has replaced a symbol that the program named (with
    /// [`Value::as_dim`](crate::Value::as_dim), for example), gives it that name.
    fn use_equal_names(&self, unknown: &mut Unknowns, names: &mut SymbolNames) {
        for equality in self.table.equalities() {
            let Some(name) = equality.symbol.name() else { continue };
            let Some(symbol) = self.table.resolve(&Dim::from(equality.symbol)).as_symbol() else { continue };
            let unnamed = unknown.unnamed.iter().position(|other| *other == symbol);
            if let Some(index) = unnamed
                && unknown.taken.insert(name.to_string())
            {
                unknown.unnamed.remove(index);
                names.insert(symbol, name.to_string());
            }
        }
    }

    /// Gives every symbol of `unknown.unnamed` a name that is not taken.
    fn name_unknowns(&self, unknown: &mut Unknowns, names: &mut SymbolNames) {
        let symbols = std::mem::take(&mut unknown.unnamed);
        let makers = self.makers(&symbols);
        let origin = |symbol| (symbol, self.origin(symbol, makers.get(&symbol).copied()));
        let mut unnamed: Vec<(Symbol, UnknownOrigin)> = symbols.into_iter().map(origin).collect();
        let taken = &mut unknown.taken;
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
        // Nodes without names of their own are told apart by their lines.
        let mut count: FxHashMap<String, usize> = FxHashMap::default();
        for name in unnamed.iter().filter_map(|(_, origin)| origin.name_with_line(longest)) {
            *count.entry(name).or_default() += 1;
        }
        unnamed.retain(|(symbol, origin)| {
            let name = origin.name_with_line(longest).filter(|name| count[name] == 1);
            let name = name.filter(|name| taken.insert(name.clone()));
            name.is_none_or(|name| {
                names.insert(*symbol, name);
                false
            })
        });
        // For each name: the last number that made the name unique.
        let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
        for (symbol, origin) in unnamed {
            let name = origin.name_with_line(longest).unwrap_or_else(|| origin.name(longest));
            let number = numbers.entry(name.clone()).or_default();
            let mut unique = name.clone();
            while !taken.insert(unique.clone()) {
                *number += 1;
                unique = format!("{name}_{}", *number + 1);
            }
            names.insert(symbol, unique);
        }
    }

    /// Returns the node that made each symbol. If no node made the symbol (in a rebuilt graph), the result is the first
    /// node whose results have the symbol.
    fn makers(&self, symbols: &[Symbol]) -> FxHashMap<Symbol, NodeIx> {
        let maker = |symbol| self.table.maker(symbol).filter(|node| (*node as usize) < self.nodes.len());
        let mut makers: FxHashMap<Symbol, NodeIx> =
            symbols.iter().filter_map(|symbol| Some((*symbol, NodeIx(maker(*symbol)?)))).collect();
        if makers.len() < symbols.len() {
            for info in &self.values {
                for dim in info.shape.dims().unwrap_or_default() {
                    dim.symbols(&mut |symbol| {
                        makers.entry(symbol).or_insert(info.node);
                    });
                }
            }
        }
        makers
    }

    /// Returns the place where a symbol comes from. `maker` is the node that made the symbol.
    fn origin(&self, symbol: Symbol, maker: Option<NodeIx>) -> UnknownOrigin {
        let Some(index) = maker else {
            return UnknownOrigin { path: vec!["unknown".to_string()], axis: String::new(), line: None };
        };
        let (name, node) = (self.node_label(index), &self.nodes[index.index()]);
        let is_input = matches!(node.op.body, Body::Input);
        let has_line = node.own_name().is_none() && !is_library_line(node.location);
        let line = has_line.then(|| node.location.line());
        let dim = Dim::from(symbol);
        let axis = self.nodes[index.index()].values().enumerate().find_map(|(number, value)| {
            let dims = self.values[value.index()].shape.dims()?;
            let axis = dims.iter().position(|other| *other == dim)?;
            Some(if number == 0 { format!(".{axis}") } else { format!(".{number}.{axis}") })
        });
        let axis = axis.unwrap_or_default();
        match ragged_part(&name).filter(|_| is_input) {
            Some((ragged, part)) => {
                UnknownOrigin { path: path_of(ragged, "input"), axis: part.axis(&axis), line }
            }
            None => UnknownOrigin { path: path_of(&name, node.op.name()), axis, line },
        }
    }
}

/// Splits the name of a node at its slashes, into the parts that name its dimensions. A part of digits and dots only
/// would look like a number. Such a part joins the part before it, or `op` if it is the first part.
fn path_of(name: &str, op: &str) -> Vec<String> {
    let is_accepted = |letter: char| letter.is_alphanumeric() || letter == '.';
    let mut path: Vec<String> = Vec::new();
    for part in name.split('/') {
        let part: String = part.chars().map(|c| if is_accepted(c) { c } else { '_' }).collect();
        match part.contains(|letter: char| !letter.is_ascii_digit() && letter != '.') {
            true => path.push(part),
            false => {
                let before = path.pop().unwrap_or_else(|| op.to_string());
                path.push(format!("{before}_{part}"));
            }
        }
    }
    path
}

/// A tensor that holds a part of a ragged input.
enum RaggedPart<'a> {
    FlatValues,
    /// The row splits of the partition of this number.
    RowSplits(&'a str),
}

/// Splits the name of a tensor into the name of a ragged input and the part of this input that the tensor holds.
fn ragged_part(name: &str) -> Option<(&str, RaggedPart<'_>)> {
    if let Some(ragged) = name.strip_suffix(FLAT_VALUES) {
        return Some((ragged, RaggedPart::FlatValues));
    }
    let (ragged, number) = name.rsplit_once(ROW_SPLITS)?;
    let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then_some((ragged, RaggedPart::RowSplits(number)))
}

impl RaggedPart<'_> {
    /// Returns the last part of a dimension's name. `axis` is the axis of the tensor, such as `.0`, or empty for a
    /// dimension that is not an axis. The number of rows is not an axis of the row splits, because the row splits have
    /// one element more.
    fn axis(&self, axis: &str) -> String {
        match (self, axis) {
            (RaggedPart::FlatValues, ".0") => ".values".to_string(),
            (RaggedPart::FlatValues, axis) => format!(".values{axis}"),
            (RaggedPart::RowSplits("0"), "") => ".rows".to_string(),
            (RaggedPart::RowSplits(number), "") => format!(".rows.{number}"),
            (RaggedPart::RowSplits(number), axis) => format!(".row_splits.{number}{axis}"),
        }
    }
}

/// The unknown dimensions that were met, each once.
#[derive(Default)]
struct Unknowns {
    seen: FxHashSet<Symbol>,
    unnamed: Vec<Symbol>,
    /// Names that the program or another unknown dimension has.
    taken: FxHashSet<String>,
}

impl Unknowns {
    fn visit(&mut self, dim: &Dim) {
        dim.symbols(&mut |symbol| match symbol.name() {
            Some(name) => drop(self.taken.insert(name.to_string())),
            None if self.seen.insert(symbol) => self.unnamed.push(symbol),
            None => {}
        });
    }
}

/// Where an unknown dimension comes from.
struct UnknownOrigin {
    /// The scopes and the name of the node that introduced the dimension.
    path: Vec<String>,
    /// The axis of the node's output, such as `.0`; empty for a dimension that is not an axis.
    axis: String,
    /// The line of the program that added the node, if the node has no name of its own.
    line: Option<u32>,
}

impl UnknownOrigin {
    /// Returns the name that consists of the last `length` parts of the path, and the axis.
    fn name(&self, length: usize) -> String {
        let first = self.path.len().saturating_sub(length);
        format!("{}{}", self.path[first..].join("."), self.axis)
    }

    /// Returns the name with the line of the node: `unique.0@12` is axis 0 of the result of `unique` in line 12.
    fn name_with_line(&self, length: usize) -> Option<String> {
        Some(format!("{}@{}", self.name(length), self.line?))
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{IntoDim, Unknown, shape};

    use crate::{DType, Graph, Result, concat};

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
        // If the program uses a name, the unknown dimensions get other names.
        let y = g.input("y", DType::F32, shape!["net.x.0", "x.1"])?;
        assert_eq!(text(x), "[net.x.0_2, net.x.1]");
        assert_eq!(text(y), "[net.x.0, x.1]");
        Ok(())
    }

    #[test]
    fn a_name_is_no_number() -> Result<()> {
        let g = Graph::new();
        let n = || Unknown.into_dim();
        let odd = g.input("0", DType::F32, shape![n() + 1, ?])?;
        let nested = g.input("net/7", DType::F32, shape![n() + 1])?;
        let dotted = g.input("a/1.5", DType::F32, shape![2 * n()])?;
        let history = g.ragged_input("history", DType::I64, 2, shape![?])?;
        let names = g.dim_names();
        let text = |value: crate::Value<'_>| names.shape(&value.shape());
        assert_eq!(text(odd), "[input_0+1, input_0.1]");
        assert_eq!(text(nested), "[net_7+1]");
        assert_eq!(text(dotted), "[2*a_1.5]");
        assert_eq!(text(history.flat_values()), "[history.values, history.values.1]");
        let splits: Vec<String> = history.partitions().iter().map(|rows| text(rows.row_splits())).collect();
        assert_eq!(splits, ["[history.rows+1]", "[history.rows.1+1]"]);
        let sums = history.reduce_sum(1)?.ragged()?;
        assert!(text(sums.partition().row_splits()).starts_with("[history.rows"));
        // The names of two ragged inputs have their scopes.
        let other = g.ragged_input("user/history", DType::I64, 1, shape![])?;
        let text = |value: crate::Value<'_>| g.dim_names().shape(&value.shape());
        assert_eq!(text(other.flat_values()), "[user.history.values]");
        let exe = g.compile(other.reduce_sum(1)?)?;
        assert!(exe.inputs().iter().any(|port| exe.dim_names().shape(&port.shape) == "[history.rows+1]"));
        Ok(())
    }

    #[test]
    fn unnamed_nodes_have_their_op_and_line() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n"])?;
        let first = x.unique()?[0];
        let text = |value: crate::Value<'_>| g.dim_names().shape(&value.shape());
        assert_eq!(text(first), "[unique.0]");
        let line = line!() + 1;
        let second = (x + 1).unique()?[0];
        assert_eq!(text(second), format!("[unique.0@{line}]"));
        assert_eq!(text(first), format!("[unique.0@{}]", line - 4));
        // A loop adds several nodes in one line.
        let more = (0..2).map(|n| Ok((x + n).unique()?[0])).collect::<Result<Vec<_>>>()?;
        let line = line!() - 1;
        assert_eq!(
            [text(more[0]), text(more[1])],
            [format!("[unique.0@{line}]"), format!("[unique.0@{line}_2]")]
        );
        Ok(())
    }

    #[test]
    fn errors_use_the_names() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![?, 3])?;
        let y = g.input("net/y", DType::F32, shape![?, ?])?;
        let unused = g.input("unused", DType::F32, shape![?])?;
        let error = x.matmul(y.reshape(shape![-1, 2, 2])?).unwrap_err();
        assert!(error.message().contains("(f32[x.0, 3], f32["), "{error}");
        assert!(!error.message().contains('?'), "{error}");
        let sum = (x + y.slice([0, 0], [-1, 3])?).ok()?;
        let exe = g.compile(concat(&[sum, y], 0)?)?;
        assert_eq!(exe.dim_names().shape(&exe.inputs()[0].shape), "[x.0, 3]");
        assert_eq!(exe.dim_names().shape(&exe.inputs()[2].shape), "[?]");
        assert!(unused.shape().rank().is_some());
        let [x, y] = [[2, 3], [4, 3]].map(|sizes| crate::Tensor::zeros(DType::F32, &sizes));
        let (x, y) = (x?, y?);
        let error = exe.run_all(&[x.view(), y.view()]).unwrap_err();
        assert!(!error.to_string().contains('?') && error.to_string().contains("x.0"), "{error}");
        let error = exe.run_all(&[x.view()]).unwrap_err();
        assert!(error.message().contains("x f32[x.0, 3]"), "{error}");
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
