//! `strided_slice`: ranges with steps, single positions and new axes, in TensorFlow's encoding.

use shapeflow_shape_fns::Attr;

use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

/// What bit `i` of each mask says of entry `i` of a strided slice. An ellipsis goes before a new axis, a new
/// axis before a single position.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct SliceMasks {
    /// The range starts at the first element (at the last, for a negative stride).
    pub begin: u32,
    /// The range ends after the last element (before the first, for a negative stride).
    pub end: u32,
    /// The entry stands for all axes that the other entries leave over; one at most.
    pub ellipsis: u32,
    /// The entry is a new axis of size 1.
    pub new_axis: u32,
    /// The entry is the single position `begin`, and the axis is taken out.
    pub shrink_axis: u32,
}

impl<'g> Value<'g> {
    /// From `begin[i]` up to but without `end[i]` in steps of `stride[i]`, axis by axis; the masks change what
    /// an entry means.
    ///
    /// Negative positions count from the end, ranges are cut to the axis, axes without an entry are taken
    /// whole. The three have one length; each is integers, dimensions, or a value. Any dtype. TensorFlow's
    /// `StridedSlice`; [`Value::slice_with`] writes the same more readably.
    ///
    /// # Errors
    /// More entries than axes, a stride of 0, a single position out of range or with a stride other than 1,
    /// two ellipses.
    #[track_caller]
    pub fn strided_slice(
        self,
        begin: impl IntoParam<'g>,
        end: impl IntoParam<'g>,
        strides: impl IntoParam<'g>,
        masks: SliceMasks,
    ) -> Result<Value<'g>> {
        let mut call =
            self.graph().op(&DEF).data(self).size("begin", begin).size("end", end).size("strides", strides);
        let named = [
            ("begin_mask", masks.begin),
            ("end_mask", masks.end),
            ("ellipsis_mask", masks.ellipsis),
            ("new_axis_mask", masks.new_axis),
            ("shrink_axis_mask", masks.shrink_axis),
        ];
        for (name, mask) in named {
            if mask != 0 {
                call = call.attr(name, i64::from(mask));
            }
        }
        call.finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("strided_slice", lower)
    .operands(&[Operand::Data("x"), Operand::Size("begin"), Operand::Size("end"), Operand::Size("strides")])
    .shape_fn(shapeflow_shape_fns::array::strided_slice)
    .tensorflow(&[TfOp::new("StridedSlice")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (start, stride) = (cx.derived("start"), cx.derived("stride"));
    let rank = cx.dims(0).len();
    let mut read: Vec<Index> = start.into_iter().map(Index::constant).collect();
    for (axis, at) in kept_axes(cx, rank).into_iter().zip(index) {
        if let Some(axis) = axis
            && let (Some(place), Some(stride)) = (read.get_mut(axis), stride.get(axis))
        {
            *place = std::mem::replace(place, Index::from(0)) + at.clone() * stride.clone();
        }
    }
    cx.operand(0, &read)
}

/// For each axis of the result the operand's axis it runs along, none for a new axis.
fn kept_axes(cx: &dyn LowerCx, rank: usize) -> Vec<Option<usize>> {
    let mask = |name: &str| match cx.attrs().get(name) {
        Some(Attr::Int(mask)) => *mask as u64,
        _ => 0,
    };
    let (ellipsis, new_axis, shrink) = (mask("ellipsis_mask"), mask("new_axis_mask"), mask("shrink_axis_mask"));
    let entries = entries(cx);
    let bit = |mask: u64, entry: usize| entry < 64 && mask >> entry & 1 == 1;
    let consuming = (0..entries).filter(|&entry| !bit(ellipsis, entry) && !bit(new_axis, entry)).count();
    let mut kept = Vec::new();
    let mut axis = 0;
    for entry in 0..entries {
        if bit(ellipsis, entry) {
            let rest = rank.saturating_sub(consuming);
            kept.extend((axis..axis + rest).map(Some));
            axis += rest;
        } else if bit(new_axis, entry) {
            kept.push(None);
        } else {
            if !bit(shrink, entry) {
                kept.push(Some(axis));
            }
            axis += 1;
        }
    }
    kept.extend((axis..rank).map(Some));
    kept
}

/// How many entries begin, end and strides have.
fn entries(cx: &dyn LowerCx) -> usize {
    let given = ["begin", "end", "strides"]
        .iter()
        .find_map(|name| cx.attrs().get(name).and_then(Attr::to_elements))
        .map(|elements| elements.len());
    given.unwrap_or_else(|| {
        let length = cx.dims(1).first().and_then(|dim| dim.as_known());
        length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0)
    })
}
