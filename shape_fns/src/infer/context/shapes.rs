//! Methods of [`InferenceContext`] that make shapes: from new unknowns, from parts of other shapes, and from the
//! elements of parameters. A parameter is an attribute or an operand.

use std::ops::{Bound, RangeBounds};

use crate::error::bail;
use crate::{Dim, InferenceContext, List, Result, SymbolKind, TensorShape};

impl InferenceContext<'_> {
    /// Makes a new unknown size.
    pub fn fresh(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Size)
    }

    /// Makes a new unknown integer, which may be negative.
    pub fn fresh_integer(&mut self) -> Dim {
        self.table.fresh(SymbolKind::Integer)
    }

    /// Makes a shape of `rank` new unknown sizes.
    pub fn unknown_shape_of_rank(&mut self, rank: usize) -> TensorShape {
        TensorShape::new((0..rank).map(|_| self.table.fresh(SymbolKind::Size)))
    }

    /// Returns the axes of `a` followed by the axes of `b`. The result is unranked if either shape is unranked.
    pub fn concatenate(&self, a: &TensorShape, b: &TensorShape) -> TensorShape {
        a.concatenate(b)
    }

    /// Returns the axes in `range`. A negative index counts from the end: for `[a, b, c, d]`, `1..` gives `[b, c, d]`,
    /// `..-1` gives `[a, b, c]`, and `-2..` gives `[c, d]`. An index greater than the rank is clamped to the rank. A
    /// part of an unranked shape is unranked.
    ///
    /// # Errors
    /// A negative index lies before the first axis, or the range ends before it starts.
    pub fn subshape(&self, shape: &TensorShape, range: impl RangeBounds<i64>) -> Result<TensorShape> {
        let Some(dims) = shape.dims() else { return Ok(TensorShape::unranked()) };
        let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
        let position = |index: i64| if index < 0 { index.saturating_add(rank) } else { index.min(rank) };
        let start = match range.start_bound() {
            Bound::Included(&index) => position(index),
            Bound::Excluded(&index) => position(index).saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&index) => position(index).saturating_add(1).min(rank),
            Bound::Excluded(&index) => position(index),
            Bound::Unbounded => rank,
        };
        let axes = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        match axes.and_then(|(start, end)| dims.get(start..end)) {
            Some(dims) => Ok(TensorShape::from(dims)),
            None => {
                bail!(
                    "a range of axes must lie within the shape and not end before it starts, got {start}..{end} of {shape}"
                )
            }
        }
    }

    /// Returns the shape with the dimension of one axis replaced. A negative axis counts from the end. The result is
    /// unranked if the shape is.
    ///
    /// # Errors
    /// The shape has no such axis.
    pub fn replace_dim(&self, shape: &TensorShape, axis: i64, dim: Dim) -> Result<TensorShape> {
        let Some(rank) = shape.rank() else { return Ok(TensorShape::unranked()) };
        let axis = crate::normalize_axis(axis, rank)?;
        let mut dims = shape.dims().unwrap_or_default().to_vec();
        if let Some(old) = dims.get_mut(axis) {
            *old = dim;
        }
        Ok(TensorShape::from(dims))
    }

    /// Returns the shape whose sizes are the elements of a parameter, which must be a vector. Known elements and
    /// expressions become dimensions. A vector of unknown elements gives new unknown sizes, and a vector of unknown
    /// length gives an unranked shape.
    ///
    /// # Errors
    /// An element is provably negative, or the parameter is not a vector.
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

    /// Like [`InferenceContext::input_as_shape`], but an element -1 stands for an unknown dimension. An element that
    /// may be -1 becomes an unknown dimension too.
    ///
    /// # Errors
    /// An element is less than -1, or the parameter is not a vector.
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
                        format_args!(
                            "must have elements of at least -1, which stands for an unknown size, got {value}"
                        ),
                    ));
                }
                Some(-1) => self.fresh(),
                None if !self.at_least(&size, &Dim::known(0)) => self.fresh(),
                _ => size,
            });
        }
        Ok(TensorShape::from(dims))
    }

    /// Returns the dimension that is the value of a parameter, which must be a scalar. An unknown value gives a new
    /// unknown size.
    ///
    /// # Errors
    /// The value is provably negative, or the parameter is not a scalar.
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

    // `d0_3` is the unknown dimension at axis 3 of operand 0, and `v0_1` is the unknown element 1 of operand 0.
    shape_table! { parts: part, ["x"];
        {} "[a, b, 3, ?]" => "[a, b, 3, d0_3]";
        {start: 1} "[a, b, 3, ?]" => "[b, 3, d0_3]";
        {end: -1} "[a, b, 3, ?]" => "[a, b, 3]";
        {start: -2} "[a, b, 3, ?]" => "[3, d0_3]";
        {start: 4, end: 9} "[a, b, 3, ?]" => "[]";
        {start: 1, end: 1} "[a]" => "[]";
        {start: -7} "?" => "?";
        {start: -3} "[a, b]" => "error must lie within the shape and not end before it starts, got -1..2 of [a, b]";
        {start: 2, end: 1} "[a, b]" => "error got 2..1 of [a, b]";
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
        {sizes: [-2]} "" => "error sizes must have elements of at least -1, which stands for an unknown size, got -2";
    }
}
