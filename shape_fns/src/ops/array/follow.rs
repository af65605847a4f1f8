//! Elements of an output that are elements of operands at other places.

use crate::{Dim, InferenceContext, PartialElements};

/// Sets the elements of output `output`, whose shape is set: `element` says what stands at an index, `None` where that
/// is not known. Nothing is set where the sizes are not numbers or there are more elements than are followed.
pub(crate) fn follow(
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
        for (at, size) in index.iter_mut().zip(&sizes).rev() {
            *at += 1;
            if *at < *size {
                break;
            }
            *at = 0;
        }
    }
    if let Ok(value) = PartialElements::with_sizes(&sizes, elements) {
        cx.set_output_value(output, value);
    }
}

/// The element at an index; `None` outside the sizes.
pub(crate) fn at(value: &PartialElements, index: impl IntoIterator<Item = usize>) -> Option<Dim> {
    let mut position = 0usize;
    let mut index = index.into_iter();
    for size in value.sizes() {
        let at = index.next().filter(|at| at < size)?;
        position = position.checked_mul(*size)?.checked_add(at)?;
    }
    value.get(position).cloned()
}

/// The element that stands at an index after the value is broadcast.
pub(crate) fn broadcast_at(value: &PartialElements, index: &[usize]) -> Option<Dim> {
    let offset = index.len().checked_sub(value.rank())?;
    let own = index.iter().skip(offset).zip(value.sizes());
    at(value, own.map(|(at, size)| if *size == 1 { 0 } else { *at }))
}
