//! `quantile` and `median`, composed of other ops.

use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::ops::array::axis::known_axis;
use crate::ops::array::own_size::own_dim;
use crate::ops::array::range::dim_value;
use crate::ops::reduce::Axes;
use crate::tensor::Tensor;

/// The greatest number of quantiles that an error shows.
const SHOWN: usize = 8;

impl<'g> Value<'g> {
    /// Returns the quantiles `q` of the elements along `axis`, between two elements by linear interpolation: 0 is the
    /// smallest element, 0.5 the median and 1 the largest.
    ///
    /// `[.., n, ..], q [] -> [.., ..]`, without the axis, or `q [k] -> [k, .., ..]`; f32 and f64, and `q` is a number
    /// or has a float dtype. If an element is NaN, the quantiles of its row are NaN. As numpy's and torch's
    /// `quantile`. The op is composed of other ops; the sort runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([[4.0, 1.0, 2.0], [0.0, 10.0, 30.0]])?;
    /// let (third, ends) = (x.quantile(0.75, 1)?, x.quantile(g.constant([0.0, 1.0])?, 1)?);
    /// let [third, ends] = g.compile([third, ends])?.run(&[])?;
    /// assert_eq!(third, Tensor::from([3.0, 20.0]));
    /// assert_eq!(ends, Tensor::from([[1.0, 0.0], [4.0, 30.0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, the axis is out of range, a dtype is not supported, `q` is neither a scalar nor a vector, or
    /// a constant quantile is not in [0, 1]. The run fails if there are no elements, or if a quantile is not in [0, 1].
    #[doc(alias = "percentile")]
    #[track_caller]
    pub fn quantile(self, q: impl IntoOperand<'g>, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let q = q.into_own_operand(self.graph(), location);
        self.graph().in_call_at("quantile", location, || quantiles(self, proportions(q)?, axis))
    }

    /// Returns the median of the elements along `axis`: the middle element, or the mean of the two in the middle.
    ///
    /// `[.., n, ..] -> [.., ..]`, without the axis; f32 and f64. If an element is NaN, the median of its row is NaN. As
    /// numpy's `median`; torch's `median` returns the lower of the two in the middle. The op is composed of other ops;
    /// the sort runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[4.0, 1.0, 2.0, 3.0], [0.0, 10.0, 30.0, 20.0]])?.median(-1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2.5, 15.0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, the axis is out of range, or the dtype is not supported. The run fails if there are no
    /// elements.
    #[track_caller]
    pub fn median(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().in_call("median", || quantiles(self, self.graph().constant(0.5)?, axis))
    }
}

/// Returns `q` as f64, and checks that all its elements are in [0, 1].
fn proportions(q: Value<'_>) -> Result<Value<'_>> {
    let q = q.cast(DType::F64)?;
    let is_valid = q.greater_equal(0.0)?.logical_and(q.less_equal(1.0)?)?.reduce_all(Axes::all())?;
    let message = "q must be in [0, 1], got ";
    if let (Some(valid), Some(constant)) = (is_valid.static_value(), q.static_value())
        && valid != Tensor::scalar(true)
    {
        let message = format!("{message}{}", constant.elements_text(SHOWN));
        return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
    }
    q.checked_with(is_valid, message, &[(q, "")])
}

/// Returns the quantiles `q`, f64, of `x` along an axis.
fn quantiles<'g>(x: Value<'g>, q: Value<'g>, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
    let (graph, dtype) = (x.graph(), x.dtype());
    dtype::common(&[dtype], 0, 1, Class::Float)?;
    let axis = known_axis(x, axis)?;
    let rank_of_q = match q.shape().rank() {
        Some(rank @ 0..=1) => rank as i64,
        _ => {
            let message = format!("q must be a scalar or a vector, got shape {}", q.shape());
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
    };
    let last = dim_value(graph, own_dim(x, axis)? - 1)?;
    let rest = x.shape().rank().unwrap_or_default() as i64 - 1;
    // The axis becomes the first.
    let first: Vec<i64> = [axis as i64].into_iter().chain((0..=rest).filter(|k| *k != axis as i64)).collect();
    let sorted = x.transpose(&first)?.sort(0, false)?;
    let position = q.mul(last.cast(DType::F64)?)?;
    let below = position.floor()?;
    let weight = position.sub(below)?.cast(dtype)?;
    let (below, above) = (below.cast(DType::I64)?, position.ceil()?.cast(DType::I64)?);
    let mut shape = q.shape().dims().unwrap_or_default().to_vec();
    shape.extend(vec![Dim::known(1); rest as usize]);
    let weight = weight.reshape(&shape)?;
    let (low, high) = (sorted.gather(below, 0)?, sorted.gather(above, 0)?);
    // The difference of two infinities is NaN, so an element itself is not interpolated.
    let between = weight.equal(0.0)?.select(low, low.lerp(high, weight)?)?;
    // NaN counts as the largest.
    let largest = sorted.gather(last, 0)?;
    let largest = if rank_of_q == 1 { largest.expand_dims(0)? } else { largest };
    largest.is_nan()?.select(largest, between)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    #[test]
    fn columns_of_every_length() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 2]).unwrap();
        let q = g.input("q", DType::F64, shape!["k"]).unwrap();
        let (all, middle) = (x.quantile(q, 0).unwrap(), x.median(0).unwrap());
        assert_eq!((all.shape().to_string(), middle.shape().to_string()), ("[k, 2]".into(), "[2]".into()));
        let exe = g.compile([all, middle]).unwrap();
        let at = |column: &[f32], q: f64| {
            let position = q * (column.len() - 1) as f64;
            let (low, high) = (column[position.floor() as usize], column[position.ceil() as usize]);
            low + (position.fract() as f32) * (high - low)
        };
        for n in [1, 2, 3, 8, 17] {
            let data: Vec<f32> = (0..2 * n).map(|k| ((k * 37 + 11) % 23) as f32).collect();
            let columns: [Vec<f32>; 2] = std::array::from_fn(|column| {
                let mut column: Vec<f32> = data.iter().skip(column).step_by(2).copied().collect();
                column.sort_by(f32::total_cmp);
                column
            });
            let q = [0.0, 0.3, 0.5, 0.99, 1.0];
            let [all, middle] =
                exe.run(&[tensor(&[n, 2], &data).view(), tensor(&[q.len()], &q).view()]).unwrap();
            let expected: Vec<f32> =
                q.iter().flat_map(|q| columns.each_ref().map(|column| at(column, *q))).collect();
            check_tensor(&all, &tensor(&[q.len(), 2], &expected), "quantiles");
            check_tensor(&middle, &tensor(&[2], &columns.each_ref().map(|column| at(column, 0.5))), "median");
        }
        let outside =
            [1.5, -0.1, f64::NAN].into_iter().flat_map(|q| [(1, q, "q must be in"), (3, q, "q must be in")]);
        for (n, q, expected) in outside.chain([(0, 0.5, "the axis is empty")]) {
            let data = vec![1.0f32; 2 * n];
            let error = exe.run_all(&[tensor(&[n, 2], &data).view(), tensor(&[1], &[q]).view()]).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
    }

    #[test]
    fn nan_makes_its_row_nan() {
        let g = Graph::new();
        let x = g
            .constant([[1.0, f64::NAN, 3.0], [4.0, 5.0, f64::INFINITY], [0.0, f64::INFINITY, f64::INFINITY]])
            .unwrap();
        let exe = g.compile([x.median(1).unwrap(), x.quantile(0.0f32, 1).unwrap()]).unwrap();
        let [median, least] = exe.run(&[]).unwrap();
        check_tensor(&median, &tensor(&[3], &[f64::NAN, 5.0, f64::INFINITY]), "median");
        check_tensor(&least, &tensor(&[3], &[f64::NAN, 4.0, 0.0]), "least");
    }

    #[test]
    fn wrong_operands_are_refused() {
        let g = Graph::new();
        let (x, n) = (g.constant([1.0, 2.0]).unwrap(), g.constant([1, 2]).unwrap());
        for (error, expected) in [
            (n.median(0).unwrap_err(), "got i32"),
            (x.median(1).unwrap_err(), "axis must be in [-1, 1), got 1"),
            (x.quantile(g.constant([[0.5]]).unwrap(), 0).unwrap_err(), "got shape [1, 1]"),
            (x.quantile(95.0, 0).unwrap_err(), "q must be in [0, 1], got 95"),
            (
                x.quantile(g.constant([0.5, 1.5]).unwrap(), 0).unwrap_err(),
                "q must be in [0, 1], got [0.5, 1.5]",
            ),
        ] {
            assert!(error.message().contains(expected), "{error}");
        }
    }
}
