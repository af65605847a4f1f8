//! Computes an op whose dtype TensorFlow's op lacks: in a function that casts the operands to a wider dtype, and the
//! results back.

use shapeflow_shape_fns::{Attr, Attrs, DType};

use super::Exporter;
use super::function::Argument;
use crate::error::Result;
use crate::graph::{Node, OpBuilder, Value, ValueIx};

impl Exporter<'_> {
    /// Returns whether a wider dtype may compute the node: TensorFlow's op lacks a dtype of the node, and the op gives
    /// the same results in a wider dtype.
    pub(super) fn is_widened(&self, node: &Node) -> bool {
        let is_refused = |value: &ValueIx| Some(self.dtype(*value)) == self.refused;
        !node.op.is_never_widened() && node.operands.iter().any(is_refused)
    }

    /// Returns the name of a function that computes the node in a wider dtype. `positions` has the position of each
    /// argument in the declaration of the op. Returns `None` if TensorFlow has no such dtype.
    ///
    /// # Errors
    /// An allocation is refused.
    pub(super) fn widened_function(
        &mut self,
        node: &Node,
        arguments: &[Argument],
        positions: &[usize],
        attrs: &Attrs,
    ) -> Result<Option<String>> {
        let Some(refused) = self.refused.filter(|_| self.is_widened(node)) else { return Ok(None) };
        let signature: Vec<(DType, Option<usize>)> =
            arguments.iter().map(|argument| (argument.dtype, argument.rank)).collect();
        let key = format!("{} widened {signature:?} {positions:?} {attrs}", node.op.name());
        if let Some(known) = self.library.of_ops.get(&key) {
            return Ok(Some(known.clone()));
        }
        let expected: Vec<DType> = node.values().map(|value| self.dtype(value)).collect();
        let mut name = None;
        for wide in wider(refused) {
            let mut wide_attrs = attrs.clone();
            for (attr_name, attr) in attrs.iter() {
                if *attr == Attr::DType(refused) {
                    wide_attrs.insert(attr_name.to_string(), Attr::DType(*wide));
                }
            }
            name = self.built_function(node, arguments, attrs, &|values| {
                let results = computed_in(node, values, positions, &wide_attrs, refused, *wide)?;
                results.iter().zip(&expected).map(|(result, dtype)| result.cast(*dtype)).collect()
            })?;
            if name.is_some() {
                break;
            }
        }
        if let Some(name) = &name {
            self.library.of_ops.insert(key, name.clone());
        }
        Ok(name)
    }
}

/// Casts the operands of dtype `refused` to `wide`, and calls the op of the node on all operands.
fn computed_in<'g>(
    node: &Node,
    values: &[Value<'g>],
    positions: &[usize],
    attrs: &Attrs,
    refused: DType,
    wide: DType,
) -> Result<Vec<Value<'g>>> {
    let Some(first) = values.first() else { return Ok(Vec::new()) };
    let mut call = OpBuilder::new(first.graph(), node.op.clone()).attrs(attrs.clone());
    for (value, position) in values.iter().zip(positions) {
        let value = if value.dtype() == refused { value.cast(wide)? } else { *value };
        call = call.operand(*position, value);
    }
    call.finish_all()
}

/// Returns the dtypes that hold all numbers of a dtype. An integer op in them gives the results modulo the range of
/// the dtype.
fn wider(dtype: DType) -> &'static [DType] {
    match dtype {
        DType::Bool | DType::I4 | DType::U4 | DType::I8 | DType::U8 | DType::I16 | DType::U16 => {
            &[DType::I32, DType::I64]
        }
        DType::I32 | DType::U32 => &[DType::I64],
        DType::F8E5M2 | DType::F8E4M3FN | DType::F16 | DType::BF16 => &[DType::F32, DType::F64],
        DType::F32 => &[DType::F64],
        DType::C64 => &[DType::C128],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::signature::{ArgumentType, OpSignature, signature};
    use super::*;
    use crate::op::{OpDef, Registry};

    /// The ops whose results depend on the limits, the width or the rounding of the dtype. The result of no elements is
    /// a limit of the dtype. Shifts, complements, counts of bits and random integers depend on the width. A message
    /// holds the dtype. A threshold or a tolerance is compared with what wrapped around or was rounded.
    const DEPENDENT: [&str; 22] = [
        "approximate_equal",
        "bitcast",
        "bitwise_not",
        "fingerprint",
        "left_shift",
        "next_after",
        "population_count",
        "random_int",
        "random_int_with_state",
        "reduce_max",
        "reduce_mean",
        "reduce_min",
        "right_shift",
        "segment_max",
        "segment_mean",
        "segment_min",
        "serialize_many_sparse",
        "serialize_tensor",
        "sparse_add",
        "sparse_reduce_max",
        "unsorted_segment_max",
        "unsorted_segment_min",
    ];

    /// Returns whether TensorFlow has no op of the definition that takes data of the dtype: its first operand with a
    /// choice of dtypes.
    fn lacks(def: &OpDef, dtype: DType) -> bool {
        let lacks = |signature: &OpSignature| {
            let attr = signature.inputs.iter().find_map(|input| match input.dtype {
                ArgumentType::Attr(name) => signature.attr(name),
                _ => None,
            });
            attr.is_some_and(|attr| !attr.takes(dtype))
        };
        def.tensorflow_ops().iter().filter_map(|spelling| signature(spelling.op_type)).all(lacks)
    }

    #[test]
    fn an_op_whose_results_depend_on_the_dtype_is_not_widened() {
        let registry = Registry::builtin();
        for name in DEPENDENT {
            let def = registry.get(name).unwrap_or_else(|| panic!("{name} must be an op"));
            if def.is_never_widened() || def.tensorflow_function().is_some() {
                continue;
            }
            for dtype in def.dtypes().into_iter().filter(|dtype| !wider(*dtype).is_empty()) {
                assert!(!lacks(&def, dtype), "{name} on {dtype}");
            }
        }
    }
}
