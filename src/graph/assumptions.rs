//! Assumptions: pairs of names of dimensions that the program states to be equal.

use std::panic::Location;

use shapeflow_shape_fns::Dim;

use super::{Graph, GraphData};
use crate::error::{Error, ErrorKind, Phase, Result};

/// The number of the first assumption: the first call of [`Graph::assume_eq`]. The origin of an equality is the number
/// of a node or of an assumption. Assumptions are numbered downwards, so their numbers differ from the numbers of
/// nodes.
const FIRST_ASSUMPTION: u32 = u32::MAX - 1;

impl Graph {
    /// States that two names of dimensions mean the same size. Every shape of the graph uses one of the names from then
    /// on, and a run checks that the sizes are equal.
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
    /// A text is not a name, the graph knows that the sizes differ, or the call stands in a branch or a loop body.
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
        let call = format!("assume_eq({a:?}, {b:?})");
        assumed.map_err(|error| error.with_op("assume_eq", call).with_phase(Phase::Build).at(location))
    }
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
}
