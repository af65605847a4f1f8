//! `ragged_cumsum`: running sums within each row; a host op over row splits.

use crate::dtype;
use crate::error::Result;
use crate::graph::RaggedValue;
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::array::scan::{Blocks, Combine, Scan, scan_into};
use crate::ops::row_major::RowMajor;

use super::reduce_rows::offsets;

impl<'g> RaggedValue<'g> {
    /// Returns the running sums within each row of the last partitioned axis. An infinity or a NaN stays in its row.
    ///
    /// `[.., (r), ..] -> [.., (r), ..]`, integers (which wrap) and floats; f16 and bf16 are added as f32. Runs on the host.
    ///
    /// As TensorFlow's `tf.cumsum` of every row.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rt = g.ragged_constant(&ragged![[1, 2, 3], [], [4, 5]])?;
    /// let sums = g.compile(rt.cumsum()?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(sums.to_string(), "[[1, 3, 6], [], [4, 9]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are neither integers nor floats.
    #[track_caller]
    pub fn cumsum(self) -> Result<RaggedValue<'g>> {
        let _call = self.graph().open_call();
        let partitions = self.partitions();
        let last = partitions.last().expect("a ragged value has at least one partition");
        self.map_flat_values(|flat| flat.graph().op(&DEF).data(flat).data(last.row_splits()).finish())
    }
}

static DEF: OpDef = OpDef::host("ragged_cumsum", run)
    .operands(&[Operand::Data("values"), Operand::Data("row_splits")])
    .shape_fn(|cx| {
        let values = cx.with_rank_at_least(0, 1)?;
        cx.set_output(0, values);
        Ok(())
    })
    .dtype_rule(|dtypes, _| {
        dtype::indices(dtypes, 1)?;
        Ok(vec![dtype::common(dtypes, 0, 1, dtype::Class::Number)?])
    });

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (values, splits) = (RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?);
    let values = values.view();
    let offsets = offsets(splits.view(), values.sizes()[0])?;
    let scan = Scan {
        blocks: Blocks::Offsets(&offsets),
        inner: values.sizes()[1..].iter().product(),
        exclusive: false,
        reverse: false,
    };
    // Values after the last row stay zero.
    scan_into(scan, Combine::Sum, values.clone(), &mut cx.output(0, values.sizes())?)
}
