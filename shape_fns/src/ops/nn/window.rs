//! How many places a sliding window takes along an axis.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError};

/// What stands before and after an axis.
#[derive(Clone, Debug)]
pub(crate) enum Padding {
    /// Nothing.
    Valid,
    /// As much as it takes to have one place for every stride begun.
    Same,
    /// So many elements on both sides together.
    Explicit(i64),
}

/// A window of one axis.
pub(crate) struct Window<'a> {
    /// The axis, for messages.
    pub(crate) axis: usize,
    /// Its elements.
    pub(crate) size: &'a Dim,
    /// From one place to the next.
    pub(crate) stride: &'a Dim,
    /// From one element to the next.
    pub(crate) dilation: i64,
    /// Around the axis.
    pub(crate) padding: Padding,
}

/// The attribute `padding`, with nothing said of explicit numbers.
///
/// # Errors
/// It is neither `VALID` nor `SAME`.
pub(crate) fn padding(cx: &InferenceContext<'_>) -> Result<Padding> {
    match cx.str("padding")? {
        "VALID" => Ok(Padding::Valid),
        "SAME" => Ok(Padding::Same),
        other => bail!("padding must be VALID or SAME, got {other:?}"),
    }
}

impl Window<'_> {
    /// The axis with its padding, less the elements from the window's first to its last, both counted once: what is
    /// left is how far it slides.
    fn slack(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        let one = Dim::known(1);
        let steps = cx.sub(self.size, &one)?;
        let span = cx.mul(&steps, &Dim::known(self.dilation))?;
        let extent = match self.padding {
            Padding::Explicit(elements) => cx.add(input, &Dim::known(elements))?,
            _ => input.clone(),
        };
        let covered = cx.add(&span, &one)?;
        cx.sub(&extent, &covered)
    }

    fn check(&self, cx: &mut InferenceContext<'_>) -> Result<()> {
        let axis = self.axis;
        for (what, least) in [("stride", self.stride), ("window", self.size)] {
            cx.require(Guard::Ge(least.clone(), Dim::known(1))).map_err(|_| {
                ShapeError::new(format_args!("a {what} must be at least 1, got {least} at axis {axis}"))
            })?;
        }
        if self.dilation < 1 {
            bail!("a dilation must be at least 1, got {} at axis {axis}", self.dilation);
        }
        Ok(())
    }

    /// The number of places along an axis of this size.
    ///
    /// # Errors
    /// A stride, size or dilation is less than 1, or the window provably does not fit.
    pub(crate) fn places(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        self.check(cx)?;
        if let Padding::Same = self.padding {
            return cx.ceil_div(input, self.stride);
        }
        let slack = self.slack(cx, input)?;
        cx.require(Guard::Ge(slack.clone(), Dim::known(0))).map_err(|_| {
            let dilated = if self.dilation > 1 { format!(" dilated by {}", self.dilation) } else { String::new() };
            let padded = match self.padding {
                Padding::Explicit(elements) if elements > 0 => format!(" padded by {elements}"),
                _ => String::new(),
            };
            ShapeError::new(format_args!(
                "a window must fit into the input, got a window of {}{dilated} for {input}{padded} at axis {}",
                self.size, self.axis
            ))
        })?;
        let further = cx.floordiv(&slack, self.stride)?;
        cx.add(&further, &Dim::known(1))
    }

    /// The elements that a border has before an axis of this size, on which the window has so many places: half of what
    /// the windows take more, rounded down.
    ///
    /// # Errors
    /// An overflow.
    pub(crate) fn before(&self, cx: &mut InferenceContext<'_>, input: &Dim, places: &Dim) -> Result<Dim> {
        let zero = Dim::known(0);
        let Padding::Same = self.padding else { return Ok(zero) };
        let last = cx.sub(places, &Dim::known(1))?;
        let start = cx.mul(&last, self.stride)?;
        let slack = self.slack(cx, input)?;
        let missing = cx.sub(&start, &slack)?;
        let missing = cx.max(&missing, &zero)?;
        cx.floordiv(&missing, &Dim::known(2))
    }

    /// Like [`Window::places`], where a window that does not fit by less than a stride has no place instead of being
    /// refused.
    ///
    /// # Errors
    /// Same as [`Window::places`], and it misses by a stride or more.
    pub(crate) fn places_or_none(&self, cx: &mut InferenceContext<'_>, input: &Dim) -> Result<Dim> {
        if let Padding::Same = self.padding {
            return self.places(cx, input);
        }
        self.check(cx)?;
        let slack = self.slack(cx, input)?;
        let (zero, one) = (Dim::known(0), Dim::known(1));
        // Of a quotient rounded towards zero: it is not negative while the dividend is above minus the divisor.
        let dividend = cx.add(&slack, self.stride)?;
        let least = cx.add(&dividend, self.stride)?;
        cx.require(Guard::Ge(least, one)).map_err(|_| {
            ShapeError::new(format_args!(
                "a window must miss the input by less than a stride, got a window of {} for {input} at axis {}",
                self.size, self.axis
            ))
        })?;
        let places = cx.floordiv(&dividend, self.stride)?;
        cx.max(&places, &zero)
    }
}
