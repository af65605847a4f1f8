//! Assumptions: pairs of names of dimensions that the program states to be equal.

use std::panic::Location;

use rustc_hash::FxHashSet;
use shapeflow_shape_fns::{Dim, Symbol};

use super::{Graph, GraphData};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::nearest::did_you_mean_or_try;
use crate::op::Body;

/// The number of the first assumption: the first call of [`Graph::assume_eq`]. The origin of an equality is the number
/// of a node or of an assumption. Assumptions are numbered downwards, so their numbers differ from the numbers of
/// nodes.
const FIRST_ASSUMPTION: u32 = u32::MAX - 1;

impl Graph {
    /// States that two names of dimensions mean the same size. Every shape of the graph uses one of the names from then
    /// on, and a run checks that the sizes are equal. The call may come before the shapes that use the names.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::strict();
    /// let x = g.input("x", DType::F32, shape!["length"])?;
    /// let y = g.input("y", DType::F32, shape!["steps"])?;
    /// assert!((x + y).ok().is_err());
    /// g.assume_eq("length", "steps")?;
    /// assert_eq!((x + y).ok()?.shape().to_string(), "[length]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `a` or `b` is not a valid name, the graph knows that the sizes differ, or the call is in a branch or a loop
    /// body. [`Graph::compile`] fails if no shape of the graph uses one of the names.
    #[track_caller]
    pub fn assume_eq(&self, a: &str, b: &str) -> Result<()> {
        let location = Location::caller();
        let mut data = self.write();
        let assumed = if data.open_regions > 0 {
            let message =
                "the call must be made outside the branches and loop bodies: it holds in the whole graph";
            Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
        } else {
            let mark = data.table.begin();
            let assumed = data.assume_name([a, b], location);
            match &assumed {
                Ok(()) => data.table.commit(mark),
                Err(_) => data.table.rollback(mark),
            }
            assumed
        };
        let call = call_text(a, b);
        assumed.map_err(|error| error.with_op("assume_eq", call).with_phase(Phase::Build).at(location))
    }
}

/// Returns the text of a call of [`Graph::assume_eq`].
fn call_text(a: &str, b: &str) -> String {
    format!("assume_eq({a:?}, {b:?})")
}

impl GraphData {
    /// Records that the program assumes two names to be equal. An assumption that cannot hold is not recorded.
    ///
    /// # Errors
    /// As [`Graph::assume_eq`].
    pub(crate) fn assume_name(
        &mut self,
        [a, b]: [&str; 2],
        location: &'static Location<'static>,
    ) -> Result<()> {
        let origin = FIRST_ASSUMPTION - self.assumed.len() as u32;
        self.table.set_origin(origin);
        self.table.merge(&Dim::symbol(a), &Dim::symbol(b))?;
        self.assumed.push(([a.to_string(), b.to_string()], location));
        Ok(())
    }

    /// Checks that the graph mentions both names of every assumption.
    ///
    /// # Errors
    /// The graph never mentioned a name. The error has the line of the assumption.
    pub(crate) fn check_assumed_names(&self) -> Result<()> {
        if self.assumed.is_empty() {
            return Ok(());
        }
        let mut mentioned: FxHashSet<&str> =
            self.names_of_regions.iter().filter_map(|symbol| symbol.name()).collect();
        self.mentioned_names(0, 0, &mut |symbol| mentioned.extend(symbol.name()));
        for ([a, b], location) in &self.assumed {
            let Some(unknown) = [a, b].into_iter().find(|name| !mentioned.contains(name.as_str())) else {
                continue;
            };
            let others = mentioned.iter().copied().filter(|name| name != a && name != b);
            let mut others: Vec<&str> = others.collect();
            others.sort_unstable();
            let names = || others.iter().copied();
            let near = did_you_mean_or_try(unknown, names(), names());
            let message = format!("no shape of the graph has a dimension {unknown:?}{near}");
            return Err(Error::new(ErrorKind::Attribute, Phase::Compile, message)
                .with_op("assume_eq", call_text(a, b))
                .at(location));
        }
        Ok(())
    }

    /// Records the names that a region mentions. The region begins with this node and this value, and the rollback of
    /// the region removes them. The graph that the region becomes does not have all of its names, because a dimension
    /// of that graph may have an equal name of the graph around it.
    pub(super) fn keep_names_of_region(&mut self, node: usize, value: usize) {
        let mut names = std::mem::take(&mut self.names_of_regions);
        self.mentioned_names(node, value, &mut |symbol| {
            names.insert(symbol);
        });
        self.names_of_regions = names;
    }

    /// Calls `f` on every name of a dimension that the program declared, from this node and this value on: a name in an
    /// attribute or in the shape of an input. A name in another shape counts too, because a shape function may make
    /// names, unless an assumption puts the name in the place of a declared one.
    fn mentioned_names(&self, node: usize, value: usize, f: &mut impl FnMut(Symbol)) {
        let assumed = self.table.equalities().iter();
        let assumed = assumed.filter(|equality| self.assumption_at(equality.origin).is_some());
        let replacing: FxHashSet<Symbol> = assumed.filter_map(|equality| equality.dim.as_symbol()).collect();
        self.nodes[node..].iter().for_each(|node| {
            node.attrs().symbols(&mut |symbol| {
                if !symbol.is_anonymous() {
                    f(symbol);
                }
            });
        });
        for value in self.values[value..].iter().filter(|value| !value.is_closed()) {
            let is_input = matches!(self.nodes[value.node.index()].op.body, Body::Input);
            for dim in value.shape.dims().unwrap_or_default() {
                dim.symbols(&mut |symbol| {
                    if !symbol.is_anonymous() && (is_input || !replacing.contains(&symbol)) {
                        f(symbol);
                    }
                });
            }
        }
    }

    /// Returns the line of the assumption that is the origin of an equality; `None` if the origin is a node.
    pub(super) fn assumption_at(&self, origin: u32) -> Option<&'static Location<'static>> {
        let number = FIRST_ASSUMPTION.checked_sub(origin)? as usize;
        self.assumed.get(number).map(|(_, location)| *location)
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use super::*;
    use crate::ops::SliceItem;

    #[test]
    fn an_assumption_that_cannot_hold_is_refused() -> Result<()> {
        let g = Graph::strict();
        let error = g.assume_eq("n", "two words").unwrap_err();
        assert!(error.message().contains("\"two words\""), "{error}");
        let a = g.input("a", DType::F32, shape!["n", "k", "m"])?;
        let _ = a.slice_with(&[SliceItem::at(0)])?.ensure_shape([3, 4])?;
        let error = g.assume_eq("k", "m").unwrap_err();
        assert!(error.message().contains("3") && error.message().contains("4"), "{error}");
        assert!(g.read().assumed.is_empty());
        // An assumption may be made again, in either order.
        g.assume_eq("k", "n")?;
        g.assume_eq("n", "k")?;
        Ok(())
    }

    #[test]
    fn a_name_that_no_shape_has_is_refused_when_the_graph_is_compiled() -> Result<()> {
        let g = Graph::new();
        // An assumption may come before the inputs.
        g.assume_eq("emb", "factors")?;
        let line = line!() + 1;
        g.assume_eq("emb", "factor_s")?;
        let users = g.input("users", DType::F32, shape!["users", "emb"])?;
        let items = g.input("items", DType::F32, shape!["items", "factors"])?;
        let scores = users.matmul(items.transpose([1, 0])?)?;
        let error = g.compile(scores).map(drop).unwrap_err();
        let problem = "no shape of the graph has a dimension \"factor_s\"; is it factors?";
        assert_eq!(error.message(), format!("assume_eq(\"emb\", \"factor_s\"): {problem}"));
        assert_eq!(error.location().map(|location| location.line()), Some(line));

        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["users", "emb"])?;
        g.assume_eq("emb", "emb3")?;
        let error = g.compile(x.relu()?).map(drop).unwrap_err();
        assert!(
            error.message().ends_with("no shape of the graph has a dimension \"emb3\"; try users"),
            "{error}"
        );
        Ok(())
    }

    #[test]
    fn a_name_that_replaces_another_one_counts_only_if_it_is_declared() -> Result<()> {
        for (a, b) in [("width_a", "width_b"), ("width_b", "width_a")] {
            let g = Graph::new();
            g.assume_eq(a, b)?;
            let y = g.input("x", DType::F32, shape![a, 2])?.relu()?;
            let error = g.compile(y).map(drop).unwrap_err();
            assert!(error.message().contains(&format!("a dimension {b:?}")), "{error}");
            let z = g.input("z", DType::F32, shape![b])?;
            let _ = g.compile([y, z.relu()?])?;
        }
        Ok(())
    }

    #[test]
    fn a_name_counts_wherever_the_program_declares_it() -> Result<()> {
        // Each assumption replaces a name before or after the shape that has it, so that no shape has both names.
        for before in [true, false] {
            let g = Graph::new();
            let x = g.input("x", DType::F32, shape!["n", ?])?;
            let is_positive = x.reduce_sum([0, 1])?.greater(0.0)?;
            if before {
                g.assume_eq("n", "rows")?;
                g.assume_eq("inner", "n")?;
            }
            let rows = x.ensure_shape(shape!["rows", ?])?;
            let inner = g.cond(is_positive, || x.ensure_shape(shape!["inner", ?]), || x.relu())?;
            if !before {
                g.assume_eq("n", "rows")?;
                g.assume_eq("inner", "n")?;
            }
            let y = (rows + inner[0]).ok()?;
            let _ = g.compile(y)?;
            // A name that only a node without use mentions is a name of the graph too.
            let _ = g.compile(x.relu()?)?;
        }
        Ok(())
    }
}
