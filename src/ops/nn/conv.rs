//! `conv_2d`, `conv_3d` and `depthwise_conv_2d`: convolutions of images and volumes with filters.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, Dim};

use super::convolve_windows;
use super::window::{
    Padding, Windows, by_groups, data_format, dims_of, entries, of_rank, refuse, with_padding, with_shape,
};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::graph::{IntoOperand, IntoParam, OpBuilder, Param, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::extract_image_patches;
use crate::ops::in_tensorflow::widened;
use crate::ops::nn::DataFormat;
use crate::ops::window_sizes::window;

impl<'g> Value<'g> {
    /// Convolves images with filters: `out[b, i, j, m] = Σ self[b, i*s + y*d, j*s + x*d, c] * filter[y, x, c, m]` over
    /// `y`, `x` and `c`, with strides `s` and dilations `d`. The images are padded with zeros.
    ///
    /// `[n, h, w, g*c], filter [kh, kw, c, g*m] -> [n, oh, ow, g*m]`, or `[n, g*c, h, w] -> [n, g*m, oh, ow]`; integers
    /// (which wrap) and floats of one dtype. Group `i` of the channels is convolved with group `i` of the filters. With
    /// [`Padding::Same`], `oh` is `ceil(h/strides[0])`. f16 and bf16 are summed as f32 and rounded once. As
    /// TensorFlow's `Conv2D`. A convolution of floats runs in matmul kernels, which read the windows where they lie in
    /// the images. A convolution of integers, or of many groups of few channels, fuses into kernels, and so does one
    /// whose number of channels is not known when the graph is built, which is several times slower. A filter of torch,
    /// `[g*m, c, kh, kw]`, needs `.transpose([2, 3, 1, 0])`, and torch's `padding=p` is `Padding::Explicit([[p, p], [p,
    /// p]])`. A series `[n, t, c]` is convolved as images of width 1: `.expand_dims(2)`, a filter `[k, 1, c, m]`, then
    /// `.squeeze([2])`.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", "h", 8, 3])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 3, 16])?;
    /// let y = x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, h, 8, 16]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are neither integers nor floats, a rank is not 4, the channels do not fit, a stride or
    /// dilation is less than 1, or no window fits. [`Value::max_pool`] says when a run fails because of a size that is
    /// unknown when the graph is built.
    #[doc(alias = "conv2d")]
    #[doc(alias = "conv1d")]
    #[doc(alias = "conv_1d")]
    #[doc(alias = "convolution")]
    #[track_caller]
    pub fn conv_2d(
        self,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        convolved::<2>(self.graph().op(&DEF).data(self).data(filter), lists, &padding, format)
            .finish_at(location)
    }

    /// Convolves volumes with filters, as [`Value::conv_2d`] convolves images: there is an axis of depth before the
    /// rows. `strides` and `dilations` are in the order depth, rows, columns.
    ///
    /// `[n, d, h, w, g*c], filter [kd, kh, kw, c, g*m] -> [n, od, oh, ow, g*m]`, or `[n, g*c, d, h, w] -> [n, g*m, od,
    /// oh, ow]`; else as [`Value::conv_2d`], but the padding is [`Padding::Valid`] or [`Padding::Same`]. As
    /// TensorFlow's `Conv3D`, except that the first window of [`Padding::Same`] never starts after the first element.
    /// In TensorFlow it starts at element `rest/2` if the stride skips elements and the windows leave
    /// `rest = d - (od-1)*stride - kd` elements. A convolution of floats runs in matmul kernels, which read the
    /// windows where they lie in the volumes. A convolution of integers, or of many groups of few channels, fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", "d", 8, 8, 3])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 3, 3, 16])?;
    /// let y = x.conv_3d(filter, [2, 2, 2], [1, 1, 1], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, ceildiv(d, 2), 4, 4, 16]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The padding is explicit, or a rank is not 5; else as [`Value::conv_2d`].
    #[doc(alias = "conv3d")]
    #[doc(alias = "convolution")]
    #[track_caller]
    pub fn conv_3d(
        self,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        convolved::<3>(self.graph().op(&VOLUMES).data(self).data(filter), lists, &padding, format)
            .finish_at(location)
    }

    /// Convolves each channel with its own filters: `out[.., c*m + k]` is channel `c` with filter `[.., c, k]`.
    ///
    /// `[n, h, w, c], filter [kh, kw, c, m] -> [n, oh, ow, c*m]`, or `[n, c, h, w] -> [n, c*m, oh, ow]`; else as
    /// [`Value::conv_2d`]. As TensorFlow's `DepthwiseConv2dNative`. The op is composed of a padding and of a reduction,
    /// which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, DataFormat, Graph, Padding, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    /// let filter = g.input("filter", DType::F32, [3, 3, 3, 2])?;
    /// let y = x.depthwise_conv_2d(filter, [1, 1], [1, 1], Padding::Same, DataFormat::ChannelsLast)?;
    /// assert_eq!(y.shape().to_string(), "[n, 8, 8, 6]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::conv_2d`].
    #[doc(alias = "depthwise_conv2d")]
    #[track_caller]
    pub fn depthwise_conv_2d(
        self,
        filter: impl IntoOperand<'g>,
        strides: impl IntoParam<'g>,
        dilations: impl IntoParam<'g>,
        padding: Padding,
        format: DataFormat,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let filter = filter.into_operand(self, location);
        let lists = [strides.into_param(), dilations.into_param()];
        convolved::<2>(self.graph().op(&DEPTHWISE).data(self).data(filter), lists, &padding, format)
            .finish_at(location)
    }
}

/// Adds the strides and dilations, one entry for each of the `N` spatial axes, the padding and the format to a call.
pub(super) fn convolved<'g, const N: usize>(
    call: OpBuilder<'g>,
    [strides, dilations]: [Param<'g>; 2],
    padding: &Padding,
    format: DataFormat,
) -> OpBuilder<'g> {
    let list = |list: [i64; N]| format.attr(&list);
    let call = call
        .known_attr("strides", window(strides, "strides", list))
        .known_attr("dilations", window(dilations, "dilations", list));
    with_padding(call, N, padding, format)
}

/// The attributes of a convolution of images.
pub(super) const IMAGE_ATTRS: &[Attribute] = &[
    Attribute::ints("strides"),
    Attribute::ints_or("dilations", &[]),
    Attribute::str("padding"),
    Attribute::ints_or("explicit_paddings", &[]),
    Attribute::str_or("data_format", "NHWC"),
];

/// The attributes of a convolution of volumes.
pub(super) const VOLUME_ATTRS: &[Attribute] = &[
    Attribute::ints("strides"),
    Attribute::ints_or("dilations", &[]),
    Attribute::str("padding"),
    Attribute::str_or("data_format", "NDHWC"),
];

pub(crate) static DEF: OpDef = OpDef::composite("conv_2d", |cx, values| build(cx, values, 2, false))
    .attrs(IMAGE_ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .tensorflow(&[TfOp::new("Conv2D")]);

pub(crate) static VOLUMES: OpDef = OpDef::composite("conv_3d", |cx, values| build(cx, values, 3, false))
    .attrs(VOLUME_ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .tensorflow(&[TfOp::new("Conv3D")]);

pub(crate) static DEPTHWISE: OpDef =
    OpDef::composite("depthwise_conv_2d", |cx, values| build(cx, values, 2, true))
        .attrs(IMAGE_ATTRS)
        .operands(&[Operand::Data("input"), Operand::Data("filter")])
        .tensorflow(&[TfOp::new("DepthwiseConv2dNative")]);

/// The attributes of a convolution.
pub(crate) struct Geometry {
    /// The format of the op's images.
    format: DataFormat,
    /// The strides along the spatial axes.
    pub(super) strides: Vec<i64>,
    /// The dilations along the spatial axes.
    dilations: Vec<i64>,
    /// `padding` and `explicit_paddings`, for images with the channels last.
    attrs: Attrs,
}

impl Geometry {
    /// Reads the attributes of a convolution of images (2 spatial axes) or volumes (3).
    ///
    /// # Errors
    /// An attribute is invalid.
    pub fn new(attrs: &Attrs, spatial: usize) -> Result<Geometry> {
        let format = data_format(attrs, spatial)?;
        let (rank, first) = (spatial + 2, format.first_spatial_axis());
        let of_axes = |name: &str, list: Vec<i64>| {
            let others = [list[0], list[format.channel_axis(rank)]];
            match others {
                [1, 1] => Ok(list[first..first + spatial].to_vec()),
                _ => refuse(format!("{name} must be 1 for the batch and the channels, got {list:?}")),
            }
        };
        let mut channels_last = Attrs::new().with("padding", attrs.str("padding"));
        let explicit = attrs.get("explicit_paddings").and_then(Attr::to_elements);
        if let Some(mut pairs) =
            explicit.and_then(|elements| elements.as_known()).filter(|pairs| !pairs.is_empty())
        {
            if format == DataFormat::ChannelsFirst && pairs.len() == 2 * rank {
                // The pair of the channels moves from axis 1 to the last axis.
                pairs[2..].rotate_left(2);
            }
            channels_last = channels_last.with("explicit_paddings", Attr::Ints(pairs.into()));
        }
        Ok(Geometry {
            format,
            strides: of_axes("strides", entries(attrs, "strides", None, rank, false)?)?,
            dilations: of_axes("dilations", entries(attrs, "dilations", None, rank, true)?)?,
            attrs: channels_last,
        })
    }

    /// Makes the geometry of a convolution with the channels last. The lists have an entry for each spatial axis;
    /// `explicit` holds the padding before and after each axis for padding `EXPLICIT`.
    pub(crate) fn channels_last_of(
        strides: Vec<i64>,
        dilations: Vec<i64>,
        padding: &str,
        explicit: Option<&[[i64; 2]]>,
    ) -> Geometry {
        let mut attrs = Attrs::new().with("padding", padding);
        if let Some(pairs) = explicit {
            let all: Vec<i64> = [[[0, 0]].as_slice(), pairs, &[[0, 0]]].concat().concat();
            attrs = attrs.with("explicit_paddings", Attr::Ints(all.into()));
        }
        Geometry { format: DataFormat::ChannelsLast, strides, dilations, attrs }
    }

    /// Returns the number of spatial axes.
    pub fn spatial(&self) -> usize {
        self.strides.len()
    }

    /// Returns whether the images of the op have the channels first.
    pub fn channels_are_first(&self) -> bool {
        self.format == DataFormat::ChannelsFirst
    }

    /// Returns whether a filter skips elements.
    pub fn is_dilated(&self) -> bool {
        self.dilations.iter().any(|dilation| *dilation > 1)
    }

    /// Returns the geometry of windows at every position inside padded images.
    pub fn of_stride_1(&self) -> Geometry {
        let attrs = Attrs::new().with("padding", "VALID");
        let (strides, dilations) = (vec![1; self.spatial()], self.dilations.clone());
        Geometry { format: self.format, strides, dilations, attrs }
    }

    /// Converts images from the format of the op to channels last. `name` says what they are in an error.
    ///
    /// # Errors
    /// The rank is wrong.
    pub fn channels_last<'g>(&self, x: Value<'g>, name: &str) -> Result<Value<'g>> {
        let rank = self.spatial() + 2;
        let x = of_rank(x, rank, name)?;
        match self.format {
            DataFormat::ChannelsLast => Ok(x),
            DataFormat::ChannelsFirst => {
                x.transpose([0].into_iter().chain(2..rank).chain([1]).collect::<Vec<_>>())
            }
        }
    }

    /// Converts images from channels last to the format of the op.
    pub fn in_format<'g>(&self, y: Value<'g>) -> Result<Value<'g>> {
        let last = self.spatial() + 1;
        match self.format {
            DataFormat::ChannelsLast => Ok(y),
            DataFormat::ChannelsFirst => {
                y.transpose([0, last].into_iter().chain(1..last).collect::<Vec<_>>())
            }
        }
    }

    /// Returns the windows of filters of these sizes over images `dims`.
    pub fn windows(&self, dims: &[Dim], sizes: &[Dim]) -> Result<Windows> {
        let one = [Dim::known(1)];
        let sizes = [&one, sizes, &one].concat();
        let spatial_list = |list: &[i64]| DataFormat::ChannelsLast.entries(1, list);
        let strides = spatial_list(&self.strides).into_iter().map(Dim::known).collect();
        let dilations = spatial_list(&self.dilations);
        Windows::new(&self.attrs, DataFormat::ChannelsLast, dims, sizes, strides, dilations)
    }

    /// Returns the windows of padded images as vectors: `[n, oh, ow, kh*kw*c]`.
    pub fn patches<'g>(&self, padded: Value<'g>, sizes: [i64; 2]) -> Result<Value<'g>> {
        let call = padded.graph().op(&extract_image_patches::DEF).data(padded);
        let call = call
            .attr("ksizes", DataFormat::ChannelsLast.attr(&sizes))
            .attr("strides", DataFormat::ChannelsLast.attr(&self.strides));
        call.attr("rates", DataFormat::ChannelsLast.attr(&self.dilations)).attr("padding", "VALID").finish()
    }
}

fn build<'g>(
    cx: &CompositeCx<'_>,
    values: &[Value<'g>],
    spatial: usize,
    is_depthwise: bool,
) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<_> = values.iter().map(|value| value.dtype()).collect();
    dtype::common(&dtypes, 0, 2, dtype::Class::Number)?;
    let geometry = Geometry::new(cx.attrs(), spatial)?;
    let x = geometry.channels_last(values[0], "the input of a convolution")?;
    let filter = of_rank(values[1], spatial + 2, "the filter of a convolution")?;
    let filter = if is_depthwise { of_every_channel(filter, &dims_of(x)[3])? } else { filter };
    let y = convolve(&geometry, x, filter)?;
    Ok(vec![geometry.in_format(y)?])
}

/// Reshapes depthwise filters `[kh, kw, c, m]` to the filters `[kh, kw, 1, c*m]` of a convolution in which every
/// channel is a group.
///
/// # Errors
/// `c` is not the number of channels.
fn of_every_channel<'g>(filter: Value<'g>, channels: &Dim) -> Result<Value<'g>> {
    let mut sizes = dims_of(filter);
    if sizes[2].same(channels) == Some(false) {
        let message = format!(
            "a depthwise filter must have the channels of the images, got {} and {channels}",
            sizes[2]
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    }
    sizes[2] = channels.clone();
    let outputs = channels.checked_mul(&sizes[3]).unwrap_or(Dim::known(-1));
    let filter = with_shape("a depthwise filter and the images", filter, &sizes)?;
    let [rows, columns, ..] = &sizes[..] else { unreachable!("a filter has 4 axes") };
    filter.reshape(&[rows.clone(), columns.clone(), Dim::known(1), outputs][..])
}

/// Groups of several channels get an axis in the result only if a group has at most this number of filters. With more
/// filters, kernels that find the group of each filter by a quotient are faster.
const MOST_FILTERS_WITH_GROUP_AXIS: i64 = 4;

/// Returns whether the result of a convolution of `channels` channels with a filter of these sizes should have an axis
/// for the groups: a group has several filters, and either one channel or few filters.
fn has_short_groups(channels: &Dim, sizes: &[Dim]) -> bool {
    let [.., inputs, outputs] = sizes else { return false };
    let groups = convolve_windows::groups_of(channels, inputs, outputs);
    let filters = groups.and_then(|(_, filters)| filters.as_known());
    filters.is_some_and(|filters| {
        filters > 1 && (filters <= MOST_FILTERS_WITH_GROUP_AXIS || inputs.as_known() == Some(1))
    })
}

/// The largest number of groups that are convolved one by one.
const MOST_SEPARATE_GROUPS: i64 = 128;

/// The smallest number of products for an element of each filter of a group from which on a matrix product for each
/// group is faster than one kernel for all groups. If there are fewer groups than vector lanes, it is always faster.
const LEAST_SEPARATE_PRODUCTS: i64 = 64;

/// The number of groups from which on vector lanes run along the groups.
const GROUPS_AS_LANES: i64 = 16;

/// Returns the number of groups of channels if each group should be a matrix product of its own; else `None`. `sizes`
/// are the sizes of the filter.
fn separate_groups(dtype: DType, channels: &Dim, sizes: &[Dim]) -> Option<i64> {
    let [window @ .., inputs, _] = sizes else { return None };
    let (groups, filters) = convolve_windows::groups_of(channels, inputs, sizes.last()?)?;
    let (groups, filters) = (groups.as_known()?, filters.as_known()?);
    let pairs = inputs.as_known()?.checked_mul(filters)?;
    let products = window.iter().try_fold(pairs, |products, size| products.checked_mul(size.as_known()?))?;
    let is_worth_it = products >= LEAST_SEPARATE_PRODUCTS || groups < GROUPS_AS_LANES;
    let has_matmul =
        matches!(window.len(), 2 | 3) && matches!(dtype, DType::F16 | DType::BF16 | DType::F32 | DType::F64);
    (has_matmul && pairs > 1 && (2..=MOST_SEPARATE_GROUPS).contains(&groups) && is_worth_it).then_some(groups)
}

/// Convolves images with the channels last.
///
/// # Errors
/// A window provably does not fit.
pub(crate) fn convolve<'g>(geometry: &Geometry, x: Value<'g>, filter: Value<'g>) -> Result<Value<'g>> {
    let (dims, sizes) = (dims_of(x), dims_of(filter));
    geometry.windows(&dims, &sizes[..geometry.spatial()])?.require_fit(&dims)?;
    convolve_fitting(geometry, x, filter)
}

/// Convolves images with the channels last. There may be no window at all: if an image is empty, its gradient has fewer
/// elements around it than a window.
pub(super) fn convolve_fitting<'g>(
    geometry: &Geometry,
    x: Value<'g>,
    filter: Value<'g>,
) -> Result<Value<'g>> {
    let spatial = geometry.spatial();
    let (dims, sizes) = (dims_of(x), dims_of(filter));
    if let Some(groups) = separate_groups(x.dtype(), &dims[spatial + 1], &sizes) {
        return by_groups(groups, [x, filter], |x, filter| convolve_fitting(geometry, x, filter));
    }
    let windows = geometry.windows(&dims, &sizes[..spatial])?;
    let padded = windows.pad(x, Scalar::zero(x.dtype()))?;
    let has_one_group = dims[spatial + 1].same(&sizes[spatial]) == Some(true);
    let is_contraction = has_one_group && matches!(spatial, 2 | 3);
    let splits_groups = !has_one_group && has_short_groups(&dims[spatial + 1], &sizes);
    let def = match (has_one_group, spatial) {
        (true, 2) => &convolve_windows::IMAGES,
        (true, 3) => &convolve_windows::VOLUMES,
        (false, _) if splits_groups => &convolve_windows::GROUPS,
        _ => &convolve_windows::GROUPED,
    };
    // Products of matrices sum f16 and bf16 as f32.
    let [padded, filter] = match is_contraction {
        true => [widened(padded)?, widened(filter)?],
        false => [padded, filter],
    };
    let call = x.graph().op(def).data(padded).data(filter).attr("padding", "VALID");
    let call = call
        .attr("strides", DataFormat::ChannelsLast.attr(&geometry.strides))
        .attr("dilations", DataFormat::ChannelsLast.attr(&geometry.dilations));
    if !is_contraction {
        let axis_1_fits = !geometry.channels_are_first() && dims[1].same(&sizes[spatial]) == Some(true);
        let call = if axis_1_fits { call.attr("axis_1_fits", true) } else { call };
        let y = call.size("positions", &windows.positions()[1..=spatial]).finish()?;
        if !splits_groups {
            return Ok(y);
        }
        let mut output = dims_of(y);
        output.truncate(spatial + 1);
        output.extend(sizes.last().cloned());
        return y.reshape(&output[..]);
    }
    let y = call.finish()?.cast(x.dtype())?;
    windows.of_counts(y)
}

#[cfg(test)]
mod tests {
    use super::{DEF, DEPTHWISE, VOLUMES};
    use crate::{Attr, DType, DataFormat, Graph, Padding, Tensor, shape};

    #[test]
    fn strides_and_dilations_are_1_for_the_batch_and_the_channels() {
        let g = Graph::new();
        for (def, spatial) in [(&DEF, 2), (&DEPTHWISE, 2), (&VOLUMES, 3)] {
            let x = g.constant(Tensor::full(&[vec![1], vec![4; spatial], vec![3]].concat(), 1.0f32).unwrap());
            let filter = g.constant(Tensor::full(&[vec![2; spatial], vec![3, 3]].concat(), 1.0f32).unwrap());
            let (x, filter) = (x.unwrap(), filter.unwrap());
            for name in ["strides", "dilations"] {
                for axis in [0, spatial + 1] {
                    let mut list = vec![1i64; spatial + 2];
                    list[axis] = 2;
                    let call = g.op(def).data(x).data(filter).attr("padding", "SAME");
                    let ones = Attr::from(vec![1i64; spatial + 2]);
                    let other = if name == "strides" { "dilations" } else { "strides" };
                    let error = call.attr(name, list.clone()).attr(other, ones).finish().unwrap_err();
                    let expected = format!("{name} must be 1 for the batch and the channels, got {list:?}");
                    assert!(error.message().ends_with(&expected), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_depthwise_filter_has_the_channels_of_the_images() {
        let (valid, last) = (Padding::Valid, DataFormat::ChannelsLast);
        let g = Graph::new();
        let x = g.input("x", DType::F32, [1, 4, 4, 2]).unwrap();
        let filter = g.input("filter", DType::F32, [1, 1, 4, 1]).unwrap();
        let error = x.depthwise_conv_2d(filter, [1, 1], [1, 1], valid.clone(), last).unwrap_err();
        assert!(error.message().contains("channels"), "{error}");
        let filter = g.input("unknown", DType::F32, shape![1, 1, ?, 1]).unwrap();
        let y = x.depthwise_conv_2d(filter, [1, 1], [1, 1], valid, last).unwrap();
        let exe = g.compile(y).unwrap();
        let [x, filter] =
            [vec![1, 4, 4, 2], vec![1, 1, 4, 1]].map(|sizes| Tensor::full(&sizes, 1.0f32).unwrap());
        assert!(exe.run::<1>(&[x.view(), filter.view()]).is_err());
    }
}
