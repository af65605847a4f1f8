//! The number of positions of a sliding window along an axis.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError};

/// The padding around an axis.
#[derive(Clone, Debug)]
pub(crate) enum Padding {
    /// No padding.
    Valid,
    /// The padding that gives `ceildiv(size, stride)` positions.
    Same,
    /// The total number of elements before and after the axis.
    Explicit(i64),
}

/// A window along one axis.
pub(crate) struct Window<'a> {
    /// The axis, for messages.
    pub(crate) axis: usize,
    /// The number of elements of the window.
    pub(crate) size: &'a Dim,
    /// The distance from one position to the next.
    pub(crate) stride: &'a Dim,
    /// The distance from one element to the next.
    pub(crate) dilation: i64,
    /// The padding around the axis.
    pub(crate) padding: Padding,
}

/// Reads attribute `padding`, which must not be `EXPLICIT`.
///
/// # Errors
/// The attribute is neither `VALID` nor `SAME`.
pub(crate) fn padding(cx: &InferenceContext<'_>) -> Result<Padding> {
    match cx.str("padding")? {
        "VALID" => Ok(Padding::Valid),
        "SAME" => Ok(Padding::Same),
        other => bail!("padding must be VALID or SAME, got {other:?}"),
    }
}

impl Window<'_> {
    /// Returns how far the window can slide: the padded size minus the span of the window,
    /// `(size - 1) * dilation + 1`.
    fn slack(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        let one = Dim::known(1);
        let steps = cx.sub(self.size, &one)?;
        let span_minus_1 = cx.mul(&steps, &Dim::known(self.dilation))?;
        let extent = match self.padding {
            Padding::Explicit(elements) => cx.add(input, &Dim::known(elements))?,
            _ => input.clone(),
        };
        let span = cx.add(&span_minus_1, &one)?;
        cx.sub(&extent, &span)
    }

    /// Requires stride, size and dilation to be at least 1.
    fn check(&self, cx: &mut InferenceContext<'_>) -> Result<()> {
        let axis = self.axis;
        for (what, value) in [("stride", self.stride), ("window size", self.size)] {
            cx.require(Guard::Ge(value.clone(), Dim::known(1))).map_err(|_| {
                ShapeError::new(format_args!("a {what} must be at least 1, got {value} at axis {axis}"))
            })?;
        }
        if self.dilation < 1 {
            bail!("a dilation must be at least 1, got {} at axis {axis}", self.dilation);
        }
        Ok(())
    }

    /// Returns the number of positions along an axis of size `input`. A run accepts a window that exceeds an axis of
    /// unknown size: see [`Window::position_count_or_zero`].
    ///
    /// # Errors
    /// A stride, size or dilation is less than 1, or the window provably does not fit.
    pub(crate) fn position_count(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        if let Padding::Valid | Padding::Explicit(_) = self.padding {
            let slack = self.slack(cx, input)?;
            if cx.at_least(&Dim::known(-1), &slack) {
                self.check(cx)?;
                return Err(self.too_large(input));
            }
        }
        self.position_count_or_zero(cx, input)
    }

    /// Returns the error about a window that exceeds an axis of size `input`.
    fn too_large(&self, input: &Dim) -> ShapeError {
        let dilated =
            if self.dilation > 1 { format!(" dilated by {}", self.dilation) } else { String::new() };
        let padded = match self.padding {
            Padding::Explicit(elements) if elements > 0 => format!(" padded by {elements}"),
            _ => String::new(),
        };
        ShapeError::new(format_args!(
            "a window must fit into the input, got a window of {}{dilated} for {input}{padded} at axis {}",
            self.size, self.axis
        ))
    }

    /// Returns the padding before an axis of size `input` on which the window has `positions` positions: half of the
    /// total padding, rounded down. 0 unless the padding is `SAME`.
    ///
    /// # Errors
    /// An integer overflows.
    pub(crate) fn padding_before(
        &self,
        cx: &mut InferenceContext<'_>,
        input: &Dim,
        positions: &Dim,
    ) -> Result<Dim> {
        let zero = Dim::known(0);
        let Padding::Same = self.padding else { return Ok(zero) };
        let last = cx.sub(positions, &Dim::known(1))?;
        let start = cx.mul(&last, self.stride)?;
        let slack = self.slack(cx, input)?;
        let missing = cx.sub(&start, &slack)?;
        let missing = cx.max(&missing, &zero)?;
        cx.floordiv(&missing, &Dim::known(2))
    }

    /// Returns the number of positions along an axis of size `input`. A window that exceeds the axis by less than two
    /// strides has 0 positions.
    ///
    /// # Errors
    /// A stride, size or dilation is less than 1, or the window provably exceeds the axis further.
    pub(crate) fn position_count_or_zero(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        self.check(cx)?;
        if let Padding::Same = self.padding {
            return cx.ceil_div(input, self.stride);
        }
        let slack = self.slack(cx, input)?;
        let (zero, one) = (Dim::known(0), Dim::known(1));
        // TensorFlow rounds `(slack + stride) / stride` toward zero, so the quotient is not negative for a dividend
        // above -stride.
        let dividend = cx.add(&slack, self.stride)?;
        let least = cx.add(&dividend, self.stride)?;
        cx.require(Guard::Ge(least, one)).map_err(|_| {
            ShapeError::new(format_args!(
                "a window must exceed the input by less than two strides, got a window of {} for {input} at axis {}",
                self.size, self.axis
            ))
        })?;
        let positions = cx.floordiv(&dividend, self.stride)?;
        cx.max(&positions, &zero)
    }
}
