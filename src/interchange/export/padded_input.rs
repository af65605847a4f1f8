//! Exports the zeros that an op adds at the ends of its operand's axes, if TensorFlow's op does not add them.

use shapeflow_shape_fns::{Attr, DType};

use super::super::FORWARDS;
use super::super::proto::{AttrKind, NodeDef};
use super::{Exporter, put, typed_node};
use crate::error::Result;
use crate::graph::Node;
use crate::op::PaddedInput;

impl Exporter<'_> {
    /// Adds a `Pad` before input 0 of `def`, unless every axis is long enough in every run. Input 1 of `def` has the
    /// lengths, as i32. The import reads the input of the `Pad` in its place. Without the rank of the operand, there is
    /// no `Pad`, and TensorFlow refuses operands that are too short.
    ///
    /// # Errors
    /// An allocation is refused.
    pub(super) fn pad_input(
        &mut self,
        node: &Node,
        name: &str,
        padded: PaddedInput,
        def: &mut NodeDef,
    ) -> Result<()> {
        let (Some(&operand), [_, lengths, ..]) = (node.operands.first(), &def.input[..]) else {
            return Ok(());
        };
        let lengths = lengths.clone();
        let shape = self.data.table.resolve_shape(&self.data.values[operand.index()].shape);
        let Some(dims) = shape.dims() else { return Ok(()) };
        let known = node.attrs().get(padded.lengths).and_then(Attr::to_elements);
        let known = known.map(|lengths| self.data.table.resolve_elements(&lengths));
        let axes = known.as_ref().map(|lengths| lengths.len()).or_else(|| {
            let lengths = node.operands.get(1)?;
            let shape = self.data.table.resolve_shape(&self.data.values[lengths.index()].shape);
            usize::try_from(shape.dims()?.first()?.as_known()?).ok()
        });
        let Some((axes, outer)) = axes.and_then(|axes| Some((axes, dims.len().checked_sub(axes)?))) else {
            return Ok(());
        };
        let is_long = |axis: usize| {
            let length = known.as_ref()?.get(axis)?.as_known()?;
            let needed = if padded.is_half && axis + 1 == axes { length / 2 + 1 } else { length };
            Some(dims[outer + axis].as_known()? >= needed)
        };
        if (0..axes).all(|axis| is_long(axis) == Some(true)) {
            return Ok(());
        }
        let int = DType::I32;
        let mut needed = lengths;
        if padded.is_half {
            // The last length becomes `length / 2 + 1`: the others are divided by 1, and 0 is added.
            let last = |value: i64, others: i64| -> Vec<i64> {
                (1..=axes).map(|axis| if axis == axes { value } else { others }).collect()
            };
            let divisor = self.known(name, &[axes], &last(2, 1), int)?;
            let quotient = self.auxiliary_node(name, "FloorDiv", vec![needed, divisor], &[("T", int)]);
            let one = self.known(name, &[axes], &last(1, 0), int)?;
            needed = self.auxiliary_node(name, "AddV2", vec![quotient, one], &[("T", int)]);
        }
        let tensor = def.input[0].clone();
        let dtype = self.dtype(operand);
        let types = [("T", dtype), ("out_type", int)];
        let sizes = self.auxiliary_node(&format!("{name}/shape"), "Shape", vec![tensor.clone()], &types);
        let begin = self.known(name, &[1], &[outer as i64], int)?;
        let size = self.known(name, &[1], &[axes as i64], int)?;
        let types = [("T", int), ("Index", int)];
        let sizes = self.auxiliary_node(name, "Slice", vec![sizes, begin, size], &types);
        let missing = self.auxiliary_node(name, "Sub", vec![needed, sizes], &[("T", int)]);
        let zero = self.known(name, &[], &[0], int)?;
        let missing = self.auxiliary_node(name, "Maximum", vec![missing, zero], &[("T", int)]);
        // A row of zeros for each outer axis, and a column of zeros: nothing is added at the start of an axis.
        let column = self.known(name, &[2], &[axes as i64, 1], int)?;
        let types = [("T", int), ("Tshape", int)];
        let missing = self.auxiliary_node(name, "Reshape", vec![missing, column], &types);
        let around = self.known(name, &[2, 2], &[outer as i64, 0, 1, 0], int)?;
        let types = [("T", int), ("Tpaddings", int)];
        let paddings = self.auxiliary_node(&format!("{name}/paddings"), "Pad", vec![missing, around], &types);
        let types = [("T", dtype), ("Tpaddings", int)];
        let mut pad = typed_node("Pad", vec![tensor, paddings], &types);
        put(&mut pad, FORWARDS, AttrKind::B(true));
        def.input[0] = self.auxiliary(&format!("{name}/padded"), pad);
        Ok(())
    }
}
