//! Converts sizes and elements of tensors to the types of shape inference.

use shapeflow_shape_fns::{DType, Dim, PartialElements, TensorShape};

use crate::tensor::TensorView;

/// The maximum number of elements of a tensor that inference tracks. A tensor with more elements has unknown elements.
pub(crate) const MAX_ELEMENTS: usize = 4096;

/// Returns the elements of a tensor of integers or bool; false is 0 and true is 1. Returns `None` for another dtype, for
/// a u64 above `i64::MAX`, and for more than [`MAX_ELEMENTS`] elements.
pub(crate) fn elements_of(tensor: &TensorView<'_>) -> Option<Box<PartialElements>> {
    if tensor.len() > MAX_ELEMENTS {
        return None;
    }
    let ints: Vec<i64> = match tensor.dtype() {
        DType::I64 => tensor.to_vec::<i64>().ok()?,
        DType::I32 => tensor.to_vec::<i32>().ok()?.into_iter().map(i64::from).collect(),
        DType::I16 => tensor.to_vec::<i16>().ok()?.into_iter().map(i64::from).collect(),
        DType::I8 => tensor.to_vec::<i8>().ok()?.into_iter().map(i64::from).collect(),
        DType::U8 => tensor.to_vec::<u8>().ok()?.into_iter().map(i64::from).collect(),
        DType::U16 => tensor.to_vec::<u16>().ok()?.into_iter().map(i64::from).collect(),
        DType::U32 => tensor.to_vec::<u32>().ok()?.into_iter().map(i64::from).collect(),
        DType::U64 => {
            let elements = tensor.to_vec::<u64>().ok()?;
            elements.into_iter().map(i64::try_from).collect::<Result<_, _>>().ok()?
        }
        DType::Bool => tensor.to_vec::<bool>().ok()?.into_iter().map(i64::from).collect(),
        _ => return None,
    };
    let dims = ints.into_iter().map(Dim::known);
    PartialElements::with_sizes(tensor.sizes(), dims).ok().map(Box::new)
}

/// Returns the shape with these sizes.
pub(crate) fn shape_of(sizes: &[usize]) -> TensorShape {
    TensorShape::new(sizes.iter().map(|&size| Dim::known(size as i64)))
}
