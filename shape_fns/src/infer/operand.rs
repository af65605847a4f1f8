//! Operands read with a requirement: by their number, by rank, as axes.

use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape};

impl InferenceContext<'_> {
    /// The dimensions of operand `index`, which must have `N` axes; of an unranked operand, as many new unknown sizes.
    ///
    /// # Errors
    /// The rank is known and another.
    pub fn axes<const N: usize>(&mut self, index: usize) -> Result<[Dim; N]> {
        let shape = self.with_rank(index, N)?;
        match shape.dims().and_then(|dims| dims.first_chunk::<N>()) {
            Some(dims) => Ok(dims.clone()),
            None => Ok(std::array::from_fn(|_| self.fresh())),
        }
    }

    /// The leading axes of operand `index` and its last `N` dimensions; `None` where it is unranked.
    ///
    /// # Errors
    /// The rank is less than `N`.
    pub fn last_axes<const N: usize>(&mut self, index: usize) -> Result<Option<(TensorShape, [Dim; N])>> {
        let shape = self.with_rank_at_least(index, N)?;
        let split = shape.dims().and_then(|dims| dims.split_last_chunk::<N>());
        Ok(split.map(|(leading, last)| (TensorShape::from(leading), last.clone())))
    }

    /// Requires so many operands.
    ///
    /// # Errors
    /// There are more or fewer.
    pub fn takes(&self, count: usize) -> Result<()> {
        if self.len() == count {
            return Ok(());
        }
        Err(ShapeError::new(format_args!("there must be {count} operands, got {}", self.len())))
    }

    /// Requires operand `index` to be a scalar, where it is given.
    ///
    /// # Errors
    /// It has axes.
    pub fn scalar(&mut self, index: usize) -> Result<()> {
        if index < self.len() { self.with_rank(index, 0).map(drop) } else { Ok(()) }
    }

    /// Requires the operands of these names to be scalars, where they are given.
    ///
    /// # Errors
    /// One has axes.
    pub fn scalars(&mut self, names: &[&str]) -> Result<()> {
        for name in names {
            if let Some(index) = self.operand(name) {
                self.scalar(index)?;
            }
        }
        Ok(())
    }

    /// Records that two dimensions are equal, and returns what both are. `what` says in the message which they are.
    ///
    /// # Errors
    /// They are provably different.
    pub fn agree(&mut self, what: &str, a: &Dim, b: &Dim) -> Result<Dim> {
        self.merge(a, b).map_err(|_| ShapeError::new(format_args!("{what} must agree, got {a} and {b}")))
    }

    /// Gives output `output` the shape of operand `input`, and its elements where they are known.
    pub fn forward(&mut self, input: usize, output: usize) {
        let (shape, value) = (self.input(input).clone(), self.input_value(input).cloned());
        self.set_output(output, shape);
        if let Some(value) = value {
            self.set_output_value(output, value);
        }
    }
}
