//! `ragged_cumsum`: running sums within each row; a host op over row splits.

use std::ops::Add;

use shapeflow_shape_fns::DType;

use crate::dtype;
use crate::error::Result;
use crate::graph::RaggedValue;
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::tensor::{Element, Tensor, TensorView, TensorViewMut};

use super::reduce_rows::offsets;

impl<'g> RaggedValue<'g> {
    /// Returns the running sums within each row of the last partitioned axis. An infinity or a NaN stays in its row.
    ///
    /// `[.., (r), ..] -> [.., (r), ..]`, integers (which wrap) and floats; f16 and bf16 are added as f32. Runs on the host.
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
    if matches!(values.dtype(), DType::F16 | DType::BF16) {
        let mut sums = Tensor::zeros(DType::F32, values.sizes())?;
        scan(widened(&values)?.view(), &offsets, &mut sums.view_mut()?)?;
        return narrow(sums.view(), &mut cx.unfilled_output(0, values.sizes())?);
    }
    scan(values.clone(), &offsets, &mut cx.output(0, values.sizes())?)
}

fn scan(x: TensorView<'_>, offsets: &[usize], y: &mut TensorViewMut<'_>) -> Result<()> {
    match x.dtype() {
        DType::I8 => rows(x, offsets, y, i8::wrapping_add),
        DType::I16 => rows(x, offsets, y, i16::wrapping_add),
        DType::I32 => rows(x, offsets, y, i32::wrapping_add),
        DType::I64 => rows(x, offsets, y, i64::wrapping_add),
        DType::U8 => rows(x, offsets, y, u8::wrapping_add),
        DType::U16 => rows(x, offsets, y, u16::wrapping_add),
        DType::U32 => rows(x, offsets, y, u32::wrapping_add),
        DType::U64 => rows(x, offsets, y, u64::wrapping_add),
        DType::F64 => rows(x, offsets, y, f64::add),
        _ => rows(x, offsets, y, f32::add),
    }
}

/// Sums each row; values after the last row stay as they are.
fn rows<T: Element>(
    x: TensorView<'_>,
    offsets: &[usize],
    y: &mut TensorViewMut<'_>,
    add: impl Fn(T, T) -> T,
) -> Result<()> {
    let width: usize = x.sizes()[1..].iter().product();
    let (x, y) = (x.as_slice::<T>()?, y.as_mut_slice::<T>()?);
    for pair in offsets.windows(2) {
        let row = pair[0] * width..pair[1] * width;
        let (x, y) = (&x[row.clone()], &mut y[row]);
        for place in 0..x.len() {
            y[place] = if place < width { x[place] } else { add(y[place - width], x[place]) };
        }
    }
    Ok(())
}
