//! Constraints: what a shape function requires of ranks, dimensions and shapes.

use crate::error::bail;
use crate::shape::advice;
use crate::{Dim, Guard, InferenceContext, Result, TensorShape};

impl InferenceContext<'_> {
    /// Records that two dimensions are equal and returns what both are: [`DimTable::merge`](crate::DimTable::merge).
    ///
    /// # Errors
    /// They are provably different.
    pub fn merge(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.table.merge(a, b)
    }

    /// Records that two shapes are equal: [`DimTable::merge_shapes`](crate::DimTable::merge_shapes).
    ///
    /// # Errors
    /// Their ranks or two dimensions are provably different.
    pub fn merge_shapes(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        self.table.merge_shapes(a, b)
    }

    /// Records that the first axes of a shape are those of `prefix`: returns the shape and the prefix, each with what the
    /// other says. Where either is unranked nothing is known of its axes and both stay as they are.
    ///
    /// # Errors
    /// The prefix is longer than the shape, or two dimensions are provably different.
    pub fn merge_prefix(
        &mut self,
        shape: &TensorShape,
        prefix: &TensorShape,
    ) -> Result<(TensorShape, TensorShape)> {
        let (Some(dims), Some(first)) = (shape.dims(), prefix.dims()) else {
            return Ok((shape.clone(), prefix.clone()));
        };
        let Some((head, tail)) = dims.split_at_checked(first.len()) else {
            bail!("a shape must begin with {prefix}, got {shape}, which has fewer axes");
        };
        let merged = self.table.merge_shapes(&TensorShape::from(head), prefix)?;
        Ok((merged.concatenate(&TensorShape::from(tail)), merged))
    }

    /// The dimension, which must have this value; an unknown one has it from here on.
    ///
    /// # Errors
    /// It provably has another.
    pub fn with_value(&mut self, dim: &Dim, value: i64) -> Result<Dim> {
        self.table.merge(dim, &Dim::known(value))
    }

    /// The shape of operand `index`, which must have this rank; of an unranked operand, that many new unknown sizes.
    ///
    /// # Errors
    /// The rank is known and another.
    pub fn with_rank(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own == rank => Ok(shape.clone()),
            None => Ok(self.unknown_shape_of_rank(rank)),
            Some(own) => {
                let help = if own.checked_add(1) == Some(rank) { advice::add_axis(shape) } else { None };
                Err(self
                    .blame(index, format_args!("must have rank {rank}, got rank {own} in {shape}"))
                    .with_help_if(help))
            }
        }
    }

    /// The shape of operand `index`, whose rank must be at least this or unknown.
    ///
    /// # Errors
    /// The rank is smaller.
    pub fn with_rank_at_least(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own < rank => {
                let help = if own.checked_add(1) == Some(rank) { advice::add_axis(shape) } else { None };
                Err(self
                    .blame(index, format_args!("must have rank at least {rank}, got rank {own} in {shape}"))
                    .with_help_if(help))
            }
            _ => Ok(shape.clone()),
        }
    }

    /// The shape of operand `index`, whose rank must be at most this or unknown.
    ///
    /// # Errors
    /// The rank is greater.
    pub fn with_rank_at_most(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(own) if own > rank => {
                Err(self
                    .blame(index, format_args!("must have rank at most {rank}, got rank {own} in {shape}")))
            }
            _ => Ok(shape.clone()),
        }
    }

    /// Requires a condition. What can't be decided becomes a guard, checked when sizes are known; except a condition
    /// on symbols made for this op, which are only defined by running its shape function again, and that decides it.
    ///
    /// # Errors
    /// It is disproven.
    pub fn require(&mut self, guard: Guard) -> Result<()> {
        if guard.dims().into_iter().any(|dim| self.is_own(dim)) {
            if guard.decide() == Some(false) {
                bail!("{guard} must hold");
            }
            return Ok(());
        }
        self.table.require(guard)
    }

    /// Whether a dimension mentions a symbol made for this op.
    pub(crate) fn is_own(&self, dim: &Dim) -> bool {
        let mut own = false;
        dim.symbols(&mut |symbol| own |= symbol.table_index().is_some_and(|index| index >= self.first_own));
        own
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;
    use crate::{InferenceContext, Result};

    fn prefixed(cx: &mut InferenceContext<'_>) -> Result<()> {
        let (x, prefix) = (cx.input(0).clone(), cx.input(1).clone());
        let (x, prefix) = cx.merge_prefix(&x, &prefix)?;
        cx.set_output(0, x);
        cx.set_output(1, prefix);
        Ok(())
    }

    fn pairs(cx: &mut InferenceContext<'_>) -> Result<()> {
        let x = cx.with_rank(0, 2)?;
        if let Some([_, last]) = x.dims() {
            cx.with_value(last, 2)?;
        }
        cx.set_output(0, x);
        Ok(())
    }

    shape_table! { prefixes: prefixed, ["x", "prefix"];
        {} "[n, ?, 3]; [?, 2]" => "[n, 2, 3]; [n, 2]";
        {} "[n, 3]; []" => "[n, 3]; []";
        {} "?; [2]" => "?; [2]";
        {} "[2, 3]; ?" => "[2, 3]; ?";
        {} "[2]; [2, 3]" => "error(2) a shape must begin with [2, 3], got [2], which has fewer axes";
        {} "[2, 3]; [4]" => "error(2) shapes must agree, got 2 and 4 at axis 0";
    }
    shape_table! { values: pairs, ["x"];
        {} "[n, ?]" => "[n, 2]";
        {} "?" => "[?, 2]";
        {} "[n, 2*k]" => "[n, 2]";
        {} "[n, 3]" => "error dimensions must be equal, got 3 and 2";
        {} "[n]" => "error x must have rank 2, got rank 1 in [n]";
    }
}
