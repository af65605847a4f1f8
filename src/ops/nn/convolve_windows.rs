//! `convolve_windows` and `convolve_grouped_windows`: the products of windows with filters.

use shapeflow_shape_fns::{Attribute, Attrs, Dim, InferenceContext, ShapeError, TensorShape};

use super::reduce_window::{dims_param, position_count};
use super::window::entries;
use crate::dtype;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::op::{ContractionSpec, OpDef, Operand, TfOp};
use crate::ops::widen::widen;

/// A part of convolutions, over padded images: `[n, h, w, c], [kh, kw, c, m] -> [n, oh, ow, m]`. Attributes: `strides`
/// and `dilations`, one entry per axis, and `padding`, which is `VALID`. Floats run in matmul kernels that read the
/// windows where they lie in the images. An export writes `Conv2D`, which an import reads as `conv_2d`.
pub(crate) static DEF: OpDef = OpDef::contraction("convolve_windows", lower, spec)
    .attrs(&[Attribute::ints("strides"), Attribute::ints("dilations"), Attribute::str_or("padding", "VALID")])
    .operands(&[Operand::Data("input"), Operand::Data("filter")])
    .shape_fn(shape)
    .dtype_rule(dtype::binary::number)
    .tensorflow(&[TfOp::new("Conv2D").own_shape_fn()]);

/// As [`DEF`] for groups of channels: `[n, h, w, g*c], [kh, kw, c, g*m] -> [n, oh, ow, g*m]`. Group `i` of the channels
/// is convolved with group `i` of the filters. `positions` is the number of windows along each spatial axis, or -1 for
/// all that fit.
pub(crate) static GROUPED: OpDef = OpDef::compute("convolve_grouped_windows", lower)
    .attrs(&[Attribute::ints("strides"), Attribute::ints("dilations"), Attribute::str_or("padding", "VALID")])
    .operands(&[Operand::Data("input"), Operand::Data("filter"), Operand::Size("positions")])
    .shape_fn(shape)
    .dtype_rule(dtype::binary::number);

fn spec(attrs: &Attrs) -> ContractionSpec {
    let spatial = |name| {
        let entries = entries(attrs, name, None, 4, true).expect("the shape function has read these entries");
        [entries[1], entries[2]].map(|entry| usize::try_from(entry).expect("an entry is at least 1"))
    };
    ContractionSpec::Windows { strides: spatial("strides"), dilations: spatial("dilations") }
}

fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let [batch, rows, columns, channels] = cx.axes::<4>(0)?;
    let [filter_rows, filter_columns, inputs, outputs] = cx.axes::<4>(1)?;
    let groups = channels.exact_div(&inputs);
    let groups = match groups {
        Some(groups) => groups,
        None => {
            let divides =
                shapeflow_shape_fns::Guard::Divides { divisor: inputs.clone(), dividend: channels.clone() };
            cx.require(divides).map_err(|_| {
                ShapeError::new(format_args!(
                    "the number of input channels must be a multiple of the filter's, got {channels} and {inputs}"
                ))
            })?;
            cx.floordiv(&channels, &inputs)?
        }
    };
    let divides = shapeflow_shape_fns::Guard::Divides { divisor: groups.clone(), dividend: outputs.clone() };
    cx.require(divides).map_err(|_| {
        ShapeError::new(format_args!(
            "the number of filters must be a multiple of the number of groups, got {outputs} and {groups}"
        ))
    })?;
    let filters = match outputs.exact_div(&groups) {
        Some(filters) => filters,
        None => cx.floordiv(&outputs, &groups)?,
    };
    // The filters of a group.
    cx.set_derived("filters", [filters]);
    let (strides, dilations) = (spatial(cx, "strides")?, spatial(cx, "dilations")?);
    let given = dims_param(cx, "positions")?;
    let mut output = vec![batch];
    for (axis, (extent, size)) in [(rows, filter_rows), (columns, filter_columns)].iter().enumerate() {
        let one = Dim::known(1);
        let steps = cx.sub(size, &one)?;
        let span = cx.mul(&steps, &Dim::known(dilations[axis]))?;
        let span = cx.add(&span, &one)?;
        let given = given.as_ref().and_then(|given| given.get(axis));
        output.push(position_count(cx, axis + 1, extent, [&span, &Dim::known(strides[axis])], given)?);
    }
    output.push(outputs);
    cx.set_output(0, TensorShape::from(output));
    Ok(())
}

/// Returns the entries of an attribute for the spatial axes.
fn spatial(cx: &InferenceContext<'_>, name: &str) -> shapeflow_shape_fns::Result<[i64; 2]> {
    match cx.ints(name)?[..] {
        [1, rows, columns, 1] if rows >= 1 && columns >= 1 => Ok([rows, columns]),
        ref entries => Err(ShapeError::new(format_args!(
            "{name} must have 4 entries of at least 1, the first and the last of them 1, got {entries:?}"
        ))),
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (strides, dilations) = (cx.ints("strides"), cx.ints("dilations"));
    let filter = cx.dims(1);
    let (channels, inputs) = (cx.dims(0)[3].clone(), filter[2].clone());
    let filters = cx.derived("filters")[0].clone();
    // With one group, the channel of the filter is the channel of the image.
    let first = match channels == inputs {
        true => Index::from(0),
        false => index[3].clone().floordiv(filters) * inputs.clone(),
    };
    let sum = cx.reduce(ReduceOp::Sum, &filter[..3], &mut |cx, inner| {
        let at = |axis: usize| {
            index[axis + 1].clone() * strides[axis + 1] + inner[axis].clone() * dilations[axis + 1]
        };
        let x = cx.operand(0, &[index[0].clone(), at(0), at(1), first.clone() + inner[2].clone()]);
        let weight = [inner[0].clone(), inner[1].clone(), inner[2].clone(), index[3].clone()];
        widen(x) * widen(cx.operand(1, &weight))
    });
    sum.cast(cx.output_dtype(output))
}
