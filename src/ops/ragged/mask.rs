//! `boolean_mask`: keeps rows or items whose flag is set.

use shapeflow_shape_fns::DType;

use super::errors::refuse;
use super::partition::splits_of_lengths;
use super::select::take;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, RaggedValue, RowPartitionValue, Value};

impl<'g> RaggedValue<'g> {
    /// Keeps the rows or items whose flag is set. The mask is dense or ragged, and has the first axes of `self`. The
    /// last axis of the mask becomes ragged, and the axes before it stay.
    ///
    /// `[n, (r), ..], mask bool[n] -> [?, (r), ..]` keeps rows, and `[n, (r), ..], mask bool[n, (r)] -> [n, (s), ..]`
    /// keeps items. Any dtype. As TensorFlow's `tf.ragged.boolean_mask`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [4], [5, 6]])?;
    /// let odd = rt.boolean_mask(rt.floormod(2)?.equal(1)?)?;
    /// let rows = rt.boolean_mask(g.constant([true, false, true])?)?;
    /// let results = g.compile(&[AnyValue::from(odd), rows.into()])?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?.to_string(), "[[1, 3], [], [5]]");
    /// assert_eq!(results.ragged_at(1)?.to_string(), "[[1, 2, 3], [5, 6]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The mask is not bool, is a scalar, has an unknown rank or more axes than `self`, or dtypes of row splits differ.
    /// The run fails if the first axes differ.
    #[track_caller]
    pub fn boolean_mask(self, mask: impl Into<AnyValue<'g>>) -> Result<RaggedValue<'g>> {
        let (graph, mask) = (self.graph(), mask.into());
        graph.in_call("boolean_mask", || {
            let flags = mask.flat_values();
            if flags.dtype() != DType::Bool {
                let message = format!("the mask must be bool, got {}", flags.dtype());
                return Err(refuse(graph, ErrorKind::DType, message));
            }
            let inner_rank = flags.shape().rank();
            let rank = inner_rank.map(|inner_rank| mask.partitions().len() + inner_rank);
            if !rank.is_some_and(|rank| (1..=super::reduce::rank_of(self).unwrap_or(0)).contains(&rank)) {
                let message = format!(
                    "the mask must have a known rank from 1 to the rank of the values, {}, got {}",
                    self.shape_text(),
                    mask_text(mask)
                );
                return Err(refuse(graph, ErrorKind::Shape, message));
            }
            masked(self.into(), mask, self.row_splits().dtype())?.ragged()
        })
    }
}

/// Returns the shape of a mask as text.
fn mask_text(mask: AnyValue<'_>) -> String {
    match mask {
        AnyValue::Dense(mask) => mask.shape().to_string(),
        AnyValue::Ragged(mask) => mask.shape_text(),
    }
}

/// Keeps the items of `x` whose flag is set. A mask of several axes keeps all axes but its last one. New row splits are
/// of `dtype`.
fn masked<'g>(x: AnyValue<'g>, mask: AnyValue<'g>, dtype: DType) -> Result<AnyValue<'g>> {
    let ragged = |value: AnyValue<'g>| match value {
        AnyValue::Dense(value) => RaggedValue::from_tensor(value, 1)?.with_row_splits_dtype(dtype),
        AnyValue::Ragged(value) => Ok(value),
    };
    if let AnyValue::Dense(flags) = mask
        && flags.shape().rank() == Some(1)
    {
        return kept(x, flags);
    }
    let [x, mask] = ragged(x)?.with_equal_rows(ragged(mask)?)?;
    let values = masked(x.values(), mask.values(), dtype)?;
    if mask.ragged_rank() > 1 || mask.flat_values().shape().rank() != Some(1) {
        return Ok(x.with_values_unchecked(values).into());
    }
    // A row has as many items as true flags.
    let counts = mask.map_flat_values(|flags| flags.cast(DType::I64))?.reduce_sum(1)?.dense()?;
    let splits = splits_of_lengths(counts.cast(dtype)?)?;
    Ok(values.split_by(RowPartitionValue::new("splits", splits, splits, None)?).into())
}

/// Keeps the positions along axis 0 whose flag is set.
fn kept<'g>(x: AnyValue<'g>, flags: Value<'g>) -> Result<AnyValue<'g>> {
    match x {
        AnyValue::Dense(x) => x.boolean_mask(flags, 0).map(AnyValue::Dense),
        AnyValue::Ragged(rows) => {
            let numbers = rows.graph().range(0i64, rows.own_nrows()?, 1i64)?;
            take(x, numbers.boolean_mask(flags, 0)?)
        }
    }
}
