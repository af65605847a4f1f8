//! [`NameTie`]: two names of dimensions that a call ties together, and graphs that refuse such calls.

use std::fmt;
use std::panic::Location;

use shapeflow_shape_fns::{Dim, Guard, Symbol};

use super::{DimNames, Graph, GraphData, NodeIx, ValueIx};
use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};

/// Two names of dimensions that a call ties together: see [`Graph::merges`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct NameTie {
    /// The two names; the second may be an expression of names, such as `2*m`. An unknown dimension that the program
    /// left unnamed appears under the name that [`Graph::dim_names`] gives it.
    pub names: [String; 2],
    /// Whether the call broadcasts the dimensions, so that one of them may also be 1. Otherwise they are equal.
    pub broadcast: bool,
    /// A product of sizes. If it is 0, the dimensions may differ: a reshape of `[n, a]` to `[n, b]` makes `a` and `b`
    /// equal unless `n` is 0.
    pub unless_zero: Option<String>,
    /// The name of the call.
    pub call: String,
    /// The line of the call.
    pub location: &'static Location<'static>,
}

impl NameTie {
    /// Returns `merge n == m`, or `broadcast n with m`.
    pub(super) fn text(&self) -> String {
        let [a, b] = &self.names;
        let exception = self.exception();
        match self.broadcast {
            true => format!("broadcast {a} with {b}"),
            false => format!("merge {a} == {b}{exception}"),
        }
    }

    /// Returns whether this tie says all that `other` says: the names and the relation are the same, and this tie has
    /// no exception or the same one.
    fn covers(&self, other: &NameTie) -> bool {
        let is_as_strict = self.unless_zero.is_none() || self.unless_zero == other.unless_zero;
        is_as_strict && self.names == other.names && self.broadcast == other.broadcast
    }

    /// Returns ` or n == 0` if the dimensions may differ where `n` is 0.
    fn exception(&self) -> String {
        self.unless_zero.as_ref().map(|product| format!(" or {product} == 0")).unwrap_or_default()
    }

    /// Returns the name and the line of the call.
    pub(super) fn origin(&self) -> String {
        origin_text(&self.call, self.location)
    }
}

/// Returns the name and the line of a call; the name alone for a node that was imported from a file.
pub(super) fn origin_text(call: &str, location: &Location<'_>) -> String {
    match is_library_line(location) {
        true => call.to_string(),
        false => format!("{call}, {location}"),
    }
}

/// `users == emb since matmul at src/main.rs:7:15`.
impl fmt::Display for NameTie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = &self.names;
        let relation = relation(self.broadcast);
        let exception = self.exception();
        write!(f, "{a} {relation} {b}{exception} since {} at {}", self.call, self.location)
    }
}

/// Returns the relation of two names that a call ties together.
fn relation(broadcast: bool) -> &'static str {
    if broadcast { "broadcasts with" } else { "==" }
}

/// How many equalities, broadcasts and guards a graph has recorded.
#[derive(Clone, Copy, Default)]
pub(super) struct TieCount {
    equalities: usize,
    broadcasts: usize,
    guards: usize,
}

/// A tie of two names, as the table of dimensions records it.
struct TiedNames {
    /// Two names, or a name and an expression of names.
    names: [Dim; 2],
    broadcast: bool,
    unless_zero: Option<Dim>,
    /// The origin: the node or the assumption that tied the names.
    origin: u32,
}

impl Graph {
    /// Makes a graph that refuses a call which ties two names of dimensions, unless [`Graph::assume_eq`] states that
    /// they are equal.
    ///
    /// [`Graph::new`] makes a graph that accepts such calls, because two names of one size are usual: a residual sum
    /// ties the `length` of one input to the `steps` of another. A run checks in any case that the sizes agree. Use a
    /// strict graph where every name means a different thing, to find a forgotten transposition at build time. See
    /// also [`Graph::merges`].
    ///
    /// Only names that the program gave count. A strict graph accepts a call that ties an unknown dimension without a
    /// name (`?`, or the number of values of a ragged input), because the program has not said what it means, and could
    /// not assume the equality. Name the dimension, for example with
    /// [`Value::ensure_shape`](crate::Value::ensure_shape), to have its ties refused.
    ///
    /// A strict graph accepts a call that makes a name equal to a number: a product with a constant matrix of 784 rows
    /// fixes `features` to 784, and this is usual too. It also accepts an equation with an expression, such as
    /// `n == 2*m`, which [`Graph::merges`] lists. It refuses a call that broadcasts a name with a number if the operand
    /// with the name has fewer axes: `[n, 3] - [n]` lacks an axis of size 1. [`Graph::guards`] lists the conditions
    /// that remain for a run, such as `places in {1, 2}`.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph};
    ///
    /// let g = Graph::strict();
    /// let users = g.input("users", DType::F32, shape!["users", "emb"])?;
    /// let items = g.input("items", DType::F32, shape!["items", "factors"])?;
    /// assert!(users.matmul(items).is_err()); // emb and items differ
    /// g.assume_eq("emb", "factors")?;
    /// let scores = users.matmul(items.transpose([1, 0])?)?;
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[track_caller]
    pub fn strict() -> Graph {
        let graph = Graph::new();
        graph.write().strict = true;
        graph
    }

    /// Returns the names of dimensions that calls have tied together: two names that are equal, or that broadcast with
    /// each other; also a name and an expression of names that are equal, such as `n == 2*m`. Calls inside branches and
    /// loops count too. An equation of one name, such as `n == 784`, is not a tie. The text of the graph lists the ties
    /// too. [`Graph::strict`] makes a graph that refuses ties of two names.
    ///
    /// A dimension that the program left unnamed is listed if it broadcasts with another one, under the name that
    /// [`Graph::dim_names`] gives it: a run checks such a broadcast, and nothing else would show it.
    ///
    /// ```
    /// use shapeflow::{shape, DType, Graph};
    ///
    /// let g = Graph::new();
    /// let users = g.input("users", DType::F32, shape!["users", "emb"])?;
    /// let items = g.input("items", DType::F32, shape!["items", "emb"])?;
    /// let scores = users.matmul(items)?; // a transposition is missing
    /// assert_eq!(g.merges()[0].names, ["items", "emb"]);
    /// assert_eq!(g.merges()[0].call, "matmul");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn merges(&self) -> Vec<NameTie> {
        let mut ties: Vec<NameTie> = Vec::new();
        self.read().for_each_graph(&mut |data| {
            for tie in data.name_ties(&data.dim_names()) {
                if !ties.iter().any(|other| other.covers(&tie)) {
                    ties.push(tie);
                }
            }
        });
        ties
    }
}

impl GraphData {
    /// Returns how many equalities, broadcasts and guards the graph has recorded.
    pub(super) fn tie_count(&self) -> TieCount {
        TieCount {
            equalities: self.table.equalities().len(),
            broadcasts: self.table.broadcasts().len(),
            guards: self.table.guards().len(),
        }
    }

    /// Returns the ties of names. It leaves out a tie that an earlier one covers.
    pub(super) fn name_ties(&self, dim_names: &DimNames) -> Vec<NameTie> {
        let mut ties: Vec<NameTie> = Vec::new();
        for TiedNames { names, broadcast, unless_zero, origin } in self.tied_names(TieCount::default()) {
            if self.assumption_at(origin).is_none() {
                let (call, location) = self.call_at(origin);
                let names = names.map(|name| dim_names.dim_text(&name));
                let unless_zero = unless_zero.map(|product| dim_names.dim_text(&product));
                let tie = NameTie { names, broadcast, unless_zero, call, location };
                if !ties.iter().any(|other| other.covers(&tie)) {
                    ties.push(tie);
                }
            }
        }
        ties
    }

    /// Returns the ties of names that a run checks, as text, with the nodes that tied the names: equalities and
    /// broadcasts. A tie with an exception is among the guards instead.
    pub(crate) fn checked_ties(&self, names: &DimNames) -> Vec<(String, NodeIx)> {
        let ties = self.equalities_of_names(0).chain(self.broadcasts(0));
        let made = ties.filter(|tie| (tie.origin as usize) < self.nodes.len());
        let mut checked: Vec<(String, NodeIx)> = Vec::new();
        for TiedNames { names: [a, b], broadcast, origin, .. } in made {
            let [a, b] = [a, b].map(|dim| names.dim_text(&dim));
            let text = format!("{a} {} {b}", relation(broadcast));
            if !checked.iter().any(|(known, _)| *known == text) {
                checked.push((text, NodeIx(origin)));
            }
        }
        checked
    }

    /// Returns the broadcasts after the first `skipped` ones. A dimension that the program left unnamed counts too,
    /// unless a later call has fixed it, or made it equal to the other dimension.
    fn broadcasts(&self, skipped: usize) -> impl Iterator<Item = TiedNames> {
        self.table.broadcasts()[skipped..].iter().filter_map(|broadcast| {
            let is_anonymous = |symbol: Symbol| symbol.is_anonymous();
            let names = broadcast.symbols.map(|symbol| match is_anonymous(symbol) {
                true => self.table.resolve(&Dim::from(symbol)),
                false => Dim::from(symbol),
            });
            let is_decided = names[0] == names[1] || names.iter().any(Dim::is_known);
            let is_tie = !broadcast.symbols.into_iter().any(is_anonymous) || !is_decided;
            is_tie.then_some(TiedNames {
                names,
                broadcast: true,
                unless_zero: None,
                origin: broadcast.origin,
            })
        })
    }

    /// Returns the equalities of names after the first `skipped` equalities.
    fn equalities_of_names(&self, skipped: usize) -> impl Iterator<Item = TiedNames> {
        let equalities = self.table.equalities()[skipped..].iter();
        equalities.filter_map(|equality| {
            let names = [Dim::from(equality.symbol), equality.dim.clone()];
            let tied = names.iter().all(has_names_only);
            tied.then_some(TiedNames { names, broadcast: false, unless_zero: None, origin: equality.origin })
        })
    }

    fn tied_names(&self, known: TieCount) -> Vec<TiedNames> {
        let broadcasts = self.broadcasts(known.broadcasts);
        let guards = self.table.guards()[known.guards..].iter().filter_map(|record| {
            let (names, unless_zero) = record.guard.equal_symbols()?;
            let names = names.map(Dim::from);
            let tied = names.iter().all(has_names_only);
            tied.then_some(TiedNames { names, broadcast: false, unless_zero, origin: record.origin })
        });
        self.equalities_of_names(known.equalities).chain(broadcasts).chain(guards).collect()
    }

    /// Refuses a tie of two names that was recorded after `known`, by the call with these operands.
    ///
    /// # Errors
    /// There is such a tie.
    pub(super) fn refuse_ties(&self, known: TieCount, operands: &[ValueIx]) -> Result<()> {
        let is_name = |dim: &Dim| dim.as_symbol().is_some_and(|symbol| !symbol.is_anonymous());
        let is_plain = |tie: &TiedNames| tie.names.iter().all(is_name);
        let Some(tie) = self.tied_names(known).into_iter().find(is_plain) else {
            return self.refuse_broadcast_with_number(known, operands);
        };
        let TiedNames { names: [a, b], broadcast, .. } = tie;
        let relation = if broadcast { "broadcasts them with each other" } else { "makes them equal" };
        let message =
            format!("dimensions {a} and {b} have different names in a strict graph, but the call {relation}");
        let assume = format!("state it before the call: graph.assume_eq(\"{a}\", \"{b}\")?");
        let help = match self.operand_of_lower_rank(operands).filter(|_| broadcast) {
            Some(operand) => {
                format!("{}; if the names mean the same size, {assume}", axis_of_size_1(operand))
            }
            None => format!("if they mean the same size, {assume}"),
        };
        Err(Error::new(ErrorKind::Shape, Phase::Build, message).with_help(help))
    }

    /// Refuses a broadcast with a number of a name in the operand with fewer axes, which was recorded after `known`.
    ///
    /// # Errors
    /// There is such a broadcast.
    fn refuse_broadcast_with_number(&self, known: TieCount, operands: &[ValueIx]) -> Result<()> {
        let Some(operand) = self.operand_of_lower_rank(operands) else { return Ok(()) };
        let dims = self.values[operands[operand].index()].shape.dims().unwrap_or_default();
        let mut guards = self.table.guards()[known.guards..].iter();
        let found = guards.find_map(|record| match &record.guard {
            Guard::OneOrEqual(name, number) if number.is_known() && dims.contains(name) => {
                Some((name, number))
            }
            _ => None,
        });
        let Some((name, number)) = found.filter(|(name, _)| has_names_only(name)) else { return Ok(()) };
        let message = format!(
            "dimension {name} of operand {operand}, which has fewer axes, must not broadcast with {number} in a strict \
             graph"
        );
        let help = format!(
            "{}; if {name} is {number}, state it before the call with .ensure_shape(..)",
            axis_of_size_1(operand)
        );
        Err(Error::new(ErrorKind::Shape, Phase::Build, message).with_help(help))
    }

    /// Returns which of two operands has the lower rank, unless that operand is a scalar.
    fn operand_of_lower_rank(&self, operands: &[ValueIx]) -> Option<usize> {
        let &[a, b] = operands else { return None };
        let [a, b] = [a, b].map(|operand| self.values[operand.index()].shape.rank());
        let (a, b) = (a?, b?);
        (a != b && a.min(b) > 0).then_some(usize::from(b < a))
    }
}

/// Returns the advice about an operand that has fewer axes than the other.
fn axis_of_size_1(operand: usize) -> String {
    format!(
        "operand {operand} has fewer axes: add an axis of size 1 with .expand_dims(..), or keep a reduced axis with \
         Axes::of(..).keep_dims()"
    )
}

/// Returns whether a dimension is a name, or an expression of names without anonymous unknowns.
fn has_names_only(dim: &Dim) -> bool {
    let (mut named, mut anonymous) = (false, false);
    dim.symbols(&mut |symbol| if symbol.is_anonymous() { anonymous = true } else { named = true });
    named && !anonymous
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use super::*;
    use crate::ops::concat;
    use crate::tensor::Tensor;

    #[test]
    fn ties_of_names_are_listed_with_their_calls() -> Result<()> {
        let g = Graph::new();
        let users = g.input("users", DType::F32, shape!["users", "emb"])?;
        let items = g.input("items", DType::F32, shape!["items", "emb"])?;
        assert!(g.merges().is_empty());
        let _ = users.matmul(items.transpose([1, 0])?)?;
        assert!(g.merges().is_empty());
        let _ = users.matmul(items)?;
        let _ = (users - users.reduce_mean(1)?).ok()?;
        let ties: Vec<(String, String)> =
            g.merges().iter().map(|tie| (tie.text(), tie.call.clone())).collect();
        let expected = [("merge items == emb", "matmul"), ("broadcast emb with users", "sub")];
        assert_eq!(ties, expected.map(|(text, call)| (text.to_string(), call.to_string())));
        let text = g.to_string();
        assert!(
            text.contains("  merge items == emb  ") && text.contains("  broadcast emb with users "),
            "{text}"
        );
        let first = &g.merges()[0];
        assert_eq!(first.location.file(), file!());
        assert!(first.to_string().starts_with("items == emb since matmul at "));
        Ok(())
    }

    #[test]
    fn an_equation_of_a_name_and_an_expression_is_a_tie() -> Result<()> {
        for g in [Graph::new(), Graph::strict()] {
            let a = g.input("a", DType::F32, shape!["n", 4])?;
            let b = g.input("b", DType::F32, shape!["m", 2, 3])?;
            let both = concat(&[a, b.reshape([-1, 3])?], 1)?;
            assert_eq!(both.shape().to_string(), "[2*m, 7]");
            let [tie] = &g.merges()[..] else { panic!("{:?}", g.merges()) };
            assert_eq!((tie.names.join(" == "), tie.call.as_str()), ("n == 2*m".to_string(), "concat"));
            assert!(g.to_string().contains("  merge n == 2*m  "), "{g}");
            assert_eq!(g.guards_by_node()[0].0, "n == 2*m");
            // A number is no name.
            let _ = g.input("c", DType::F32, shape!["k"])?.ensure_shape([12])?;
            assert_eq!(g.merges().len(), 1);
        }
        Ok(())
    }

    #[test]
    fn branches_and_loops_of_a_strict_graph_are_strict() -> Result<()> {
        let g = Graph::strict();
        let a = g.input("a", DType::F32, shape!["n"])?;
        let b = g.input("b", DType::F32, shape!["m"])?;
        let flag = g.input("flag", DType::Bool, shape![])?;
        let text = g.to_string();
        let branch = g.cond(flag, || a.add(b), || Ok(a)).unwrap_err();
        let body = g.while_loop(&[a], |_| Ok(flag), |state| Ok([state[0].add(b)?])).unwrap_err();
        for error in [branch, body] {
            assert!(error.message().contains("different names in a strict graph"), "{error}");
        }
        assert!(g.merges().is_empty());
        assert_eq!(g.to_string(), text);
        g.assume_eq("n", "m")?;
        let sum = g.cond(flag, || a.add(b), || Ok(a))?;
        let [x, yes] = [Tensor::from([1.0f32, 2.0]), Tensor::from(true)];
        let [sum] = g.compile(sum)?.run(&[x.view(), x.view(), yes.view()])?;
        assert_eq!(sum, Tensor::from([2.0f32, 4.0]));
        Ok(())
    }

    #[test]
    fn a_strict_graph_refuses_ties_that_are_not_assumed() -> Result<()> {
        let g = Graph::strict();
        let a = g.input("a", DType::F32, shape!["n"])?;
        let b = g.input("b", DType::F32, shape!["m"])?;
        let error = (a + b).ok().unwrap_err();
        assert_eq!(
            error.message(),
            "add(f32[n], f32[m]): dimensions n and m have different names in a strict graph, but the call broadcasts \
             them with each other"
        );
        assert!(error.help().is_some_and(|help| help.contains("assume_eq(\"n\", \"m\")")), "{error}");
        assert!(concat(&[a.expand_dims(0)?, b.expand_dims(0)?], 0).is_err());
        assert!(g.merges().is_empty() && !g.to_string().contains("merge"));
        g.assume_eq("n", "m")?;
        let sum = (a + b).ok()?;
        assert_eq!(g.same_dim(&Dim::symbol("n"), &Dim::symbol("m")), Some(true));
        assert!(g.merges().is_empty());
        // A run checks the assumption, even where a size of 1 would broadcast.
        let exe = g.compile(sum)?;
        let [one, two] = [Tensor::from([1.0f32]), Tensor::from([1.0f32, 2.0])];
        assert_eq!(exe.run::<1>(&[two.view(), two.view()])?[0], Tensor::from([2.0f32, 4.0]));
        let error = exe.run_all(&[two.view(), one.view()]).unwrap_err();
        assert!(error.message().contains("axis 0"), "{error}");
        assert!(error.to_string().contains("since assume_eq"), "{error}");
        Ok(())
    }

    #[test]
    fn a_strict_graph_refuses_a_name_of_fewer_axes_beside_a_number() -> Result<()> {
        let g = Graph::strict();
        let x = g.input("x", DType::F32, shape!["n", 3])?;
        let mean = x.reduce_mean(1)?;
        let error = (x - mean).ok().unwrap_err();
        assert_eq!(
            error.message(),
            "sub(f32[n, 3], f32[n]): dimension n of operand 1, which has fewer axes, must not broadcast with 3 in a \
             strict graph"
        );
        assert!(error.help().is_some_and(|help| help.contains(".expand_dims(..)")), "{error}");
        assert!(g.guards().is_empty());
        assert_eq!((x - mean.expand_dims(1)?).ok()?.shape().to_string(), "[n, 3]");
        let _ = (x - mean.ensure_shape([3])?).ok()?;
        // A bias of a known length beside named features is usual.
        let features = g.input("y", DType::F32, shape!["m", "features"])?;
        let _ = (features + g.constant([0.0f32; 10])?).ok()?;
        // A graph that is not strict lists the condition.
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 3])?;
        let _ = (x - x.reduce_mean(1)?).ok()?;
        assert_eq!(g.guards()[0].condition, "n in {1, 3}");
        Ok(())
    }

    #[test]
    fn a_broadcast_of_unknown_dimensions_is_listed_under_their_names() -> Result<()> {
        for g in [Graph::new(), Graph::strict()] {
            let keys = g.ragged_input("keys", DType::F32, 1, shape![])?.flat_values();
            let x = g.input("x", DType::F32, shape![?])?;
            let sum = (keys + x).ok()?;
            let [tie] = &g.merges()[..] else { panic!("{:?}", g.merges()) };
            assert_eq!(
                (tie.text(), tie.call.as_str()),
                ("broadcast keys.values with x.0".to_string(), "add")
            );
            assert!(g.to_string().contains("  broadcast keys.values with x.0  "), "{g}");
            assert_eq!(
                g.guards_by_node(),
                [("keys.values broadcasts with x.0".to_string(), Some("add_4".to_string()))]
            );
            // An unknown dimension that turns out to be the other one is no tie any more.
            let _ = concat(&[keys.expand_dims(0)?, x.expand_dims(0)?], 0)?;
            assert!(g.merges().is_empty(), "{:?}", g.merges());
            let _ = sum;
        }
        Ok(())
    }

    #[test]
    fn calls_inside_a_branch_tie_names() -> Result<()> {
        let g = Graph::new();
        let [a, b] = ["a", "b"].map(|name| g.input(name, DType::F32, shape![name]));
        let (a, b, flag) = (a?, b?, g.input("flag", DType::Bool, shape![])?);
        let _ = g.cond(flag, || g.cond(flag, || a.add(b), || Ok(a)), || Ok(a))?;
        let [tie] = &g.merges()[..] else { panic!("{:?}", g.merges()) };
        assert_eq!(
            (tie.names.join(" "), tie.broadcast, tie.call.as_str()),
            ("a b".to_string(), true, "then/then/add")
        );
        let _ = g.cond(flag, || a.reshape([-1, 3]), || a.reshape([1, -1]))?;
        assert_eq!(g.guards().len(), 1, "{:?}", g.guards());
        assert_eq!(g.guards()[0].condition, "3 divides a");
        Ok(())
    }

    #[test]
    fn a_reshape_to_another_name_ties_the_names() -> Result<()> {
        let g = Graph::new();
        let sound = g.input("sound", DType::F32, shape!["clips", "samples"])?;
        let _ = sound.reshape(shape!["clips", "sample"])?;
        let [tie] = &g.merges()[..] else { panic!("{:?}", g.merges()) };
        assert_eq!((tie.call.as_str(), tie.unless_zero.as_deref()), ("reshape", Some("clips")));
        assert!(tie.to_string().starts_with("samples == sample or clips == 0 since reshape at "), "{tie}");
        let guards = g.guards();
        assert_eq!(guards[0].condition, "samples == sample or clips == 0");
        assert_eq!((guards[0].call.as_str(), guards[0].location.file()), ("reshape", file!()));

        let g = Graph::strict();
        let sound = g.input("sound", DType::F32, shape!["clips", "samples"])?;
        let error = sound.reshape(shape!["clips", "sample"]).unwrap_err();
        assert!(error.message().contains("dimensions samples and sample have different names"), "{error}");
        assert!(g.merges().is_empty() && g.guards().is_empty());
        g.assume_eq("samples", "sample")?;
        let _ = sound.reshape(shape!["clips", "sample"])?;
        assert!(g.merges().is_empty() && g.guards().is_empty());
        Ok(())
    }

    #[test]
    fn each_exception_of_a_tie_is_listed() -> Result<()> {
        let g = Graph::new();
        let texts = || g.merges().iter().map(NameTie::text).collect::<Vec<_>>();
        for (number, outer) in ["n", "m", "n"].into_iter().enumerate() {
            let x = g.input(&format!("x{number}"), DType::F32, shape![outer, "a"])?;
            let _ = x.reshape(shape![outer, "b"])?;
        }
        assert_eq!(texts(), ["merge a == b or n == 0", "merge a == b or m == 0"]);
        Ok(())
    }
}
