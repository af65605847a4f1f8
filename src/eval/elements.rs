//! Converts sizes and elements of tensors to the types of shape inference.

use shapeflow_shape_fns::{DType, Dim, PartialElements, TensorShape};

use crate::tensor::TensorView;

/// The maximum number of elements of a tensor that inference tracks. A tensor with more elements has unknown elements.
pub(crate) const MAX_ELEMENTS: usize = 4096;

/// Returns the elements of a tensor of integers or bool; false is 0 and true is 1. Returns `None` for another dtype,
/// for a u64 above `i64::MAX`, and for more than [`MAX_ELEMENTS`] elements.
pub(crate) fn elements_of(tensor: &TensorView<'_>) -> Option<Box<PartialElements>> {
    if tensor.len() > MAX_ELEMENTS {
        return None;
    }
    macro_rules! ints {
        ($T:ty) => {
            tensor.to_vec::<$T>().ok()?.into_iter().map(i64::try_from).collect::<Result<_, _>>().ok()?
        };
    }
    let ints: Vec<i64> = match tensor.dtype() {
        DType::I64 => ints!(i64),
        DType::I32 => ints!(i32),
        DType::I16 => ints!(i16),
        DType::I8 => ints!(i8),
        DType::U8 => ints!(u8),
        DType::U16 => ints!(u16),
        DType::U32 => ints!(u32),
        DType::U64 => ints!(u64),
        DType::Bool => ints!(bool),
        _ => return None,
    };
    let dims = ints.into_iter().map(Dim::known);
    PartialElements::with_sizes(tensor.sizes(), dims).ok().map(Box::new)
}

/// Returns the shape with these sizes.
pub(crate) fn shape_of(sizes: &[usize]) -> TensorShape {
    TensorShape::new(sizes.iter().map(|&size| Dim::known(size as i64)))
}
