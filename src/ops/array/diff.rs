//! `diff`: differences of neighbours, composed of other ops.

use super::axis::known_axis;
use super::slice_with::SliceItem;
use crate::error::Result;
use crate::graph::{IntoParam, Value};

impl<'g> Value<'g> {
    /// Subtracts each element from the next element along `axis`: `out[i] = self[i + 1] - self[i]`.
    ///
    /// `[.., n, ..] -> [.., max(n - 1, 0), ..]`, numbers. A negative axis counts from the end. As numpy's and
    /// torch's `diff`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([[1, 4, 9], [2, 2, 0]])?.diff(-1)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[3, 5], [0, -2]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is unknown, the axis is out of range, or the elements are not numbers.
    #[track_caller]
    pub fn diff(self, axis: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().in_call("diff", || {
            let axis = known_axis(self, axis)?;
            let part = |range: SliceItem<'g>| {
                let mut items = vec![SliceItem::All; axis];
                items.extend([range, SliceItem::Rest]);
                self.slice_with(&items)
            };
            part(SliceItem::from(1..))?.sub(part(SliceItem::from(..-1))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use crate::graph::Graph;
    use crate::ops::testing::{check_tensor, tensor};

    #[test]
    fn rows_of_every_length() {
        let g = Graph::new();
        let x = g.input("x", DType::I32, shape!["n", "m"]).unwrap();
        let (rows, columns) = (x.diff(0).unwrap(), x.diff(-1).unwrap());
        assert_eq!(columns.shape().dims().unwrap()[0].to_string(), "n");
        let exe = g.compile([rows, columns]).unwrap();
        for [n, m] in [[0, 0], [0, 3], [1, 1], [1, 4], [3, 1], [4, 5]] {
            let data: Vec<i32> = (0..n * m).map(|k| (k * k) as i32).collect();
            let at = |i: usize, k: usize| data[i * m + k];
            let [got_rows, got_columns] = exe.run(&[tensor(&[n, m], &data).view()]).unwrap();
            let (fewer, narrower) = (n.saturating_sub(1), m.saturating_sub(1));
            let expected: Vec<i32> = (0..fewer)
                .flat_map(|i| (0..m).map(move |k| (i, k)))
                .map(|(i, k)| at(i + 1, k) - at(i, k))
                .collect();
            check_tensor(&got_rows, &tensor(&[fewer, m], &expected), "rows");
            let expected: Vec<i32> = (0..n)
                .flat_map(|i| (0..narrower).map(move |k| (i, k)))
                .map(|(i, k)| at(i, k + 1) - at(i, k))
                .collect();
            check_tensor(&got_columns, &tensor(&[n, narrower], &expected), "columns");
        }
    }

    #[test]
    fn the_axis_must_exist() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", "m"]).unwrap();
        let error = x.diff(2).unwrap_err();
        assert!(error.message().ends_with("axis must be in [-2, 2), got 2"), "{error}");
    }
}
