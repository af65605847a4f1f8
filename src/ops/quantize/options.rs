//! `QuantizeOptions`: how floats map to the integers of a quantized dtype.

use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::Index;
use crate::graph::{OpBuilder, Value};

/// Which numbers the integers of a quantized dtype stand for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum QuantizeMode {
    /// The lowest integer stands for the minimum of the range, and the highest integer for the maximum.
    #[default]
    MinCombined,
    /// As [`QuantizeMode::MinCombined`], but the minimum is moved to a multiple of the step, so that an integer stands
    /// for 0.
    MinFirst,
    /// The integer 0 stands for 0. The step is the least for which the integers reach both ends of the range.
    Scaled,
}

/// How floats map to the integers of a quantized dtype.
///
/// ```
/// use shapeflow::{QuantizeMode, QuantizeOptions};
///
/// let per_row = QuantizeOptions { mode: QuantizeMode::Scaled, axis: Some(0), ..QuantizeOptions::default() };
/// assert!(!per_row.narrow_range);
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QuantizeOptions {
    /// Which numbers the integers stand for.
    pub mode: QuantizeMode,
    /// Rounds ties to even. Otherwise ties round away from zero. Any mode but [`QuantizeMode::Scaled`] refuses this
    /// option.
    pub round_half_to_even: bool,
    /// Leaves out the lowest integer. Only [`QuantizeMode::Scaled`] uses this option.
    pub narrow_range: bool,
    /// The axis whose slices have ranges of their own: minimum and maximum are vectors. `None` for one range.
    pub axis: Option<usize>,
    /// Widens a range that is narrower than `minimum_range * max(1, |min|, |max|)`, where `min` and `max` are its ends.
    pub minimum_range: f64,
}

impl Default for QuantizeOptions {
    /// One range, all integers, ties away from zero, and a minimum range of 0.01.
    fn default() -> QuantizeOptions {
        QuantizeOptions {
            mode: QuantizeMode::MinCombined,
            round_half_to_even: false,
            narrow_range: false,
            axis: None,
            minimum_range: 0.01,
        }
    }
}

impl QuantizeMode {
    fn name(self) -> &'static str {
        match self {
            QuantizeMode::MinCombined => "MIN_COMBINED",
            QuantizeMode::MinFirst => "MIN_FIRST",
            QuantizeMode::Scaled => "SCALED",
        }
    }
}

/// Declares the attributes of an op that quantizes: the fields of [`QuantizeOptions`], and `dtype`.
pub(super) const fn quantize_attrs(dtype: Attribute) -> [Attribute; 6] {
    [
        dtype,
        Attribute::str_or("mode", "MIN_COMBINED"),
        Attribute::str_or("round_mode", "HALF_AWAY_FROM_ZERO"),
        Attribute::bool_or("narrow_range", false),
        Attribute::int_or("axis", -1),
        Attribute::float_or("ensure_minimum_range", 0.01),
    ]
}

impl QuantizeOptions {
    /// Adds the options to a call as attributes.
    pub(super) fn add_to(self, call: OpBuilder<'_>) -> OpBuilder<'_> {
        let axis = self.axis.map_or(-1, |axis| i64::try_from(axis).unwrap_or(i64::MAX));
        let rounding = if self.round_half_to_even { "HALF_TO_EVEN" } else { "HALF_AWAY_FROM_ZERO" };
        let call = call.attr("mode", self.mode.name()).attr("round_mode", rounding).attr("axis", axis);
        call.attr("narrow_range", self.narrow_range).attr("ensure_minimum_range", self.minimum_range)
    }

    /// Reads the options from the attributes of a call.
    ///
    /// # Errors
    /// An attribute has a value without a meaning.
    pub(super) fn of(attrs: &Attrs) -> Result<QuantizeOptions> {
        let mode = match attrs.str("mode") {
            "MIN_COMBINED" => QuantizeMode::MinCombined,
            "MIN_FIRST" => QuantizeMode::MinFirst,
            "SCALED" => QuantizeMode::Scaled,
            other => {
                return dtype::refuse(format!("mode must be MIN_COMBINED, MIN_FIRST or SCALED, got {other}"));
            }
        };
        let round_half_to_even = match attrs.str("round_mode") {
            "HALF_AWAY_FROM_ZERO" => false,
            "HALF_TO_EVEN" if mode == QuantizeMode::Scaled => true,
            "HALF_TO_EVEN" => {
                return dtype::refuse(format!("mode must be SCALED to round to even, got {}", mode.name()));
            }
            other => {
                let rule = "round_mode must be HALF_AWAY_FROM_ZERO or HALF_TO_EVEN";
                return dtype::refuse(format!("{rule}, got {other}"));
            }
        };
        Ok(QuantizeOptions {
            mode,
            round_half_to_even,
            narrow_range: attrs.bool("narrow_range"),
            axis: usize::try_from(attrs.int("axis")).ok(),
            minimum_range: attrs.float("ensure_minimum_range"),
        })
    }

    /// Returns the index of the range of the element at `index`.
    pub(super) fn range_index(self, index: &[Index]) -> Vec<Index> {
        self.axis.and_then(|axis| index.get(axis).cloned()).into_iter().collect()
    }
}

/// Returns the quantized dtype of attribute `dtype`.
///
/// # Errors
/// The attribute is not a quantized dtype.
pub(super) fn quantized_attr(attrs: &Attrs) -> Result<DType> {
    match attrs.dtype("dtype") {
        dtype if dtype.is_quantized() => Ok(dtype),
        other => dtype::refuse(format!("dtype must be quantized, got {other}")),
    }
}

/// Checks that the first operand is quantized and that all other operands are f32. Returns the quantized dtype.
///
/// # Errors
/// An operand has another dtype.
pub(super) fn quantized_and_ranges(dtypes: &[DType]) -> Result<DType> {
    let Some((first, ends)) = dtypes.split_first() else {
        return dtype::refuse("a quantized operand must be given, got none".to_string());
    };
    if !first.is_quantized() {
        let message = format!("the element type must be quantized, got {first} in operand 0");
        let quantized = match first {
            DType::I8 => DType::QI8,
            DType::U8 => DType::QU8,
            DType::I16 => DType::QI16,
            DType::U16 => DType::QU16,
            DType::I32 => DType::QI32,
            _ => return dtype::refuse(message),
        };
        let help =
            format!("read the integers as quantized elements with .bitcast({})", dtype::spelled(quantized));
        return dtype::refuse_with_help(message, help);
    }
    all_f32(ends)?;
    Ok(*first)
}

/// Checks that the ends of ranges are f32.
///
/// # Errors
/// One has another dtype.
pub(super) fn all_f32(ends: &[DType]) -> Result<()> {
    match ends.iter().find(|dtype| **dtype != DType::F32) {
        Some(other) => dtype::refuse(format!("the ends of a range must be f32, got {other}")),
        None => Ok(()),
    }
}

/// Returns `value`. The run fails with `requirement` and the ends of the range unless the condition holds.
///
/// # Errors
/// The condition is not a bool scalar.
#[track_caller]
pub(super) fn checked_range<'g>(
    value: Value<'g>,
    condition: Value<'g>,
    requirement: &str,
    [min, max]: [Value<'g>; 2],
) -> Result<Value<'g>> {
    value.checked_with(
        condition,
        &format!("{requirement}, got minimum "),
        &[(min, " and maximum "), (max, "")],
    )
}

/// In mode `MIN_FIRST` with attribute `axis`, requires operand 1, the minima of the ranges, to have one element.
pub(super) fn one_range_if_min_first(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let is_min_first = cx.attrs().str("mode") == "MIN_FIRST";
    if is_min_first && cx.int_or("axis", -1)? >= 0 {
        let [ranges] = cx.axes::<1>(1)?;
        let wrong = |_| ShapeError::new(format_args!("mode MIN_FIRST must have one range, got {ranges}"));
        cx.merge(&ranges, &Dim::known(1)).map_err(wrong)?;
    }
    Ok(())
}
