//! The gradient of a strided convolution with respect to its input, as a convolution of stride 1.

use shapeflow_shape_fns::Dim;

use super::conv::{Geometry, convolve_fitting};
use super::window::{Windows, dims_of, padded};
use crate::error::Result;
use crate::expr::Scalar;
use crate::graph::Value;

/// Returns the gradient with respect to images of the dimensions `image`; `None` if no stride exceeds 1, the filter is
/// dilated, or the channels are not known to be one group. All values have the channels last.
///
/// A position `o` of the padded images has the residue `r = o % stride`: `o = i * stride + r`. The gradient at `o` is
/// the sum over `t` of `filter[t * stride + r] * gradient[i - t]`. So each residue has a filter of its own. All
/// residues read the same windows, so one convolution computes them as channels. Then these channels become positions.
pub(super) fn gradient_by_residues<'g>(
    geometry: &Geometry,
    windows: &Windows,
    image: &[Dim],
    filter: Value<'g>,
    gradient: Value<'g>,
) -> Result<Option<Value<'g>>> {
    let strides = &geometry.strides;
    let channel_axis = strides.len() + 1;
    let has_one_group = dims_of(gradient)[channel_axis].same(&dims_of(filter)[channel_axis]) == Some(true);
    if !has_one_group || geometry.is_dilated() || strides.iter().all(|stride| *stride == 1) {
        return Ok(None);
    }
    let axes: Vec<Axis> = (0..strides.len())
        .map(|axis| Axis::new(strides[axis], axis + 1, windows, image, &dims_of(gradient)[axis + 1]))
        .collect::<Result<_>>()?;
    let zero = Scalar::zero(gradient.dtype());
    let on_spatial_axes = |pairs: &dyn Fn(&Axis) -> [Dim; 2]| {
        let none = [Dim::known(0), Dim::known(0)];
        [vec![none.clone()], axes.iter().map(pairs).collect(), vec![none]].concat()
    };
    let filters = filters_by_residues(&axes, filter)?;
    let bordered = padded(gradient, &on_spatial_axes(&|axis| axis.padding.clone()), zero)?;
    let result = convolve_fitting(&geometry.of_stride_1(), bordered, filters)?;
    let result = positions_of_residues(&axes, result, &image[channel_axis])?;
    let missing = on_spatial_axes(&|axis| [Dim::known(0), axis.missing.clone()]);
    let result = padded(result, &missing, zero)?;
    let begins: Vec<Dim> = on_spatial_axes(&|axis| [axis.begin.clone(), Dim::known(0)])
        .into_iter()
        .map(|[begin, _]| begin)
        .collect();
    Ok(Some(result.slice(&begins[..], image)?))
}

/// Returns the filters of the residues, reversed. For images: `[kh, kw, c, m] -> [th, tw, m, sh*sw*c]`. A residue's
/// filter is `th × tw`, and there are `sh*sw` residues.
fn filters_by_residues<'g>(axes: &[Axis], filter: Value<'g>) -> Result<Value<'g>> {
    let spatial = axes.len();
    let [inputs, outputs] = [dims_of(filter)[spatial].clone(), dims_of(filter)[spatial + 1].clone()];
    let zero = Dim::known(0);
    let mut paddings = vec![[zero.clone(), zero]; spatial + 2];
    for (axis, padding) in axes.iter().zip(&mut paddings) {
        padding[1] = axis.terms.checked_mul(&axis.stride)?.checked_sub(&axis.size)?;
    }
    let whole = padded(filter, &paddings, Scalar::zero(filter.dtype()))?;
    let of_axes = |f: &dyn Fn(&Axis) -> Dim| axes.iter().map(f).collect::<Vec<_>>();
    let terms = of_axes(&|axis| axis.terms.clone());
    let split: Vec<Dim> = axes.iter().flat_map(|axis| [axis.terms.clone(), axis.stride.clone()]).collect();
    let split = whole.reshape(&[split, vec![inputs.clone(), outputs.clone()]].concat()[..])?;
    let term_axes: Vec<usize> = (0..spatial).map(|axis| 2 * axis).collect();
    let residue_axes: Vec<usize> = (0..spatial).map(|axis| 2 * axis + 1).collect();
    let order = [term_axes.clone(), vec![2 * spatial + 1], residue_axes, vec![2 * spatial]].concat();
    let ordered = split.reverse(term_axes)?.transpose(order)?;
    let columns = axes.iter().try_fold(inputs, |columns, axis| columns.checked_mul(&axis.stride))?;
    ordered.reshape(&[terms, vec![outputs, columns]].concat()[..])
}

/// Turns channels into positions: `[n, h, w, sh*sw*c] -> [n, h*sh, w*sw, c]`.
fn positions_of_residues<'g>(axes: &[Axis], result: Value<'g>, channels: &Dim) -> Result<Value<'g>> {
    let (spatial, dims) = (axes.len(), dims_of(result));
    let strides = axes.iter().map(|axis| axis.stride.clone()).collect();
    let split = result.reshape(&[dims[..=spatial].to_vec(), strides, vec![channels.clone()]].concat()[..])?;
    let pairs = (1..=spatial).flat_map(|axis| [axis, axis + spatial]);
    let order: Vec<usize> = [0].into_iter().chain(pairs).chain([2 * spatial + 1]).collect();
    let mut sizes = vec![dims[0].clone()];
    for (axis, steps) in axes.iter().zip(&dims[1..]) {
        sizes.push(steps.checked_mul(&axis.stride)?);
    }
    sizes.push(channels.clone());
    split.transpose(order)?.reshape(&sizes[..])
}

/// A spatial axis.
struct Axis {
    stride: Dim,
    /// The number of elements of a residue's filter.
    terms: Dim,
    /// The number of elements of the filter.
    size: Dim,
    /// The numbers of zeros before and after the gradient.
    padding: [Dim; 2],
    /// The position of the result that is the first position of the images.
    begin: Dim,
    /// The number of positions of the images after the end of the result. No window covers them, so their gradient is
    /// 0.
    missing: Dim,
}

impl Axis {
    fn new(stride: i64, axis: usize, windows: &Windows, image: &[Dim], count: &Dim) -> Result<Axis> {
        let (stride, one, zero) = (Dim::known(stride), Dim::known(1), Dim::known(0));
        let (size, [front, _]) = (windows.sizes[axis].clone(), &windows.paddings[axis]);
        let terms = size.ceil_div(&stride)?;
        let reach = terms.checked_sub(&one)?;
        let end = image[axis].checked_add(front)?;
        // A step is `stride` positions of the result. A known number of steps outside the images is skipped.
        let known = |dim: Dim| dim.as_known().map(Dim::known);
        let skipped = known(front.floordiv(&stride)?.min(&reach)?).unwrap_or(zero.clone());
        let all = count.checked_add(&reach)?.checked_sub(&skipped)?;
        let needed = known(end.ceil_div(&stride)?.checked_sub(&skipped)?.max(count.checked_sub(&skipped)?)?);
        let steps = match needed {
            Some(needed) => known(all.min(needed)?).unwrap_or(all),
            None => all,
        };
        let before = reach.checked_sub(&skipped)?;
        let after = steps.checked_add(&skipped)?.checked_sub(count)?;
        let covered = steps.checked_add(&skipped)?.checked_mul(&stride)?;
        let missing = end.checked_sub(covered)?;
        let missing = if missing.le(&zero) == Some(true) { zero } else { missing.max(&zero)? };
        let begin = front.checked_sub(skipped.checked_mul(&stride)?)?;
        Ok(Axis { stride, terms, size, padding: [before, after], begin, missing })
    }
}
