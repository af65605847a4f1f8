//! Propagates known elements from operands to an output, for ops that only move elements.

use crate::{Dim, InferenceContext, PartialElements};

/// Sets the elements of output `output`, whose shape must be set. `element` maps an output index to the element there,
/// or to `None` if the element is unknown.
///
/// Does nothing if a size is not known or if the output has more than [`PartialElements::MAX`] elements.
pub(crate) fn propagate_elements(
    cx: &mut InferenceContext<'_>,
    output: usize,
    element: impl Fn(&[usize]) -> Option<Dim>,
) {
    let Some(sizes) = cx.output(output).as_known() else { return };
    let count = sizes.iter().try_fold(1usize, |count, size| count.checked_mul(*size));
    let Some(count) = count.filter(|count| *count <= PartialElements::MAX) else { return };
    let mut index = vec![0; sizes.len()];
    let mut elements = Vec::with_capacity(count);
    for _ in 0..count {
        elements.push(element(&index).unwrap_or_else(|| cx.fresh_integer()));
        for (position, size) in index.iter_mut().zip(&sizes).rev() {
            *position += 1;
            if *position < *size {
                break;
            }
            *position = 0;
        }
    }
    if let Ok(value) = PartialElements::with_sizes(&sizes, elements) {
        cx.set_output_value(output, value);
    }
}

/// Returns the element at a multi-dimensional index, or `None` if the index is out of bounds.
pub(crate) fn element_at(value: &PartialElements, index: impl IntoIterator<Item = usize>) -> Option<Dim> {
    let mut offset = 0usize;
    let mut index = index.into_iter();
    for size in value.sizes() {
        let position = index.next().filter(|position| position < size)?;
        offset = offset.checked_mul(*size)?.checked_add(position)?;
    }
    value.get(offset).cloned()
}

/// Returns the element at `index`, where `value` is broadcast to the rank of `index`.
pub(crate) fn broadcast_element_at(value: &PartialElements, index: &[usize]) -> Option<Dim> {
    let leading = index.len().checked_sub(value.rank())?;
    let axes = index.iter().skip(leading).zip(value.sizes());
    element_at(value, axes.map(|(position, size)| if *size == 1 { 0 } else { *position }))
}
