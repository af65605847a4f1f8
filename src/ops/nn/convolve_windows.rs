//! `convolve_windows`, `convolve_volume_windows`, `convolve_grouped_windows` and `convolve_groups`: the products of
//! windows with filters.

use shapeflow_shape_fns::{Attribute, Attrs, Dim, Guard, InferenceContext, ShapeError, TensorShape, counted};
use smallvec::SmallVec;

use super::reduce_elements::reduce_elements;
use super::reduce_window::{dims_param, position_count};
use crate::dtype;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::op::{ContractionSpec, OpDef, Operand, TfOp};
use crate::ops::widen::widen;

const ATTRS: &[Attribute] =
    &[Attribute::ints("strides"), Attribute::ints("dilations"), Attribute::str_or("padding", "VALID")];

/// `axis_1_fits` says that the channels of the program's images are last, but axis 1 has as many elements as a filter
/// has channels. Errors then advise to name the axis of the channels.
const GROUPED_ATTRS: &[Attribute] = &[
    Attribute::ints("strides"),
    Attribute::ints("dilations"),
    Attribute::str_or("padding", "VALID"),
    Attribute::bool_or("axis_1_fits", false),
];

/// The op that `conv_2d` applies to its padded images: `[n, h, w, c], [kh, kw, c, m] -> [n, oh, ow, m]`. Attributes:
/// `strides` and `dilations`, one entry per axis, and `padding`, which is `VALID`. Floats run in matmul kernels that
/// read the windows where they lie in the images. An export writes `Conv2D`, which an import reads as `conv_2d`.
pub(crate) static IMAGES: OpDef = OpDef::contraction("convolve_windows", lower, spec)
    .internal()
    .attrs(ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .shape_fn(|cx| shape(cx, &[2]))
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Conv2D").own_shape_fn()]);

/// As [`IMAGES`] for volumes: `[n, d, h, w, c], [kd, kh, kw, c, m] -> [n, od, oh, ow, m]`. An export writes `Conv3D`,
/// which an import reads as `conv_3d`.
pub(crate) static VOLUMES: OpDef = OpDef::contraction("convolve_volume_windows", lower, spec)
    .internal()
    .attrs(ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .shape_fn(|cx| shape(cx, &[3]))
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Conv3D").own_shape_fn()]);

/// As [`IMAGES`] and [`VOLUMES`] for groups of channels, and for any number of spatial axes:
/// `[n, h, w, g*c], [kh, kw, c, g*m] -> [n, oh, ow, g*m]`. Group `i` of the channels is convolved with group `i` of the
/// filters. `positions` is the number of windows along each spatial axis, or -1 for all that fit.
pub(crate) static GROUPED: OpDef = OpDef::compute("convolve_grouped_windows", lower_groups)
    .internal()
    .attrs(GROUPED_ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Size("positions")])
    .shape_fn(|cx| shape(cx, ANY))
    .dtype_rule(dtype::binary::number);

/// As [`GROUPED`], with an axis for the groups: `[n, h, w, g*c], [kh, kw, c, g*m] -> [n, oh, ow, g, m]`. The index of
/// the input has no quotient, so vector lanes can run along the groups or along the filters of a group.
pub(crate) static GROUPS: OpDef = OpDef::compute("convolve_groups", lower_groups)
    .internal()
    .attrs(GROUPED_ATTRS)
    .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Size("positions")])
    .shape_fn(|cx| {
        let (mut dims, groups) = windows_shape(cx, ANY)?;
        dims.pop();
        dims.extend(groups);
        cx.set_output(0, TensorShape::from(dims));
        Ok(())
    })
    .dtype_rule(dtype::binary::number);

/// Stands for any number of spatial axes, of at least 1.
const ANY: &[usize] = &[];

/// Returns the number of groups of channels and the number of filters of a group. `None` means that they are not known
/// to be whole numbers.
pub(super) fn groups_of(channels: &Dim, inputs: &Dim, outputs: &Dim) -> Option<(Dim, Dim)> {
    let groups = channels.exact_div(inputs)?;
    let filters = outputs.exact_div(&groups)?;
    Some((groups, filters))
}

fn spec(attrs: &Attrs) -> ContractionSpec {
    let spatial = |name| -> SmallVec<[usize; 3]> {
        let entries = attrs.ints(name);
        let spatial = &entries[1..entries.len() - 1];
        spatial.iter().map(|entry| usize::try_from(*entry).expect("an entry is at least 1")).collect()
    };
    ContractionSpec::Windows { strides: spatial("strides"), dilations: spatial("dilations") }
}

/// Sets the shape of a convolution whose number of spatial axes is one of `ranks`.
fn shape(cx: &mut InferenceContext<'_>, ranks: &[usize]) -> shapeflow_shape_fns::Result<()> {
    let (dims, _) = windows_shape(cx, ranks)?;
    cx.set_output(0, TensorShape::from(dims));
    Ok(())
}

/// Returns the dims `[n, oh, ow, g*m]`, and `[g, m]`. Derives the number of filters of a group.
fn windows_shape(
    cx: &mut InferenceContext<'_>,
    ranks: &[usize],
) -> shapeflow_shape_fns::Result<(Vec<Dim>, [Dim; 2])> {
    let (strides, dilations) = (spatial(cx, "strides", ranks)?, spatial(cx, "dilations", ranks)?);
    if strides.len() != dilations.len() {
        return Err(ShapeError::new(format_args!(
            "strides and dilations must have equally many entries, got {} and {}",
            strides.len() + 2,
            dilations.len() + 2
        )));
    }
    let mut dims_of = |operand: usize| -> shapeflow_shape_fns::Result<Vec<Dim>> {
        let shape = cx.with_rank(operand, strides.len() + 2)?;
        Ok(shape.dims().expect("the rank is known").to_vec())
    };
    let (input, filter) = (dims_of(0)?, dims_of(1)?);
    let [batch, extents @ .., channels] = &input[..] else { unreachable!("an input has 2 axes more") };
    let [sizes @ .., inputs, outputs] = &filter[..] else { unreachable!("a filter has 2 axes more") };
    let [groups, filters] = groups_and_filters(cx, channels, inputs, outputs)?;
    cx.set_derived("filters", [filters.clone()]);
    let given = dims_param(cx, "positions")?;
    let mut output = vec![batch.clone()];
    for (axis, (extent, size)) in extents.iter().zip(sizes).enumerate() {
        let one = Dim::known(1);
        let steps = cx.sub(size, &one)?;
        let span = cx.mul(&steps, &Dim::known(dilations[axis]))?;
        let span = cx.add(&span, &one)?;
        let given = given.as_ref().and_then(|given| given.get(axis));
        output.push(position_count(cx, axis + 1, extent, [&span, &Dim::known(strides[axis])], given)?);
    }
    output.push(outputs.clone());
    Ok((output, [groups, filters]))
}

/// Adds the advice to name the axis of the channels, if the program said that the channels are last and axis 1 has as
/// many elements as a filter has channels.
fn with_format_help(error: ShapeError, cx: &InferenceContext<'_>) -> ShapeError {
    match cx.bool_or("axis_1_fits", false) {
        Ok(true) => error.with_help(
            "axis 1 has as many elements as a filter has channels: if it is the axis of the channels, use \
             DataFormat::ChannelsFirst",
        ),
        _ => error,
    }
}

/// Returns the number of groups of `inputs` channels, and the number of filters of each group.
fn groups_and_filters(
    cx: &mut InferenceContext<'_>,
    channels: &Dim,
    inputs: &Dim,
    outputs: &Dim,
) -> shapeflow_shape_fns::Result<[Dim; 2]> {
    let groups = match channels.exact_div(inputs) {
        Some(groups) => groups,
        None => {
            cx.require(Guard::Divides { divisor: inputs.clone(), dividend: channels.clone() }).map_err(
                |_| {
                    let requirement = "the number of input channels must be a multiple of the filter's";
                    with_format_help(
                        ShapeError::new(format_args!("{requirement}, got {channels} and {inputs}")),
                        cx,
                    )
                },
            )?;
            cx.floordiv(channels, inputs)?
        }
    };
    cx.require(Guard::Divides { divisor: groups.clone(), dividend: outputs.clone() }).map_err(|_| {
        let requirement = "the number of filters must be a multiple of the number of groups";
        let message = format!(
            "{requirement}, got {outputs} and {groups}: the input has {channels} channels, and a filter has {inputs}"
        );
        with_format_help(ShapeError::new(message), cx)
    })?;
    let filters = match outputs.exact_div(&groups) {
        Some(filters) => filters,
        None => cx.floordiv(outputs, &groups)?,
    };
    Ok([groups, filters])
}

/// Returns the entries of an attribute for the spatial axes. Their number must be one of `ranks`, or of [`ANY`].
fn spatial(
    cx: &InferenceContext<'_>,
    name: &str,
    ranks: &[usize],
) -> shapeflow_shape_fns::Result<SmallVec<[i64; 3]>> {
    match cx.ints(name)?[..] {
        [1, ref spatial @ .., 1]
            if !spatial.is_empty()
                && (ranks == ANY || ranks.contains(&spatial.len()))
                && spatial.iter().all(|entry| *entry >= 1) =>
        {
            Ok(SmallVec::from_slice(spatial))
        }
        ref entries if ranks == ANY => Err(ShapeError::new(format_args!(
            "{name} must have at least 3 entries of at least 1, the first and the last of them 1, got {entries:?}"
        ))),
        ref entries => {
            let counts: Vec<String> = ranks.iter().map(|rank| (rank + 2).to_string()).collect();
            Err(ShapeError::new(format_args!(
                "{name} must have {} of at least 1, the first and the last of them 1, got {entries:?}",
                counted(counts.join(" or "), "entry")
            )))
        }
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    products(cx, output, index, false)
}

fn lower_groups(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    products(cx, output, index, true)
}

/// Returns the sum of the products of a window and a filter. With `small_in_registers`, a small window is no reduction:
/// see [`reduce_elements`].
fn products(cx: &mut dyn LowerCx, output: usize, index: &[Index], small_in_registers: bool) -> Expr {
    let (strides, dilations) = (cx.ints("strides"), cx.ints("dilations"));
    let filter = cx.dims(1);
    let spatial = filter.len() - 2;
    let (channels, inputs) = (cx.dims(0)[spatial + 1].clone(), filter[spatial].clone());
    let filters = cx.derived("filters")[0].clone();
    // With one group, the channel of the filter is the channel of the input.
    let (group, column) = match &index[spatial + 1..] {
        [group, filter] => (group.clone(), group.clone() * filters + filter.clone()),
        [column, ..] if channels == inputs => (Index::from(0), column.clone()),
        [column, ..] => (column.clone().floordiv(filters), column.clone()),
        [] => unreachable!("an output has an axis of filters"),
    };
    let first = group * inputs;
    let mut product = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let mut element = vec![index[0].clone()];
        element.extend((0..spatial).map(|axis| {
            index[axis + 1].clone() * strides[axis + 1] + inner[axis].clone() * dilations[axis + 1]
        }));
        element.push(first.clone() + inner[spatial].clone());
        let mut weight = inner.to_vec();
        weight.push(column.clone());
        widen(cx.operand(0, &element)) * widen(cx.operand(1, &weight))
    };
    let sum = match small_in_registers {
        true => reduce_elements(cx, ReduceOp::Sum, &filter[..=spatial], &mut product),
        false => cx.reduce(ReduceOp::Sum, &filter[..=spatial], &mut product),
    };
    sum.cast(cx.output_dtype(output))
}
