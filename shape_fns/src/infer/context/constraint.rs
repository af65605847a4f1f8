//! Methods of [`InferenceContext`] that require something of ranks, dimensions and shapes.

use crate::error::bail;
use crate::shape::advice;
use crate::{Dim, Guard, InferenceContext, Result, Symbol, TensorShape};

impl InferenceContext<'_> {
    /// Records that two dimensions are equal and returns the merged dimension:
    /// [`DimTable::merge`](crate::DimTable::merge).
    ///
    /// # Errors
    /// The two dimensions are provably different.
    pub fn merge(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        self.table.merge(a, b)
    }

    /// Records that two shapes are equal and returns the merged shape:
    /// [`DimTable::merge_shapes`](crate::DimTable::merge_shapes).
    ///
    /// # Errors
    /// The ranks differ, or two dimensions are provably different.
    pub fn merge_shapes(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        self.table.merge_shapes(a, b)
    }

    /// Records that a shape starts with the axes of `prefix`. Returns the merged shape and the merged prefix. If either
    /// shape is unranked, both shapes are returned unchanged.
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

    /// Records that a dimension has the given value and returns the merged dimension.
    ///
    /// # Errors
    /// The dimension provably has another value.
    pub fn with_value(&mut self, dim: &Dim, value: i64) -> Result<Dim> {
        self.table.merge(dim, &Dim::known(value))
    }

    /// Returns the shape of operand `index`, which must have rank `rank`. An unranked operand gives `rank` new unknown
    /// sizes.
    ///
    /// # Errors
    /// The rank is known and different.
    pub fn with_rank(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(actual) if actual == rank => Ok(shape.clone()),
            None => {
                let shape = self.unknown_shape_of_rank(rank);
                self.result.assumed.push((index, shape.clone()));
                Ok(shape)
            }
            Some(actual) => {
                let help = if actual.checked_add(1) == Some(rank) { advice::add_axis(shape) } else { None };
                Err(self
                    .blame(index, format_args!("must have rank {rank}, got rank {actual} in {shape}"))
                    .with_help_if(help))
            }
        }
    }

    /// Returns the shape of operand `index`, whose rank must be at least `rank` or unknown.
    ///
    /// # Errors
    /// The rank is smaller.
    pub fn with_rank_at_least(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(actual) if actual < rank => {
                let help = if actual.checked_add(1) == Some(rank) { advice::add_axis(shape) } else { None };
                Err(self
                    .blame(
                        index,
                        format_args!("must have rank at least {rank}, got rank {actual} in {shape}"),
                    )
                    .with_help_if(help))
            }
            _ => Ok(shape.clone()),
        }
    }

    /// Returns the shape of operand `index`, whose rank must be at most `rank` or unknown.
    ///
    /// # Errors
    /// The rank is greater.
    pub fn with_rank_at_most(&mut self, index: usize, rank: usize) -> Result<TensorShape> {
        let shape = self.input(index);
        match shape.rank() {
            Some(actual) if actual > rank => Err(self
                .blame(index, format_args!("must have rank at most {rank}, got rank {actual} in {shape}"))),
            _ => Ok(shape.clone()),
        }
    }

    /// Requires a condition. An undecided condition becomes a guard, which is checked when sizes are known. A condition
    /// on symbols made during this inference becomes no guard: only another run of the shape function, on concrete
    /// operands, gives these symbols values, and that run decides the condition.
    ///
    /// # Errors
    /// The condition is disproven.
    pub fn require(&mut self, guard: Guard) -> Result<()> {
        if guard.dims().into_iter().any(|dim| self.mentions_fresh_symbol(dim)) {
            if guard.decide() == Some(false) {
                bail!("{guard} must hold");
            }
            return Ok(());
        }
        self.table.require(guard)
    }

    /// Returns whether a dimension mentions a symbol made during this inference.
    pub(crate) fn mentions_fresh_symbol(&self, dim: &Dim) -> bool {
        let mut found = false;
        dim.symbols(&mut |symbol| found |= self.is_fresh(symbol));
        found
    }

    /// Returns whether a symbol was made during this inference.
    pub(super) fn is_fresh(&self, symbol: Symbol) -> bool {
        self.table.index_of(symbol).is_some_and(|index| index >= self.first_new_symbol)
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
        {} "[2]; [2, 3]" => "error(2 outputs) a shape must begin with [2, 3], got [2], which has fewer axes";
        {} "[2, 3]; [4]" => "error(2 outputs) shapes must agree, got 2 and 4 at axis 0";
    }
    shape_table! { values: pairs, ["x"];
        {} "[n, ?]" => "[n, 2]";
        {} "?" => "[?, 2]";
        {} "[n, 2*k]" => "[n, 2]";
        {} "[n, 3]" => "error dimensions must be equal, got 3 and 2";
        {} "[n]" => "error x must have rank 2, got rank 1 in [n]";
    }
}
