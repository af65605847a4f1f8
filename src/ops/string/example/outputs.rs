//! Tensors of the values that a feature has in all examples.

use shapeflow_shape_fns::{DType, Dim, TensorShape};

use super::elements::FeatureElements;
use super::table::{Arity, Feature, counts};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::ops::integers::int_tensor;
use crate::tensor::{Tensor, TensorView};

/// Makes row splits of the ends of rows.
pub(super) fn splits(dtype: DType, ends: &[usize]) -> Result<Tensor> {
    int_tensor(dtype, &[ends.len() + 1], std::iter::once(0).chain(ends.iter().copied()))
}

/// Returns the sizes of a dense feature. The first size is `None` if it depends on the data.
pub(super) fn dense_sizes(shape: &TensorShape) -> Vec<Option<usize>> {
    let size = |size: &Dim| size.as_known().and_then(|size| usize::try_from(size).ok());
    shape.dims().unwrap_or_default().iter().map(size).collect()
}

/// Returns the product of sizes. It saturates: no feature has so many values.
pub(super) fn product(sizes: impl Iterator<Item = usize>) -> usize {
    sizes.fold(1, usize::saturating_mul)
}

/// Returns the number of values of a dense feature of this shape.
///
/// # Errors
/// The default has another shape than the feature. If the first size depends on the data: the default is not one value.
pub(super) fn arity<'a>(shape: &TensorShape, default: TensorView<'a>) -> Result<Arity<'a>> {
    let sizes = dense_sizes(shape);
    let known: Option<Vec<usize>> = sizes.iter().copied().collect();
    let Some(known) = known else {
        if default.len() != 1 {
            let message =
                format!("the default of a feature {shape} must be one value, got {}", default.len());
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
        return Ok(Arity::MultipleOf(product(sizes.iter().copied().flatten())));
    };
    if !default.is_empty() && default.sizes() != known {
        let message =
            format!("the default of a feature {shape} must have its shape, got {:?}", default.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    Ok(Arity::Exactly { count: product(known.into_iter()), default: Some(default) })
}

/// Sets the indices, the values and the shape of a sparse feature. `levels` has the ends of the rows of each level, the
/// outermost first. The first axis numbers the examples; one example outside a batch lacks this axis.
pub(super) fn set_sparse(
    cx: &mut HostCx<'_>,
    outputs: [usize; 3],
    levels: &[&[usize]],
    values: FeatureElements,
    is_batch: bool,
) -> Result<()> {
    let mut sizes = vec![levels.first().map_or(0, |ends| ends.len())];
    let mut indices: Vec<i64> = (0..sizes[0] as i64).collect();
    for ends in levels {
        let mut longer = Vec::new();
        for (index, count) in indices.chunks_exact(sizes.len()).zip(counts(ends)) {
            for position in 0..count as i64 {
                longer.extend(index);
                longer.push(position);
            }
        }
        indices = longer;
        sizes.push(counts(ends).max().unwrap_or(0));
    }
    let first = usize::from(!is_batch);
    let (count, rank) = (values.len(), sizes.len() - first);
    let kept = indices.chunks_exact(sizes.len()).flat_map(|index| index[first..].iter().copied()).collect();
    cx.set_output(outputs[0], Tensor::from_vec(&[count, rank], kept)?)?;
    cx.set_output(outputs[1], values.finish(&[count])?)?;
    cx.set_output(outputs[2], int_tensor(DType::I64, &[rank], sizes.into_iter().skip(first))?)
}

/// Makes the tensor of a dense feature. Examples with fewer values than others are padded with the default.
pub(super) fn dense_tensor(
    feature: Feature<'_>,
    shape: &TensorShape,
    default: &TensorView<'_>,
    is_batch: bool,
) -> Result<Tensor> {
    let sizes = dense_sizes(shape);
    let stride = product(sizes.iter().copied().flatten());
    let longest = counts(&feature.ends).max().unwrap_or(0);
    let mut result: Vec<usize> = is_batch.then_some(feature.ends.len()).into_iter().collect();
    result.extend(sizes.iter().map(|size| size.unwrap_or(longest / stride.max(1))));
    match sizes.contains(&None) {
        true => padded(feature.elements, &feature.ends, longest, default)?.finish(&result),
        false => feature.elements.finish(&result),
    }
}

/// Makes the tensor of a dense feature list, whose rows have `sizes`. `ends` says where the rows of each example end.
/// Examples with fewer rows than others are padded with zeros or empty strings.
pub(super) fn dense_list(
    rows: Feature<'_>,
    ends: &[usize],
    sizes: &[usize],
    is_batch: bool,
) -> Result<Tensor> {
    let most = counts(ends).max().unwrap_or(0);
    let mut result: Vec<usize> = is_batch.then_some(ends.len()).into_iter().collect();
    result.push(most);
    result.extend(sizes);
    let stride = product(sizes.iter().copied());
    let value_ends: Vec<usize> = ends.iter().map(|end| end * stride).collect();
    let zero = Tensor::zeros(rows.elements.dtype(), &[])?;
    padded(rows.elements, &value_ends, most * stride, &zero.view())?.finish(&result)
}

/// Appends `default` to the values of each example until an example has `length` values. `ends` says where the values
/// of each example end.
fn padded(
    values: FeatureElements,
    ends: &[usize],
    length: usize,
    default: &TensorView<'_>,
) -> Result<FeatureElements> {
    if counts(ends).all(|count| count == length) {
        return Ok(values);
    }
    let total = values.len();
    let gathered = values.finish(&[total])?;
    let mut padded = FeatureElements::with_capacity(gathered.dtype(), ends.len().saturating_mul(length))?;
    let mut start = 0;
    for end in ends {
        padded.extend(&gathered.view(), start..*end)?;
        padded.repeat(default, 0, length - (end - start))?;
        start = *end;
    }
    Ok(padded)
}
