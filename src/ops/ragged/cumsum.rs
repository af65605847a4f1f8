//! `ragged_cumsum`: running sums within each row; a host op over row splits.

use shapeflow_shape_fns::Attribute;

use super::reduce_in_tensorflow;
use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoParam, RaggedValue};
use crate::op::{HostCx, OpDef, Operand, TfFunction};
use crate::ops::array::scan::{Scan, ScanBlocks, ScanCombine, scan_into};
use crate::ops::row_major::RowMajor;

use super::along::Along;
use super::counts::with_size_of;
use super::reduce_rows::offsets;

impl<'g> RaggedValue<'g> {
    /// Returns the running sums along `axis`: `[a, b, c]` gives `[a, a + b, a + b + c]`. A negative `axis` counts from
    /// the end. An infinity or a NaN stays in its row.
    ///
    /// `[n, (r), ..] -> [n, (r), ..]`, integers (which wrap), floats and complex numbers; f16 and bf16 are added as
    /// f32. Along an axis before the last partitioned one, an element is added to the elements at the same index in
    /// later rows that are long enough. As TensorFlow's `tf.cumsum`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [], [4, 5]])?;
    /// let results = g.compile(&[rt.cumsum(1)?, rt.cumsum(0)?].map(AnyValue::from))?.run_named(&[])?;
    /// assert_eq!(results.ragged_at(0)?, ragged![[1, 3, 6], [], [4, 9]]);
    /// assert_eq!(results.ragged_at(1)?, ragged![[1, 2, 3], [], [5, 7]]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are not numbers.
    #[track_caller]
    pub fn cumsum(self, axis: impl IntoParam<'g>) -> Result<RaggedValue<'g>> {
        self.in_call("cumsum", || self.cumsum_with(axis, false, false))
    }

    /// Adds as [`RaggedValue::cumsum`] does. With `exclusive`, a sum omits the element at its own position
    /// (`[0, a, a + b]`); with `reverse`, the sums start at the end.
    ///
    /// # Errors
    /// As [`RaggedValue::cumsum`].
    #[track_caller]
    pub fn cumsum_with(
        self,
        axis: impl IntoParam<'g>,
        exclusive: bool,
        reverse: bool,
    ) -> Result<RaggedValue<'g>> {
        self.in_call("cumsum_with", || {
            let flat = self.flat_values();
            let sums = match Along::of(self, axis)? {
                Along::Inner(axis) => flat.cumsum_with(axis, exclusive, reverse)?,
                Along::Lines(lines) => lines
                    .scan(&DEF, flat, |call| call.attr("exclusive", exclusive).attr("reverse", reverse))?,
            };
            self.with_flat_values(with_size_of(sums, flat)?)
        })
    }
}

pub(super) static DEF: OpDef = OpDef::host("ragged_cumsum", run)
    .attrs(&[Attribute::bool_or("exclusive", false), Attribute::bool_or("reverse", false)])
    .in_tensorflow(TfFunction::Composed(reduce_in_tensorflow::cumsum))
    .operands(&[Operand::Data("values"), Operand::Data("row_splits")])
    .shape_fn(|cx| {
        let values = cx.with_rank_at_least(0, 1)?;
        cx.set_output(0, values);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::check_indices(dtypes, 1)?;
        Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Numeric)?])
    });

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (values, splits) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let values = values.view();
    let offsets = offsets(splits.view(), values.sizes()[0])?;
    let scan = Scan {
        blocks: ScanBlocks::Offsets(&offsets),
        inner: values.sizes()[1..].iter().product(),
        exclusive: cx.attrs().bool("exclusive"),
        reverse: cx.attrs().bool("reverse"),
    };
    // Values after the last row stay zero.
    scan_into(scan, ScanCombine::Sum, values.clone(), &mut cx.output(0, values.sizes())?)
}
