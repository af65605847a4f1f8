//! Elements of tensors by their indices.

use crate::tensor::{Element, Tensor};

/// Returns the index of the element at an offset of a row-major tensor.
pub(super) fn index_of(offset: usize, sizes: &[usize]) -> Vec<usize> {
    let mut remaining = offset;
    let mut index: Vec<usize> =
        sizes.iter().rev().map(|size| (remaining % size, remaining /= size).0).collect();
    index.reverse();
    index
}

/// Returns all indices of a tensor of these sizes, in row-major order.
pub(super) fn indices_of(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..sizes.iter().product()).map(|offset| index_of(offset, sizes))
}

/// Returns the row-major offset of an index.
pub(super) fn offset_of(index: &[usize], sizes: &[usize]) -> usize {
    index.iter().zip(sizes).fold(0, |offset, (index, size)| offset * size + index)
}

/// Returns the element of a tensor at an index.
pub(super) fn element<T: Element>(x: &Tensor, index: &[usize]) -> T {
    x.as_bits::<T>().unwrap()[offset_of(index, x.sizes())]
}

/// Makes a tensor of these sizes from a function of the index.
pub(super) fn tensor_of<T: Element>(sizes: &[usize], of: &dyn Fn(&[usize]) -> T) -> Tensor {
    Tensor::from_vec(sizes, indices_of(sizes).map(|index| of(&index)).collect()).unwrap()
}

/// Returns `index` with another position on one axis.
pub(super) fn with_position(index: &[usize], axis: usize, position: usize) -> Vec<usize> {
    let mut index = index.to_vec();
    index[axis] = position;
    index
}

/// Returns the integers of a tensor of i32 or i64.
pub(super) fn ints(x: &Tensor) -> Vec<i64> {
    x.to_vec::<i64>().unwrap_or_else(|_| x.to_vec::<i32>().unwrap().into_iter().map(i64::from).collect())
}

/// Returns axes counted from the front.
pub(super) fn axes_of(x: &Tensor, rank: usize) -> Vec<usize> {
    ints(x).into_iter().map(|axis| axis.rem_euclid(rank.max(1) as i64) as usize).collect()
}
