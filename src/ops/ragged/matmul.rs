//! Products of ragged matrices.

use super::partition::refuse;
use crate::error::{ErrorKind, Result};
use crate::graph::{RaggedValue, Value};

impl<'g> RaggedValue<'g> {
    /// Multiplies the rows of the innermost matrices by a dense matrix: `[.., (r), k], [k, m] -> [.., (r), m]`.
    ///
    /// As [`Value::matmul`] on the flat values.
    ///
    /// # Errors
    /// The flat values are not a matrix; else as [`Value::matmul`].
    #[track_caller]
    pub fn matmul(self, dense: Value<'g>) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        if self.flat_values().shape().rank() != Some(2) {
            let message =
                format!("the flat values of a product must be a matrix, got {}", self.flat_values().shape());
            return Err(refuse(self.graph(), ErrorKind::Shape, message).with_help("use a uniform inner axis"));
        }
        self.map_flat_values(|flat| flat.matmul(dense))
    }
}
