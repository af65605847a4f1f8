//! `repeat`: repeats each slice along an axis, composed of other ops.

use shapeflow_shape_fns::DType;

use super::axis::known_axis;
use super::own_size::own_dim;
use super::range::dim_value;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Param, Value};

impl<'g> Value<'g> {
    /// Repeats each slice along `axis`: `repeats` times, or slice `i` `repeats[i]` times.
    ///
    /// `[.., n, ..] -> [.., n * repeats, ..]`, or `[.., sum(repeats), ..]` if `repeats` is a vector of `n` integers or
    /// a value; any dtype. A negative axis counts from the end. As TensorFlow's `tf.repeat`, numpy's `repeat` and
    /// torch's `repeat_interleave`; [`Value::tile`] repeats the whole tensor. The op is composed of other ops, which
    /// fuse into kernels. If `repeats` is a vector or a value, the positions of the slices are computed on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1, 2, 3])?;
    /// let (twice, some) = (x.repeat(2, 0)?, x.repeat([0, 3, 1], 0)?);
    /// let [twice, some] = g.compile([twice, some])?.run(&[])?;
    /// assert_eq!(twice, Tensor::from([1, 1, 2, 2, 3, 3]));
    /// assert_eq!(some, Tensor::from([2, 2, 2, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, the axis is out of range, or `repeats` is negative or neither one integer nor a vector of
    /// `n` integers.
    #[doc(alias = "repeat_interleave")]
    #[track_caller]
    pub fn repeat(self, repeats: impl IntoParam<'g>, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        let graph = self.graph();
        graph.in_call("repeat", || {
            let axis = known_axis(self, axis)?;
            let size = own_dim(self, axis)?;
            let counts = match repeats.into_param() {
                Param::Elements(repeats) if repeats.rank() == 0 => {
                    let [repeats] = repeats.elements() else { unreachable!("a scalar has one element") };
                    if let Some(repeats @ ..0) = repeats.as_known() {
                        return Err(negative(repeats));
                    }
                    let all = graph.range(0i64, size * repeats.clone(), 1i64)?;
                    // If `repeats` is 0, there are no positions, and 1 prevents a division by 0.
                    let positions = match repeats.as_known() {
                        Some(repeats) => all.floordiv(repeats.max(1))?,
                        None => all.floordiv(dim_value(graph, repeats.clone().max(1)?)?)?,
                    };
                    return self.gather(positions, axis as i64);
                }
                Param::Elements(repeats) => match repeats.as_known() {
                    Some(repeats) => match repeats.iter().find(|repeats| **repeats < 0) {
                        Some(repeats) => return Err(negative(repeats)),
                        None => graph.constant(repeats)?,
                    },
                    None => graph.fill(repeats.elements(), false)?.shape_tensor_as(DType::I64)?,
                },
                Param::Value(repeats) => {
                    let is_valid = repeats.greater_equal(0)?.reduce_all(..)?;
                    repeats.checked(is_valid, "repeats must not be negative")?.cast(DType::I64)?
                }
                Param::Refused(message) => {
                    return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
                }
            };
            let counts = counts.broadcast_to([size])?;
            let all = graph.range(0i64, counts.reduce_sum(0)?, 1i64)?;
            self.gather(counts.cumsum(0)?.searchsorted(all, true)?, axis as i64)
        })
    }
}

fn negative(got: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Attribute, Phase::Build, format!("repeats must not be negative, got {got}"))
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    /// Returns the rows of `[n, 2]`, row `i` `counts[i]` times.
    fn repeated(n: usize, counts: impl Fn(usize) -> usize) -> Vec<f32> {
        (0..n).flat_map(|i| (0..counts(i)).flat_map(move |_| [2 * i, 2 * i + 1])).map(|k| k as f32).collect()
    }

    #[test]
    fn rows_repeat_by_a_number_a_dim_and_values() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 2]).unwrap();
        let (times, each) =
            (g.input("times", DType::I32, shape![]), g.input("each", DType::I64, shape!["n"]));
        let (times, each) = (times.unwrap(), each.unwrap());
        let by_number = x.repeat(3, 0).unwrap();
        assert_eq!(by_number.shape().to_string(), "[3*n, 2]");
        let by_dim = x.repeat(x.dim(0).unwrap(), -2).unwrap();
        assert_eq!(by_dim.shape().to_string(), "[n*n, 2]");
        let (by_value, by_values) = (x.repeat(times, 0).unwrap(), x.repeat(each, 0).unwrap());
        let exe = g.compile([by_number, by_dim, by_value, by_values]).unwrap();
        for n in [0, 1, 2, 5] {
            for times in [0, 1, 4] {
                let data: Vec<f32> = (0..2 * n).map(|k| k as f32).collect();
                let each: Vec<i64> = (0..n).map(|i| (i as i64 * 7 + 2) % 4).collect();
                let feeds = [tensor(&[n, 2], &data), tensor(&[], &[times as i32]), tensor(&[n], &each)];
                let views: Vec<_> = feeds.iter().map(|feed| feed.view()).collect();
                let expected = [
                    repeated(n, |_| 3),
                    repeated(n, |_| n),
                    repeated(n, |_| times),
                    repeated(n, |i| each[i] as usize),
                ];
                for (got, expected) in exe.run_all(&views).unwrap().iter().zip(expected) {
                    check_tensor(got, &tensor(&[expected.len() / 2, 2], &expected), "repeat");
                }
            }
        }
        let feeds = [tensor(&[1, 2], &[1.0f32, 2.0]), tensor(&[], &[-1i32]), tensor(&[1], &[1i64])];
        let views: Vec<_> = feeds.iter().map(|feed| feed.view()).collect();
        let error = exe.run_all(&views).unwrap_err();
        assert!(error.message().contains("repeats must not be negative"), "{error}");
    }

    #[test]
    fn the_last_axis_repeats() {
        let g = Graph::new();
        let x = g.constant([[1, 2], [3, 4]]).unwrap();
        let (twice, some, none) = (x.repeat(2, -1), x.repeat([2, 0], 1), x.repeat(0, 1));
        let [twice, some, none] =
            g.compile([twice.unwrap(), some.unwrap(), none.unwrap()]).unwrap().run(&[]).unwrap();
        check_tensor(&twice, &tensor(&[2, 4], &[1, 1, 2, 2, 3, 3, 4, 4]), "twice");
        check_tensor(&some, &tensor(&[2, 2], &[1, 1, 3, 3]), "some");
        check_tensor(&none, &tensor::<i32>(&[2, 0], &[]), "none");
    }

    #[test]
    fn wrong_counts_are_refused() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![3]).unwrap();
        for (error, expected) in [
            (x.repeat(-1, 0).unwrap_err(), "repeats must not be negative, got -1"),
            (x.repeat([1, -2, 0], 0).unwrap_err(), "repeats must not be negative, got -2"),
            (x.repeat(2, 1).unwrap_err(), "axis must be in [-1, 1), got 1"),
        ] {
            assert!(error.message().ends_with(expected), "{error}");
        }
    }
}
