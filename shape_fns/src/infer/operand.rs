//! Methods of [`InferenceContext`] that read operands of a required number or rank.

use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape, counted};

impl InferenceContext<'_> {
    /// Returns the dimensions of operand `index`, which must have `N` axes. An unranked operand gives `N` new unknown
    /// sizes.
    ///
    /// # Errors
    /// The rank is known and different.
    pub fn axes<const N: usize>(&mut self, index: usize) -> Result<[Dim; N]> {
        let shape = self.with_rank(index, N)?;
        match shape.dims().and_then(|dims| dims.first_chunk::<N>()) {
            Some(dims) => Ok(dims.clone()),
            None => Ok(std::array::from_fn(|_| self.fresh())),
        }
    }

    /// Returns the leading axes of operand `index` and its last `N` dimensions, or `None` if the operand is unranked.
    ///
    /// # Errors
    /// The rank is less than `N`.
    pub fn last_axes<const N: usize>(&mut self, index: usize) -> Result<Option<(TensorShape, [Dim; N])>> {
        let shape = self.with_rank_at_least(index, N)?;
        let split = shape.dims().and_then(|dims| dims.split_last_chunk::<N>());
        Ok(split.map(|(leading, last)| (TensorShape::from(leading), last.clone())))
    }

    /// Requires the op to have `count` operands.
    ///
    /// # Errors
    /// The op has another number of operands.
    pub fn takes(&self, count: usize) -> Result<()> {
        if self.len() == count {
            return Ok(());
        }
        Err(ShapeError::new(format_args!(
            "the op must have {count}, got {}",
            self.len(),
            count = counted(count, "operand")
        )))
    }

    /// Requires operand `index` to be a scalar if the operand is given.
    ///
    /// # Errors
    /// The operand has axes.
    pub fn scalar(&mut self, index: usize) -> Result<()> {
        if index < self.len() { self.with_rank(index, 0).map(drop) } else { Ok(()) }
    }

    /// Requires each named operand that is given to be a scalar.
    ///
    /// # Errors
    /// One of the operands has axes.
    pub fn scalars(&mut self, names: &[&str]) -> Result<()> {
        for name in names {
            if let Some(index) = self.operand(name) {
                self.scalar(index)?;
            }
        }
        Ok(())
    }

    /// Records that two dimensions are equal and returns the merged dimension. The error message starts with `what`,
    /// the names of the two dimensions, but blames no operand: the caller knows which operand is to blame.
    ///
    /// # Errors
    /// The two dimensions are provably different.
    pub fn agree(&mut self, what: &str, a: &Dim, b: &Dim) -> Result<Dim> {
        self.merge(a, b).map_err(|_| ShapeError::new(format_args!("{what} must agree, got {a} and {b}")))
    }

    /// Gives output `output` the shape and the known elements of operand `input`.
    pub fn forward(&mut self, input: usize, output: usize) {
        let (shape, value) = (self.input(input).clone(), self.input_value(input).cloned());
        self.set_output(output, shape);
        if let Some(value) = value {
            self.set_output_value(output, value);
        }
    }
}
