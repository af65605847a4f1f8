//! Functions that the ops of tensor lists share: declared sizes of items, absent items, and dtype and shape rules.

use shapeflow_shape_fns::{Attr, Attrs, DType, InferenceContext, ShapeError, TensorShape, counted};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::tensor::{Tensor, TensorList, TensorView};

/// The sizes of items as far as they are declared: `None` for an unknown rank.
pub(super) type Sizes = Option<Vec<Option<usize>>>;

type ShapeResult = std::result::Result<(), ShapeError>;

/// The dtype rule of an op whose first output is a list.
pub(super) fn list_dtype(_: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![DType::Variant])
}

/// The dtype rule of an op whose output has the dtype of the items.
pub(super) fn item_dtype(_: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    items_dtype(attrs).map(|dtype| vec![dtype])
}

/// Returns the dtype of the items.
pub(super) fn items_dtype(attrs: &Attrs) -> Result<DType> {
    Ok(attrs.dtype("dtype"))
}

/// The shape function of an op whose output is a list.
pub(super) fn list_shape(cx: &mut InferenceContext<'_>) -> ShapeResult {
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

/// Returns the shape of an item as far as it is known.
pub(super) fn item_shape(cx: &mut InferenceContext<'_>) -> TensorShape {
    match cx.attr("shape") {
        Some(Attr::Shape(shape)) => {
            let shape = shape.clone();
            cx.table().import(&shape)
        }
        _ => TensorShape::unranked(),
    }
}

pub(super) fn fail<T>(kind: ErrorKind, message: String) -> Result<T> {
    Err(Error::new(kind, Phase::Run, message))
}

/// Reads a vector or scalar of i32 or i64.
pub(super) fn integers(view: TensorView<'_>) -> Result<Vec<i64>> {
    match view.dtype() {
        DType::I32 => Ok(view.as_slice::<i32>()?.iter().map(|&value| value.into()).collect()),
        _ => Ok(view.as_slice::<i64>()?.to_vec()),
    }
}

/// Reads the only integer of input `i`. `what` names the integer in errors.
///
/// # Errors
/// The input does not have exactly one element.
pub(super) fn integer(cx: &HostCx<'_>, i: usize, what: &str) -> Result<i64> {
    let given = integers(cx.input(i)?)?;
    match given[..] {
        [value] => Ok(value),
        _ => fail(
            ErrorKind::Shape,
            format!("{what} must be a scalar, got {}", counted(given.len(), "integer")),
        ),
    }
}

/// Reads the sizes of items from an operand.
pub(super) fn sizes_of(view: TensorView<'_>) -> Result<Sizes> {
    if view.sizes().is_empty() {
        return match integers(view)?[..] {
            [-1] => Ok(None),
            ref other => fail(ErrorKind::Shape, format!("a scalar shape of items must be -1, got {other:?}")),
        };
    }
    Ok(Some(integers(view)?.into_iter().map(|size| usize::try_from(size).ok()).collect()))
}

/// Returns whether a tensor has sizes that a declaration allows.
pub(super) fn allows(declared: &Sizes, sizes: &[usize]) -> bool {
    declared.as_ref().is_none_or(|declared| {
        declared.len() == sizes.len()
            && declared.iter().zip(sizes).all(|(declared, size)| declared.is_none_or(|known| known == *size))
    })
}

/// Merges two declarations of the sizes of items. A size is known if either declaration knows the size.
///
/// # Errors
/// The declarations contradict each other.
pub(super) fn merge(a: &Sizes, b: &Sizes) -> Result<Sizes> {
    let (Some(x), Some(y)) = (a, b) else { return Ok(a.clone().or(b.clone())) };
    let agrees = x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.is_none() || y.is_none() || x == y);
    if !agrees {
        let message = format!("the shapes of items must agree, got {} and {}", text(a), text(b));
        return fail(ErrorKind::Shape, message);
    }
    Ok(Some(x.iter().zip(y).map(|(x, y)| x.or(*y)).collect()))
}

/// Writes declared sizes as a shape.
pub(super) fn text(sizes: &Sizes) -> String {
    let Some(sizes) = sizes else { return "?".to_string() };
    let sizes = sizes.iter().map(|size| size.map_or_else(|| "?".to_string(), |size| size.to_string()));
    format!("[{}]", sizes.collect::<Vec<_>>().join(", "))
}

/// Returns input `i`, a list whose items have the dtype of attribute `dtype`.
///
/// # Errors
/// The input is not a list, or its items have another dtype.
pub(super) fn list_input<'a>(cx: &HostCx<'a>, i: usize) -> Result<&'a TensorList> {
    let list = cx.input(i)?.list()?;
    check_dtype(list, items_dtype(cx.attrs())?)?;
    Ok(list)
}

/// Checks that the items of a list have the dtype `dtype`.
pub(super) fn check_dtype(list: &TensorList, dtype: DType) -> Result<()> {
    match list.dtype {
        given if given == dtype => Ok(()),
        given => fail(ErrorKind::DType, format!("the items of the list must be {dtype}, got {given}")),
    }
}

/// Checks that two tensors of lists have equal sizes.
pub(super) fn check_equal_sizes(a: &TensorView<'_>, b: &TensorView<'_>) -> Result<()> {
    if a.sizes() == b.sizes() {
        return Ok(());
    }
    let message = format!("tensors of lists must have equal sizes, got {:?} and {:?}", a.sizes(), b.sizes());
    fail(ErrorKind::Shape, message)
}

/// Checks that a tensor may be an item of a list.
///
/// # Errors
/// The list has items of another dtype, or its declared sizes exclude the tensor.
pub(super) fn check_item(list: &TensorList, item: &TensorView<'_>) -> Result<()> {
    if item.dtype() != list.dtype {
        let message = format!("an item of the list must be {}, got {}", list.dtype, item.dtype());
        return fail(ErrorKind::DType, message);
    }
    if !allows(&list.shape, item.sizes()) {
        let message =
            format!("an item of the list must have shape {}, got {:?}", text(&list.shape), item.sizes());
        return fail(ErrorKind::Shape, message);
    }
    Ok(())
}

/// Returns an index that an operand holds.
///
/// # Errors
/// The index is not below the length of the list.
pub(super) fn index_in(list: &TensorList, index: i64) -> Result<usize> {
    match usize::try_from(index).ok().filter(|index| *index < list.len()) {
        Some(index) => Ok(index),
        None => {
            let message = format!("the index must be in [0, {}), got {index}", list.len());
            fail(ErrorKind::Index, message)
        }
    }
}

/// Returns the sizes of absent items: the sizes that the list and an operand declare. A size that is not
/// declared is the size of the items that are present.
///
/// # Errors
/// The declarations contradict each other, or leave a size open.
pub(super) fn absent_sizes(list: &TensorList, declared: &Sizes) -> Result<Vec<usize>> {
    let mut sizes = merge(&list.shape, declared)?;
    for (_, item) in list.present() {
        if known(&sizes).is_some() {
            break;
        }
        sizes = merge(&sizes, &Some(item.sizes().iter().copied().map(Some).collect()))?;
    }
    match known(&sizes) {
        Some(sizes) => Ok(sizes),
        None => {
            let message =
                format!("an item that nothing has set must have a known shape, got {}", text(&sizes));
            fail(ErrorKind::Shape, message)
        }
    }
}

/// Returns the sizes, if all of them are known.
pub(super) fn known(sizes: &Sizes) -> Option<Vec<usize>> {
    sizes.as_ref()?.iter().copied().collect()
}

/// Returns an item; zeros if it is absent.
///
/// # Errors
/// The item is absent, and its sizes are not known.
pub(super) fn item_or_zeros(list: &TensorList, index: usize, declared: &Sizes) -> Result<Tensor> {
    match list.get(index) {
        Some(item) => Ok(item.clone()),
        None => Tensor::zeros(list.dtype, &absent_sizes(list, declared)?),
    }
}
