//! `stack_padded`: dense values of different lengths as one dense value.

use std::panic::Location;

use super::select::{no_values, stack_rows};
use crate::error::Result;
use crate::graph::{IntoOperand, RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Stacks dense values along a new axis 0. Values shorter than the longest one along axis 0 end with `default`, a
    /// scalar or a value that broadcasts to the inner axes. Returns the stack and the lengths.
    ///
    /// `[a, d..], [b, d..], … -> [k, max(a, b, …), d..], i64[k]`, any dtype. As torch's `pad_sequence` with
    /// `batch_first`. The rows are copied on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, Tensor};
    ///
    /// let g = Graph::new();
    /// let (x, y) = (g.constant([1, 2, 3])?, g.constant([4])?);
    /// let stacked = RaggedValue::stack_padded(&[x, y], -1)?;
    /// let [padded, lengths] = g.compile(stacked)?.run(&[])?;
    /// assert_eq!(padded, Tensor::from([[1, 2, 3], [4, -1, -1]]));
    /// assert_eq!(lengths, Tensor::from([3i64, 1]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no values, a value is a scalar or has an unknown rank, or dtypes or inner sizes differ.
    #[doc(alias = "pad_sequence")]
    #[track_caller]
    pub fn stack_padded(values: &[Value<'g>], default: impl IntoOperand<'g>) -> Result<[Value<'g>; 2]> {
        let Some(first) = values.first() else {
            return Err(no_values("stack_padded", Location::caller()));
        };
        let graph = first.graph();
        graph.in_call("stack_padded", || {
            let (rows, lengths) = stack_rows(values)?;
            Ok([rows.to_tensor_with(default, -1)?, lengths])
        })
    }
}
