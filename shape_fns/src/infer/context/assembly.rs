//! Assembly: shapes made of new unknowns, of parts of other shapes, and of the elements of parameters.

use std::ops::{Bound, RangeBounds};

use crate::error::bail;
use crate::{Dim, InferenceContext, List, Result, SymbolKind, TensorShape};

impl InferenceContext<'_> {
    /// A new unknown size.
    pub fn fresh(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Size)
    }

    /// A new unknown integer, possibly negative.
    pub fn fresh_integer(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Integer)
    }

    /// A shape of so many new unknown sizes.
    pub fn unknown_shape_of_rank(&mut self, rank: usize) -> TensorShape {
        TensorShape::new((0..rank).map(|_| self.table.fresh(SymbolKind::Size)))
    }

    /// The axes of `a`, then those of `b`; unranked if either is.
    pub fn concatenate(&self, a: &TensorShape, b: &TensorShape) -> TensorShape {
        a.concatenate(b)
    }

    /// The axes in `range`; a negative end of the range counts from the last axis: of `[a, b, c, d]` the axes `1..`
    /// are `[b, c, d]`, the axes `..-1` are `[a, b, c]`, and the axes `-2..` are `[c, d]`. An end past the rank is the
    /// rank. Of an unranked shape it is unranked.
    ///
    /// # Errors
    /// A negative end lies before the first axis, or the range ends before it starts.
    pub fn subshape(&self, shape: &TensorShape, range: impl RangeBounds<i64>) -> Result<TensorShape> {
        let Some(dims) = shape.dims() else { return Ok(TensorShape::unranked()) };
        let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
        let position = |at: i64| if at < 0 { at.saturating_add(rank) } else { at.min(rank) };
        let start = match range.start_bound() {
            Bound::Included(&at) => position(at),
            Bound::Excluded(&at) => position(at).saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&at) => position(at).saturating_add(1).min(rank),
            Bound::Excluded(&at) => position(at),
            Bound::Unbounded => rank,
        };
        let axes = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        match axes.and_then(|(start, end)| dims.get(start..end)) {
            Some(dims) => Ok(TensorShape::from(dims)),
            None => {
                bail!(
                    "a part of a shape must start at an axis and end after it, got axes {start}..{end} of {shape}"
                )
            }
        }
    }

    /// The shape with the dimension of one axis replaced; a negative axis counts from the end. Of an unranked shape it
    /// is unranked.
    ///
    /// # Errors
    /// There is no such axis.
    pub fn replace_dim(&self, shape: &TensorShape, axis: i64, dim: Dim) -> Result<TensorShape> {
        let Some(rank) = shape.rank() else { return Ok(TensorShape::unranked()) };
        let axis = crate::normalize_axis(axis, rank)?;
        let mut dims = shape.dims().unwrap_or_default().to_vec();
        if let Some(old) = dims.get_mut(axis) {
            *old = dim;
        }
        Ok(TensorShape::from(dims))
    }

    /// The shape whose sizes are the elements of a parameter, a vector: an element that is an expression is the
    /// dimension, one that is unknown a new unknown, and with an unknown number of elements the shape is unranked.
    ///
    /// # Errors
    /// An element is negative, or the parameter is no vector.
    pub fn input_as_shape(&mut self, name: &str) -> Result<TensorShape> {
        Ok(match self.param_vector(name)? {
            List::Elements(sizes) => {
                for size in &sizes {
                    self.require_not_negative(name, size)?;
                }
                TensorShape::from(sizes)
            }
            List::Unknown(Some(rank)) => self.unknown_shape_of_rank(rank),
            List::Unknown(None) | List::Absent => TensorShape::unranked(),
        })
    }

    /// As [`InferenceContext::input_as_shape`], where an element of -1 stands for an unknown dimension, and so does one
    /// of which it is not known whether it is -1.
    ///
    /// # Errors
    /// An element is less than -1, or the parameter is no vector.
    pub fn input_as_partial_shape(&mut self, name: &str) -> Result<TensorShape> {
        let sizes = match self.param_vector(name)? {
            List::Elements(sizes) => sizes,
            List::Unknown(Some(rank)) => return Ok(self.unknown_shape_of_rank(rank)),
            List::Unknown(None) | List::Absent => return Ok(TensorShape::unranked()),
        };
        let mut dims = Vec::with_capacity(sizes.len());
        for size in sizes {
            dims.push(match size.as_known() {
                Some(value) if value < -1 => {
                    return Err(self.blame_param(
                        name,
                        format_args!("must have sizes, or -1 for an unknown one, got {value}"),
                    ));
                }
                Some(-1) => self.fresh(),
                None if !self.at_least(&size, &Dim::known(0)) => self.fresh(),
                _ => size,
            });
        }
        Ok(TensorShape::from(dims))
    }

    /// The dimension that is the value of a parameter, a scalar; a new unknown where the value is unknown.
    ///
    /// # Errors
    /// The value is negative, or the parameter is no scalar.
    pub fn make_dim_for_scalar_input(&mut self, name: &str) -> Result<Dim> {
        match self.param_scalar(name)? {
            Some(size) => self.require_not_negative(name, &size).map(|()| size),
            None => Ok(self.fresh()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;
    use crate::{Dim, InferenceContext, Result, TensorShape};

    fn part(cx: &mut InferenceContext<'_>) -> Result<()> {
        let (start, end) = (cx.int_or("start", 0)?, cx.int_or("end", i64::MAX)?);
        let part = cx.subshape(cx.input(0), start..end)?;
        cx.set_output(0, part);
        Ok(())
    }

    fn replaced(cx: &mut InferenceContext<'_>) -> Result<()> {
        let five = cx.replace_dim(cx.input(0), cx.int("axis")?, Dim::known(5))?;
        cx.set_output(0, five);
        Ok(())
    }

    fn sized(cx: &mut InferenceContext<'_>) -> Result<()> {
        let sizes = cx.input_as_shape("sizes")?;
        let depth = TensorShape::from(vec![cx.make_dim_for_scalar_input("depth")?]);
        cx.set_output(0, cx.concatenate(&sizes, &depth));
        Ok(())
    }

    fn partly_sized(cx: &mut InferenceContext<'_>) -> Result<()> {
        let sizes = cx.input_as_partial_shape("sizes")?;
        cx.set_output(0, sizes);
        Ok(())
    }

    shape_table! { parts: part, ["x"];
        {} "[a, b, 3, ?]" => "[a, b, 3, d0_3]";
        {start: 1} "[a, b, 3, ?]" => "[b, 3, d0_3]";
        {end: -1} "[a, b, 3, ?]" => "[a, b, 3]";
        {start: -2} "[a, b, 3, ?]" => "[3, d0_3]";
        {start: 4, end: 9} "[a, b, 3, ?]" => "[]";
        {start: 1, end: 1} "[a]" => "[]";
        {start: -7} "?" => "?";
        {start: -3} "[a, b]" => "error must start at an axis and end after it, got axes -1..2 of [a, b]";
        {start: 2, end: 1} "[a, b]" => "error got axes 2..1 of [a, b]";
        {end: i64::MIN} "[a, b]" => "error of [a, b]";
    }
    shape_table! { replacing: replaced, ["x"];
        {axis: -1} "[a, ?]" => "[a, 5]";
        {axis: 0} "?" => "?";
        {axis: 2} "[a, b]" => "error axis must be in [-2, 2), got 2";
    }
    shape_table! { sizes: sized, ["sizes", "depth"];
        {sizes: [2, 3], depth: 4} "" => "[2, 3, 4]";
        {} "[2] = [n, ?]; [] = ?" => "[n, v0_1, v1_0] if v0_1 >= 0, v1_0 >= 0";
        {} "i32 [2]; i32 []" => "[?, ?, ?]";
        {depth: 1} "i32 [?]" => "?";
        {depth: 1} "[1] = [-1]" => "error sizes must not be negative, got -1";
        {sizes: [1]} "[] = -2" => "error depth must not be negative, got -2";
        {sizes: [1]} "[1] = 2" => "error depth must be one integer, got rank 1";
        {depth: 1} "i32 [2, 2]" => "error sizes must be a vector, got rank 2";
    }
    shape_table! { partial_sizes: partly_sized, ["sizes"];
        {sizes: [-1, 3]} "" => "[?, 3]";
        {} "[3] = [n, ?, n+1]" => "[n, ?, n+1]";
        {sizes: [-2]} "" => "error sizes must have sizes, or -1 for an unknown one, got -2";
    }
}
