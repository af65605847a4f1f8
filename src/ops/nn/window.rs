//! `Windows`: the windows of a pool or convolution over images or volumes, and their padding.

use shapeflow_shape_fns::{Attr, Attrs, Dim, TensorShape, counted};

use super::list_as_shape::{Requirements, list_dims};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoParam, OpBuilder, Param, Value};
use crate::op::CompositeCx;
use crate::ops::array::concat::concat;
use crate::ops::nn::DataFormat;

/// The padding around an image or a volume.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Padding {
    /// No padding: every window lies inside the image.
    Valid,
    /// As much padding as it takes for `ceil(size / stride)` windows along an axis. The smaller half is in front.
    Same,
    /// The number of elements before and after the rows, then before and after the columns. Volumes do not take it.
    Explicit([[i64; 2]; 2]),
}

/// Adds the parameters `ksize` and `strides`, which have an entry for each of the `spatial` axes, the padding and the
/// format to a call. The call is refused if a parameter provably has another number of entries, or if volumes have an
/// explicit padding.
pub(super) fn with_pool_windows<'g>(
    mut call: OpBuilder<'g>,
    [sizes, strides]: [Param<'g>; 2],
    spatial: usize,
    padding: &Padding,
    format: DataFormat,
) -> OpBuilder<'g> {
    for (name, what, list) in [("ksize", "sizes", sizes), ("strides", "strides", strides)] {
        match all_entries(format, what, list, spatial) {
            Ok(list) => call = call.size(name, list),
            Err(error) => call.refuse(error),
        }
    }
    with_padding(call, spatial, padding, format)
}

/// Returns the parameter with `spatial`, which has `count` entries, for the spatial axes, and 1 for the batch and the
/// channels.
///
/// # Errors
/// The parameter provably has another number of entries.
fn all_entries<'g>(format: DataFormat, name: &str, spatial: Param<'g>, count: usize) -> Result<Param<'g>> {
    match spatial {
        Param::Elements(list) if list.elements().len() != count => refuse(format!(
            "{name} must be {count}, got {}",
            list.elements().len(),
            count = counted(count, "integer")
        )),
        Param::Elements(list) => Ok(format.entries(Dim::known(1), list.elements()).into_param()),
        Param::Value(value) => {
            let one = value.graph().constant([1i32])?.cast(value.dtype())?;
            Ok(concat(&format.entries(one, &[value]), 0)?.into_param())
        }
        refused => Ok(refused),
    }
}

/// Adds the padding and the format to a call. The call is refused if volumes have an explicit padding.
pub(super) fn with_padding<'g>(
    call: OpBuilder<'g>,
    spatial: usize,
    padding: &Padding,
    format: DataFormat,
) -> OpBuilder<'g> {
    let call = call.attr("data_format", format.name(spatial));
    match padding {
        Padding::Valid => call.attr("padding", "VALID"),
        Padding::Same => call.attr("padding", "SAME"),
        Padding::Explicit(pairs) if pairs.len() == spatial => {
            let entries = format.entries([0, 0], pairs);
            let entries = Attr::Ints(entries.as_flattened().into());
            call.attr("padding", "EXPLICIT").attr("explicit_paddings", entries)
        }
        Padding::Explicit(_) => {
            let message = "padding must be Valid or Same for volumes, got Explicit";
            call.known_attr("padding", refuse(message.to_string()))
        }
    }
}

/// Windows along the axes of a tensor, and the padding of the tensor.
pub(crate) struct Windows {
    pub sizes: Vec<Dim>,
    pub strides: Vec<Dim>,
    pub dilations: Vec<i64>,
    /// The number of elements before and after each axis.
    pub paddings: Vec<[Dim; 2]>,
    /// The number of windows along each axis. `None` means as many windows as fit into the padded axis.
    pub counts: Vec<Option<Dim>>,
}

/// Returns the elements of parameter `name`: the elements of the attribute, or else of `value`, as far as the elements
/// are known when the graph is built.
pub(super) fn param_dims(attrs: &Attrs, name: &str, value: Option<&Value<'_>>) -> Option<Vec<Dim>> {
    if let Some(attr) = attrs.get(name) {
        return attr.to_elements().map(|elements| elements.elements().to_vec());
    }
    let value = value?;
    let index = value.index().ok()?;
    let data = value.graph().read();
    data.values[index.index()].elements.as_ref().map(|elements| elements.elements().to_vec())
}

/// Returns the list `name` of `rank` integers, an attribute or `value`; all ones if it is absent or empty and `default`
/// allows this.
///
/// # Errors
/// The list is absent although it must be given, does not have one entry per axis, or has an entry below 1.
pub(super) fn entries(
    attrs: &Attrs,
    name: &str,
    value: Option<&Value<'_>>,
    rank: usize,
    default: bool,
) -> Result<Vec<i64>> {
    let given = param_dims(attrs, name, value);
    let given: Option<Vec<i64>> = given.and_then(|dims| dims.iter().map(Dim::as_known).collect());
    let entries = match given {
        None if default => vec![1; rank],
        None => {
            return refuse(format!("{name} must be known when the graph is built: it is a list of integers"));
        }
        Some(entries) if entries.is_empty() && default => vec![1; rank],
        Some(entries) => entries,
    };
    if entries.len() != rank {
        return refuse(format!(
            "{name} must have {rank}, got {}",
            entries.len(),
            rank = counted(rank, "entry")
        ));
    }
    match entries.iter().find(|entry| **entry < 1) {
        Some(entry) => refuse(format!("{name} must be at least 1, got {entry}")),
        None => Ok(entries),
    }
}

/// Returns the values of a call for these operands, in the order of their declaration; `None` for a parameter that is
/// an attribute.
pub(super) fn operand_values<'g, const N: usize>(
    cx: &CompositeCx<'_>,
    names: [&str; N],
    values: &[Value<'g>],
) -> [Option<Value<'g>>; N] {
    let mut rest = values.iter().copied();
    names.map(|name| if cx.attrs().get(name).is_some() { None } else { rest.next() })
}

/// Returns the list `name` of `rank` integers, which is `ksize` or `strides`: an attribute or `value`. A run checks
/// entries that are unknown when the graph is built, if the graph uses them.
///
/// # Errors
/// The list is absent, provably does not have one entry per axis, or provably has an entry below 1, or other than 1 for
/// an axis of `ones`.
pub(super) fn window_dims(
    attrs: &Attrs,
    name: &'static str,
    value: Option<Value<'_>>,
    rank: usize,
    ones: &[usize],
) -> Result<Vec<Dim>> {
    let given = param_dims(attrs, name, value.as_ref());
    let known: Option<Vec<i64>> = given.as_ref().and_then(|dims| dims.iter().map(Dim::as_known).collect());
    if known.is_none()
        && let Some(value) = value
    {
        let requirements = Requirements { name, rank, least: 1, ones, others: None };
        return list_dims(value.graph(), value, requirements);
    }
    let known = known.map(|entries| entries.into_iter().map(Dim::known).collect());
    let Some(dims): Option<Vec<Dim>> = known.or(given) else {
        return refuse(format!("{name} must be given: it is a list of integers"));
    };
    if dims.len() != rank {
        return refuse(format!("{name} must have {rank}, got {}", dims.len(), rank = counted(rank, "entry")));
    }
    match dims.iter().find(|entry| entry.lt(&Dim::known(1)) == Some(true)) {
        Some(entry) => refuse(format!("{name} must be at least 1, got {entry}")),
        None => Ok(dims),
    }
}

/// Returns an error about an attribute.
pub(crate) fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Build, message))
}

/// Returns the format that attribute `data_format` names, for images (2 spatial axes) or volumes (3).
///
/// # Errors
/// There is no such format.
pub(super) fn data_format(attrs: &Attrs, spatial: usize) -> Result<DataFormat> {
    let given = attrs.str("data_format");
    let formats = [DataFormat::ChannelsLast, DataFormat::ChannelsFirst];
    match formats.into_iter().find(|format| format.name(spatial) == given) {
        Some(format) => Ok(format),
        None => {
            let [last, first] = formats.map(|format| format.name(spatial));
            refuse(format!("data_format must be {last} or {first}, got {given:?}"))
        }
    }
}

/// Returns the entries of `dims`, separated by commas.
pub(super) fn list_text(dims: &[Dim]) -> String {
    dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(", ")
}

impl Windows {
    /// Reads the padding of windows over a tensor with dimensions `dims`, in the order of `format`.
    ///
    /// # Errors
    /// The attributes are invalid, or the expression of a dimension has too many terms.
    pub fn new(
        attrs: &Attrs,
        format: DataFormat,
        dims: &[Dim],
        sizes: Vec<Dim>,
        strides: Vec<Dim>,
        dilations: Vec<i64>,
    ) -> Result<Windows> {
        let (zero, one) = (Dim::known(0), Dim::known(1));
        let rank = dims.len();
        let mut windows = Windows {
            paddings: vec![[zero.clone(), zero.clone()]; rank],
            counts: vec![None; rank],
            sizes,
            strides,
            dilations,
        };
        let explicit = attrs.get("explicit_paddings").and_then(Attr::to_elements);
        let explicit = explicit.and_then(|elements| elements.as_known()).unwrap_or_default();
        match attrs.str("padding") {
            "VALID" | "SAME" if !explicit.is_empty() => {
                return refuse("explicit_paddings must be empty unless padding is EXPLICIT".to_string());
            }
            "VALID" => {}
            "SAME" => {
                for (axis, extent) in dims.iter().enumerate() {
                    if windows.is_element(axis) {
                        continue;
                    }
                    let stride = &windows.strides[axis];
                    let count = extent.ceil_div(stride)?;
                    let last = count.checked_sub(&one)?.checked_mul(stride)?;
                    let end = last.checked_add(windows.span(axis)?)?;
                    let missing = end.checked_sub(extent)?.max(&zero)?;
                    let before = missing.floordiv(Dim::known(2))?;
                    let after = missing.checked_sub(&before)?;
                    windows.paddings[axis] = [before, after];
                    windows.counts[axis] = Some(count);
                }
            }
            "EXPLICIT" => {
                if explicit.len() != 2 * rank {
                    return refuse(format!(
                        "explicit_paddings must have {}, got {}",
                        counted(2 * rank, "entry"),
                        explicit.len()
                    ));
                }
                if let Some(entry) = explicit.iter().find(|entry| **entry < 0) {
                    return refuse(format!("explicit_paddings must not be negative, got {entry}"));
                }
                for axis in [0, format.channel_axis(rank)] {
                    if explicit[2 * axis..2 * axis + 2] != [0, 0] {
                        return refuse(format!(
                            "explicit_paddings must be 0 for the batch and the channels, got {explicit:?}"
                        ));
                    }
                }
                for (axis, pair) in explicit.chunks_exact(2).enumerate() {
                    windows.paddings[axis] = [Dim::known(pair[0]), Dim::known(pair[1])];
                }
            }
            other => return refuse(format!("padding must be SAME, VALID or EXPLICIT, got {other:?}")),
        }
        Ok(windows)
    }

    /// Returns the distance from the first to the last element of a window, plus 1.
    pub fn span(&self, axis: usize) -> Result<Dim> {
        let steps = self.sizes[axis].checked_sub(Dim::known(1))?;
        Ok(steps.checked_mul(Dim::known(self.dilations[axis]))?.checked_add(Dim::known(1))?)
    }

    /// Makes windows whose sizes and strides are 1 along the axes `ones` of a tensor with dimensions `dims`, also where
    /// the lists say so only in a run. With the padding `SAME`, sizes are bounded: see [`bounded`].
    ///
    /// # Errors
    /// As [`Windows::new`].
    pub fn with_ones(
        attrs: &Attrs,
        format: DataFormat,
        dims: &[Dim],
        [sizes, strides]: [&[Dim]; 2],
        ones: &[usize],
    ) -> Result<Windows> {
        let one = Dim::known(1);
        let plain = |list: &[Dim]| -> Vec<Dim> {
            let entry = |axis: usize| if ones.contains(&axis) { one.clone() } else { list[axis].clone() };
            (0..list.len()).map(entry).collect()
        };
        let plain_sizes = bounded_sizes(attrs, plain(sizes), dims)?;
        let mut windows =
            Windows::new(attrs, format, dims, plain_sizes, plain(strides), vec![1; dims.len()])?;
        for &axis in ones {
            if sizes[axis] != one || strides[axis] != one {
                windows.counts[axis] = Some(dims[axis].clone());
            }
        }
        Ok(windows)
    }

    /// Returns the sizes for an op over the windows that [`Windows::with_ones`] made of the sizes `given`: along
    /// `ones`, a run checks the given sizes.
    pub fn checked_sizes(&self, given: &[Dim], ones: &[usize]) -> Vec<Dim> {
        let size = |axis: usize| if ones.contains(&axis) { &given[axis] } else { &self.sizes[axis] };
        (0..given.len()).map(|axis| size(axis).clone()).collect()
    }

    /// Returns whether every element along an axis is a window.
    fn is_element(&self, axis: usize) -> bool {
        self.sizes[axis].as_known() == Some(1) && self.strides[axis].as_known() == Some(1)
    }

    /// Returns the padded size of an axis of this size.
    fn padded(&self, axis: usize, extent: &Dim) -> Result<Dim> {
        let [before, after] = &self.paddings[axis];
        Ok(extent.checked_add(before)?.checked_add(after)?)
    }

    /// Returns the number of windows along an axis of this size, as `reduce_window` does.
    pub fn count(&self, axis: usize, extent: &Dim) -> Result<Dim> {
        if let Some(count) = &self.counts[axis] {
            return Ok(count.clone());
        }
        let padded = self.padded(axis, extent)?;
        if self.is_element(axis) {
            return Ok(padded);
        }
        let stride = &self.strides[axis];
        let count = padded.checked_sub(self.span(axis)?)?.checked_add(stride)?.floordiv(stride)?;
        // With a stride of 1, a run refuses every size for which this number is negative.
        if stride.as_known() == Some(1) { Ok(count) } else { Ok(count.max(Dim::known(0))?) }
    }

    /// Refuses a window that provably exceeds a padded axis of a tensor with dimensions `dims`. Only a run decides
    /// about sizes that are unknown when the graph is built: it accepts a window that exceeds the axis a little.
    ///
    /// # Errors
    /// The window exceeds the axis.
    pub fn require_fit(&self, dims: &[Dim]) -> Result<()> {
        for (axis, extent) in dims.iter().enumerate() {
            if self.counts[axis].is_some() || self.is_element(axis) {
                continue;
            }
            let (padded, span) = (self.padded(axis, extent)?, self.span(axis)?);
            if padded.lt(&span) == Some(true) {
                let message = format!(
                    "a window must fit into the input, got a window of {span} for {padded} at axis {axis}"
                );
                return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
            }
        }
        Ok(())
    }

    /// Returns the number of windows along each axis of a tensor with dimensions `dims`.
    pub fn all_counts(&self, dims: &[Dim]) -> Result<Vec<Dim>> {
        dims.iter().enumerate().map(|(axis, extent)| self.count(axis, extent)).collect()
    }

    /// Returns `x` with its padding, filled with `border`.
    pub fn pad<'g>(&self, x: Value<'g>, border: Scalar) -> Result<Value<'g>> {
        padded(x, &self.paddings, border)
    }

    /// Returns `y`, which has an element for each window, with the numbers of windows in their simplest form. A shape
    /// function infers them from the padded sizes.
    pub fn of_counts<'g>(&self, y: Value<'g>) -> Result<Value<'g>> {
        let mut sizes = dims_of(y);
        for (size, count) in sizes.iter_mut().zip(&self.counts) {
            if let Some(count) = count {
                *size = count.clone();
            }
        }
        if sizes == dims_of(y) { Ok(y) } else { y.reshape(&sizes[..]) }
    }

    /// Returns the parameter `positions` of an op over windows: the number of windows along each axis, or -1 for as
    /// many as fit.
    pub fn positions(&self) -> Vec<Dim> {
        self.counts.iter().map(|count| count.clone().unwrap_or(Dim::known(-1))).collect()
    }
}

/// The largest size of a window that is not compared with the size of its axis.
const LARGEST_UNBOUNDED: i64 = 1 << 10;

/// Returns sizes of windows over a tensor with dimensions `dims`: the sizes themselves, or, with the padding `SAME`,
/// bounded ones: see [`bounded`].
pub(super) fn bounded_sizes(attrs: &Attrs, sizes: Vec<Dim>, dims: &[Dim]) -> Result<Vec<Dim>> {
    match attrs.str("padding") {
        "SAME" => sizes.into_iter().zip(dims).map(|(size, extent)| bounded(size, extent)).collect(),
        _ => Ok(sizes),
    }
}

/// Returns a size whose windows have the same elements of an axis of size `extent` as windows of `size`, if the padding
/// is `SAME`. The padding is as large as the windows, so that a large size must not stay.
///
/// There are `count = ceil(extent / stride)` windows, so the last one starts `last = (count - 1) * stride < extent`
/// after the first one. The padding has `last + size - extent` elements; half of them are in front. If `size` is at
/// least `2 * extent`, the front padding is at least `last`, and every window ends after the axis: each window has the
/// whole axis.
fn bounded(size: Dim, extent: &Dim) -> Result<Dim> {
    match size.as_known() {
        Some(known) if known > LARGEST_UNBOUNDED => {
            let twice = extent.checked_mul(Dim::known(2))?.max(Dim::known(1))?;
            Ok(size.min(twice)?)
        }
        _ => Ok(size),
    }
}

/// Adds `border` around `x`. Returns `x` if all paddings are known to be 0.
pub(crate) fn padded<'g>(x: Value<'g>, paddings: &[[Dim; 2]], border: Scalar) -> Result<Value<'g>> {
    let flat: Vec<Dim> = paddings.iter().flatten().cloned().collect();
    if flat.iter().all(|padding| padding.as_known() == Some(0)) {
        return Ok(x);
    }
    let border = x.graph().constant(scalar_tensor(border)?)?;
    x.pad_with(&flat[..], border)
}

fn scalar_tensor(value: Scalar) -> Result<crate::tensor::Tensor> {
    let mut tensor = crate::tensor::Tensor::zeros(value.dtype(), &[])?;
    value.write_bytes(tensor.view_mut()?.bytes_mut()).expect("the tensor has the dtype of the scalar");
    Ok(tensor)
}

/// Returns `x`, whose rank must be `rank`. If the rank is unknown, the result is an identity transpose: it has this
/// rank in the graph, and a run checks the rank of `x`.
///
/// # Errors
/// The rank differs.
pub(crate) fn of_rank<'g>(x: Value<'g>, rank: usize, name: &str) -> Result<Value<'g>> {
    match x.shape().rank() {
        Some(actual) if actual == rank => Ok(x),
        None => x.transpose((0..rank).collect::<Vec<_>>()),
        Some(actual) => Err(Error::new(
            ErrorKind::Shape,
            Phase::Build,
            format!("{name} must have rank {rank}, got rank {actual}"),
        )),
    }
}

/// Returns the dimensions of a value of known rank.
pub(crate) fn dims_of(x: Value<'_>) -> Vec<Dim> {
    x.shape().dims().expect("the rank is known").to_vec()
}

/// Returns `x`, whose dimensions must be `dims`. A run checks sizes that are not known when the graph is built.
///
/// # Errors
/// The shapes provably differ; `what` names them.
pub(crate) fn with_shape<'g>(what: &str, x: Value<'g>, dims: &[Dim]) -> Result<Value<'g>> {
    let given = dims_of(x);
    agree(what, &given, dims)?;
    if given == dims { Ok(x) } else { x.ensure_shape(TensorShape::from(dims.to_vec())) }
}

/// Refuses shapes that provably differ.
pub(crate) fn agree(what: &str, a: &[Dim], b: &[Dim]) -> Result<()> {
    if a.iter().zip(b).any(|(a, b)| a.same(b) == Some(false)) {
        let message = format!("{what} must agree, got [{}] and [{}]", list_text(a), list_text(b));
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    }
    Ok(())
}
/// Calls `f` for each group of channels with its parts of two values whose last axes have the channels of all groups.
/// Returns the results side by side.
///
/// # Errors
/// A last axis provably has no such parts, or `f` refuses a group.
pub(super) fn by_groups<'g>(
    groups: i64,
    [a, b]: [Value<'g>; 2],
    f: impl Fn(Value<'g>, Value<'g>) -> Result<Value<'g>>,
) -> Result<Value<'g>> {
    if groups == 1 {
        return f(a, b);
    }
    let pairs = a.split_n(groups, -1)?.into_iter().zip(b.split_n(groups, -1)?);
    concat(&pairs.map(|(a, b)| f(a, b)).collect::<Result<Vec<_>>>()?, -1)
}
