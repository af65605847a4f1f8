//! `one_hot` of ragged values.

use super::errors::{known_int, refuse};
use super::select::axis_of;
use crate::error::{ErrorKind, Result};
use crate::graph::{IntoParam, RaggedValue};
use crate::ops::IntoScalar;

impl<'g> RaggedValue<'g> {
    /// Adds an inner axis of size `depth` at `axis`: `on` at the position that an element gives, `off` elsewhere. A
    /// negative `axis` counts from the end of the result.
    ///
    /// `[n, (r), ..] -> [n, (r), .., depth]` for axis -1; integers. As [`Value::one_hot`](crate::Value::one_hot) on the
    /// flat values.
    ///
    /// # Errors
    /// The axis is not after the partitioned axes; else as [`Value::one_hot`](crate::Value::one_hot).
    #[track_caller]
    pub fn one_hot(
        self,
        depth: impl IntoParam<'g>,
        on: impl IntoScalar<'g>,
        off: impl IntoScalar<'g>,
        axis: impl IntoParam<'g>,
    ) -> Result<RaggedValue<'g>> {
        self.in_call("one_hot", || {
            let axis = known_int(self.graph(), axis, "axis")?;
            let (index, partitioned) = (axis_of(self, axis, 1)?, self.ragged_rank());
            if index <= partitioned {
                let message = format!(
                    "the axis of one_hot must be at least {} for {}, got {axis}",
                    partitioned + 1,
                    self.shape_text()
                );
                return Err(
                    refuse(self.graph(), ErrorKind::Shape, message).with_help("use -1 for a new last axis")
                );
            }
            self.map_flat_values(|flat| flat.one_hot(depth, on, off, (index - partitioned) as i64))
        })
    }
}
