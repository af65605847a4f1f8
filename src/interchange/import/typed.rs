//! Checks the dtypes of a node's inputs, and finds the dtype attributes with which its outputs have the same dtypes as
//! in TensorFlow.

use shapeflow_shape_fns::{Attrs, DType, Registered, counted};

use super::super::proto::AttrKind;
use super::super::signature::{ArgumentType, OpSignature, signature};
use super::built::ImportedValue;
use super::frame::{Frame, MAX_TENSORS, damaged};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::dtype_number::{dtype_of, number_of, text_of};
use crate::op::{OpRef, TfOp};

/// Returns this crate's name of a TensorFlow attribute. `renamed`, and the op's entry `registered` in the table
/// of shape functions, hold pairs `(TensorFlow's name, this crate's name)`. An attribute in neither list keeps its
/// name.
pub(super) fn own_name<'n>(
    name: &'n str,
    renamed: &[(&'static str, &'static str)],
    registered: Option<&'static Registered>,
) -> &'n str {
    let rows = registered.map_or(&[][..], |registered| registered.attrs);
    renamed
        .iter()
        .chain(rows)
        .find(|(tensorflow_name, _)| *tensorflow_name == name)
        .map_or(name, |(_, own_name)| *own_name)
}

/// Returns `attrs`, extended by the dtype attributes that the definition needs to produce the `expected` output dtypes.
/// `spelling` is the TensorFlow op as which the definition is imported.
///
/// # Errors
/// `Some(error)`: the definition refuses the dtypes of the operands. `None`: the definition accepts the dtypes of the
/// operands, but cannot produce the expected dtypes.
#[expect(
    clippy::too_many_arguments,
    reason = "the import tries several `TfOp`s for a node, and all arguments change with them"
)]
pub(super) fn add_dtype_attrs(
    def: &OpRef,
    spelling: &TfOp,
    mut attrs: Attrs,
    operands: &[DType],
    expected: &[Option<DType>],
    frame: &Frame<'_, '_>,
    index: usize,
    registered: Option<&'static Registered>,
) -> std::result::Result<Attrs, Option<Error>> {
    let node = frame.nodes.get(index).ok_or(None)?;
    if def.composition(operands.first().copied()).is_some() {
        for (name, value) in spelling.composite_attrs {
            attrs.insert((*name).to_string(), *value);
        }
    }
    let infer_dtypes = |attrs: &Attrs| {
        def.check_attrs(attrs, true)?;
        def.infer_dtypes(operands, &attrs.clone().declared_by(def.attributes()))
    };
    let gives_expected = |attrs: &Attrs| {
        infer_dtypes(attrs).is_ok_and(|inferred| {
            inferred.len() == expected.len()
                && inferred
                    .iter()
                    .zip(expected)
                    .all(|(inferred, expected)| expected.is_none_or(|expected| expected == *inferred))
        })
    };
    let refusal = |attrs: &Attrs| infer_dtypes(attrs).err();
    // The exporter lists the dtypes that the node itself does not state.
    let is_implied = |name: &str| match frame.attr(index, super::super::IMPLIED) {
        Some(AttrKind::List(list)) => list.s.iter().any(|implied| implied == name.as_bytes()),
        _ => false,
    };
    let mut explicit = attrs.clone();
    let signature = signature(&node.op);
    let declared = signature.iter().flat_map(|signature| &signature.attrs).filter(|attr| attr.kind == "type");
    for attr in declared {
        let renamed = own_name(attr.name, spelling.attrs, registered);
        // A dtype that the inputs determine becomes an attribute only if this crate renames it.
        let inputs_give_it =
            signature.as_ref().is_some_and(|signature| signature.inputs_determine(attr.name))
                && renamed == attr.name;
        let number = match frame.attr(index, attr.name) {
            Some(AttrKind::Type(number)) => dtype_of(*number),
            _ => attr.default.and_then(|text| text.parse().ok()),
        };
        if let Some(dtype) = number.filter(|_| !inputs_give_it && !is_implied(attr.name)) {
            explicit.insert(renamed.to_string(), dtype);
        }
    }
    let has_explicit = explicit.len() > attrs.len();
    // If the inputs determine all output dtypes, the explicit dtypes are omitted unless the definition needs them.
    let from_inputs = signature.as_ref().is_some_and(|signature| {
        signature.outputs.iter().all(|output| match output.dtype {
            ArgumentType::Attr(attr) => signature.inputs_determine(attr),
            _ => true,
        })
    });
    if has_explicit && !(from_inputs && gives_expected(&attrs)) {
        return if gives_expected(&explicit) { Ok(explicit) } else { Err(refusal(&explicit)) };
    }
    if gives_expected(&attrs) {
        return Ok(attrs);
    }
    if let (Some(Some(first)), Some(name)) = (expected.first(), spelling.output_type) {
        attrs.insert(name, *first);
    }
    if gives_expected(&attrs) { Ok(attrs) } else { Err(refusal(&attrs)) }
}

/// Checks the number of a node's inputs and their dtypes against the signature and the attributes.
///
/// # Errors
/// The number of inputs or the dtype of an input differs.
pub(super) fn check_inputs(
    frame: &Frame<'_, '_>,
    index: usize,
    signature: &OpSignature,
    inputs: &[Option<ImportedValue<'_>>],
) -> Result<()> {
    let mut expected: Vec<(&str, Option<i32>)> = Vec::new();
    for input in &signature.inputs {
        let count = match input.count {
            Some(count) => match frame.int(index, count) {
                Some(count) => count,
                None => return damaged(format!("attribute {count} must be the number of inputs")),
            },
            None => 1,
        };
        match input.dtype {
            ArgumentType::Fixed(dtype) => {
                let number = number_of(dtype);
                expected.extend(std::iter::repeat_n((input.name, Some(number)), count));
            }
            ArgumentType::Attr(attr) => {
                let number = match frame.attr(index, attr) {
                    Some(AttrKind::Type(number)) => Some(*number),
                    _ => None,
                };
                expected.extend(std::iter::repeat_n((input.name, number), count));
            }
            ArgumentType::List(attr) => {
                let types = frame.types(index, attr).unwrap_or_default();
                expected.extend(types.iter().map(|number| (input.name, Some(*number))));
            }
        }
        if expected.len() > MAX_TENSORS {
            return damaged(format!("a node may have at most {MAX_TENSORS} inputs, got {}", expected.len()));
        }
    }
    if expected.len() != inputs.len() {
        return damaged(format!(
            "the op must have {}, got {}",
            counted(expected.len(), "input"),
            inputs.len()
        ));
    }
    for (number, ((name, expected), imported)) in expected.iter().zip(inputs).enumerate() {
        let known = imported.as_ref().filter(|imported| imported.has_known_dtype);
        let (Some(wanted), Some(imported)) = (*expected, known) else { continue };
        if dtype_of(wanted) != Some(imported.value.dtype()) {
            let message = format!(
                "input {number} ({name}) must be {}, got {}",
                dtype_of(wanted).map_or_else(|| text_of(wanted), |dtype| dtype.to_string()),
                imported.value.dtype()
            );
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
    }
    Ok(())
}
