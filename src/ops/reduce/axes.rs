//! `Axes`: the axes of a reduction, and whether the result keeps these axes with size 1.

use std::ops::RangeFull;
use std::panic::Location;

use crate::error::Result;
use crate::graph::{IntoParam, Param, Value};
use crate::op::OpDef;

/// The axes of a reduction. Negative axes count from the end.
///
/// Reductions take any [`IntoAxes`]; only [`Axes::keep_dims`] needs this type.
#[derive(Clone, Debug)]
pub struct Axes<'g> {
    /// `None` means all axes.
    param: Option<Param<'g>>,
    keep_dims: bool,
}

impl<'g> Axes<'g> {
    /// Selects every axis, so that the result is a scalar.
    pub fn all() -> Axes<'g> {
        Axes { param: None, keep_dims: false }
    }

    /// Selects the given axes. An empty list reduces nothing.
    pub fn of(axes: impl IntoAxes<'g>) -> Axes<'g> {
        axes.into_axes()
    }

    /// Keeps the reduced axes with size 1, so that the result broadcasts against the operand.
    ///
    /// ```
    /// use shapeflow::{Axes, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[1.0, 3.0], [5.0, 9.0]])?;
    /// let means = x.reduce_mean(Axes::of(1).keep_dims())?;
    /// assert_eq!(means.shape().to_string(), "[2, 1]");
    /// let [centered] = g.compile((x - means).ok()?)?.run(&[])?;
    /// assert_eq!(centered, Tensor::from([[-1.0, 1.0], [-2.0, 2.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[doc(alias = "keepdims")]
    #[doc(alias = "keepdim")]
    #[must_use]
    pub fn keep_dims(mut self) -> Axes<'g> {
        self.keep_dims = true;
        self
    }

    /// Returns the axes of a value of this rank; `None` if only a run knows them.
    pub(crate) fn known(&self, rank: usize) -> Option<Vec<i64>> {
        match &self.param {
            None => Some((0..rank as i64).collect()),
            Some(Param::Elements(axes)) => axes.as_known(),
            Some(_) => None,
        }
    }

    /// Returns whether the reduced axes stay with size 1.
    pub(crate) fn are_kept(&self) -> bool {
        self.keep_dims
    }

    /// Returns the axes; `None` means all axes.
    pub(crate) fn into_param(self) -> Option<Param<'g>> {
        self.param
    }

    /// Adds a node that reduces `value` by `def`.
    pub(crate) fn reduce(
        self,
        value: Value<'g>,
        def: &'static OpDef,
        location: &'static Location<'static>,
    ) -> Result<Value<'g>> {
        let mut call = value.graph().op(def).data(value);
        if let Some(param) = self.param {
            // A structure parameter chooses the loop nest, so the compiler must know its elements.
            call = call.structure("axis", param);
        }
        if self.keep_dims {
            call = call.attr("keep_dims", true);
        }
        call.finish_at(location)
    }
}

/// An argument that gives the axes of a reduction: `1`, `[0, -1]`, another [`IntoParam`], such as a slice or an integer
/// value, `..` for all axes, or [`Axes`].
pub trait IntoAxes<'g> {
    #[doc(hidden)]
    fn into_axes(self) -> Axes<'g>;
}

impl<'g> IntoAxes<'g> for Axes<'g> {
    fn into_axes(self) -> Axes<'g> {
        self
    }
}

impl<'g> IntoAxes<'g> for RangeFull {
    fn into_axes(self) -> Axes<'g> {
        Axes::all()
    }
}

impl<'g, P: IntoParam<'g>> IntoAxes<'g> for P {
    fn into_axes(self) -> Axes<'g> {
        Axes { param: Some(self.into_param()), keep_dims: false }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Axes, DType, Dim, Graph};

    #[test]
    #[allow(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
    fn axes_are_given_in_every_form() {
        let graph = Graph::new();
        let x = graph.input("x", DType::F32, [2, 3, 4]).unwrap();
        let axis = graph.input("axis", DType::I32, [2]).unwrap();
        let (pair, list) = (&[0i64, -1], [0i64, 2]);
        let (last, from_end) = (2usize, vec![0, -1]);
        let dim = &Dim::known(1);
        let shapes = [
            (x.reduce_sum(1), "[2, 4]"),
            (x.reduce_sum([0, -1]), "[3]"),
            (x.reduce_sum(pair), "[3]"),
            (x.reduce_sum(&list[..]), "[3]"),
            (x.reduce_sum([0usize, last]), "[3]"),
            (x.reduce_sum([0i32, -1]), "[3]"),
            (x.reduce_sum(&from_end), "[3]"),
            (x.reduce_sum(from_end.iter().map(|axis| i64::from(*axis)).collect::<Vec<_>>()), "[3]"),
            (x.reduce_sum(last), "[2, 3]"),
            (x.reduce_sum(1i32), "[2, 4]"),
            (x.reduce_sum(dim), "[2, 4]"),
            (x.reduce_sum(&dim), "[2, 4]"),
            (x.reduce_sum([0i64; 0]), "[2, 3, 4]"),
            (x.reduce_sum(..), "[]"),
            (x.reduce_sum(axis), "[?]"),
            (x.reduce_sum(Axes::all().keep_dims()), "[1, 1, 1]"),
            (x.reduce_sum(Axes::of(-2).keep_dims()), "[2, 1, 4]"),
        ];
        for (sum, expected) in shapes {
            assert_eq!(sum.unwrap().shape().to_string(), expected);
        }
    }
}
