//! Optionals: tensors that may be absent. TensorFlow's gradients of branches keep what a branch computed in optionals.
//!
//! An optional is a list. It has no items if its tensors are absent. Otherwise each item is a list with one tensor, so
//! that the tensors may differ in dtype.

use shapeflow_shape_fns::{Attr, Attribute, DType, InferenceContext, ShapeError, TensorShape};

use super::items::{fail, list_dtype, list_shape};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::{Tensor, TensorList};

/// `[..]… -> variant[]`: an optional with these tensors. As TensorFlow's `OptionalFromValue`.
pub(crate) static FROM_VALUE: OpDef = OpDef::host("optional_from_value", from_value)
    .operands(&[Operand::Variadic("components..")])
    .shape_fn(list_shape)
    .dtype_rule(list_dtype);

/// `-> variant[]`: an optional without tensors. As TensorFlow's `OptionalNone`.
pub(crate) static NONE: OpDef = OpDef::host("optional_none", |cx| {
    cx.set_output(0, Tensor::of_list(TensorList::new(DType::Variant, None, 0)))
})
.operands(&[])
.shape_fn(list_shape)
.dtype_rule(list_dtype);

/// `variant[] -> bool[]`: whether the tensors are present. As TensorFlow's `OptionalHasValue`.
pub(crate) static HAS_VALUE: OpDef = OpDef::host("optional_has_value", |cx| {
    let has_value = cx.input(0)?.list()?.len() > 0;
    cx.set_output(0, Tensor::scalar(has_value))
})
.operands(&[Operand::Data("optional")])
.shape_fn(list_shape)
.dtype_rule(|_, _| Ok(vec![DType::Bool]));

/// `variant[] -> [..]…`: the tensors of an optional. As TensorFlow's `OptionalGetValue`.
pub(crate) static GET_VALUE: OpDef = OpDef::host("optional_get_value", get_value)
    .attrs(&[Attribute::dtypes("dtypes"), Attribute::shapes("shapes")])
    .operands(&[Operand::Data("optional")])
    .outputs(|attrs, _| attrs.dtypes("dtypes").len())
    .shape_fn(shapes)
    .dtype_rule(|_, attrs| Ok(attrs.dtypes("dtypes").to_vec()));

fn shapes(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    let shapes: Vec<TensorShape> = match cx.attr("shapes") {
        Some(Attr::Shapes(shapes)) => shapes.to_vec(),
        _ => Vec::new(),
    };
    let count = match cx.attr("dtypes") {
        Some(Attr::DTypes(dtypes)) => dtypes.len(),
        _ => 0,
    };
    for output in 0..count {
        let shape = shapes.get(output).map_or_else(TensorShape::unranked, |shape| cx.table().import(shape));
        cx.set_output(output, shape);
    }
    Ok(())
}

fn from_value(cx: &mut HostCx<'_>) -> Result<()> {
    let mut components = Vec::with_capacity(cx.inputs());
    for number in 0..cx.inputs() {
        let tensor = cx.input(number)?.to_tensor()?;
        components.push(Tensor::of_list(TensorList::of(tensor.dtype(), None, vec![tensor])));
    }
    cx.set_output(0, Tensor::of_list(TensorList::of(DType::Variant, None, components)))
}

fn get_value(cx: &mut HostCx<'_>) -> Result<()> {
    let optional = cx.input(0)?.list()?;
    let expected = cx.attrs().dtypes("dtypes").to_vec();
    if optional.len() == 0 {
        return fail(ErrorKind::Data, "the optional must have a value, got none".to_string());
    }
    if optional.len() != expected.len() {
        let message = format!("the optional must have {} tensors, got {}", expected.len(), optional.len());
        return fail(ErrorKind::Data, message);
    }
    for (output, dtype) in expected.into_iter().enumerate() {
        let component = match optional.get(output).map(|item| item.view().list()) {
            Some(Ok(list)) => list.get(0).cloned(),
            _ => None,
        };
        match component {
            Some(tensor) if tensor.dtype() == dtype => cx.set_output(output, tensor)?,
            Some(tensor) => {
                let message =
                    format!("tensor {output} of the optional must be {dtype}, got {}", tensor.dtype());
                return fail(ErrorKind::DType, message);
            }
            None => return fail(ErrorKind::DType, "the operand must be an optional, got a list".to_string()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::run;

    #[test]
    fn an_optional_gives_its_tensors_back() {
        let tensors = [Tensor::from([1.0f32, 2.0]), Tensor::scalar(true)];
        let optional = run(&FROM_VALUE, &Attrs::new(), &tensors).unwrap();
        let attrs = |dtypes: &[DType]| {
            let shapes = Attr::Shapes(vec![TensorShape::unranked(); dtypes.len()].into());
            Attrs::new().with("dtypes", dtypes).with("shapes", shapes)
        };
        let attrs_of_both = attrs(&[DType::F32, DType::Bool]);
        assert_eq!(run(&GET_VALUE, &attrs_of_both, &optional).unwrap(), tensors);
        assert_eq!(run(&HAS_VALUE, &Attrs::new(), &optional).unwrap(), [Tensor::scalar(true)]);
        let none = run(&NONE, &Attrs::new(), &[]).unwrap();
        assert_eq!(run(&HAS_VALUE, &Attrs::new(), &none).unwrap(), [Tensor::scalar(false)]);
        let list = Tensor::of_list(TensorList::of(DType::F32, None, vec![Tensor::scalar(1.0f32)]));
        for (attrs, operand, message) in [
            (&attrs_of_both, &none[0], "the optional must have a value, got none"),
            (&attrs(&[DType::F32]), &optional[0], "the optional must have 1 tensors, got 2"),
            (
                &attrs(&[DType::F32, DType::I32]),
                &optional[0],
                "tensor 1 of the optional must be i32, got bool",
            ),
            (&attrs(&[DType::F32]), &list, "the operand must be an optional, got a list"),
        ] {
            let error = run(&GET_VALUE, attrs, std::slice::from_ref(operand)).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }
}
