//! Methods of [`InferenceContext`] for broadcasting by the rules of NumPy and TensorFlow.

use smallvec::SmallVec;

use super::UNRANKED;
use crate::dim::lattice::canonical_call;
use crate::dim::poly::Function;
use crate::{Dim, Guard, InferenceContext, Result, ShapeError, TensorShape};

impl InferenceContext<'_> {
    /// Returns the shape to which two shapes broadcast, aligned at their last axes. The result is unranked if either
    /// shape is unranked.
    ///
    /// A number other than 1 and an unknown give the number and a guard. An unknown and 1 give the unknown. Two
    /// unknowns give `bcast(a, b)`, which the op checks when it runs.
    ///
    /// # Errors
    /// Two dimensions are provably different and neither is 1.
    pub fn broadcast(&mut self, a: &TensorShape, b: &TensorShape) -> Result<TensorShape> {
        let (Some(x), Some(y)) = (a.dims(), b.dims()) else { return Ok(TensorShape::unranked()) };
        let (longer, shorter) = if x.len() >= y.len() { (x, y) } else { (y, x) };
        let offset = longer.len() - shorter.len();
        // If the longer shape ends in the dimensions of the shorter shape, the longer shape is the result.
        if longer.ends_with(shorter) {
            return Ok(if x.len() >= y.len() { a.clone() } else { b.clone() });
        }
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::with_capacity(longer.len());
        dims.extend(longer[..offset].iter().cloned());
        for (axis, (p, q)) in longer[offset..].iter().zip(shorter).enumerate() {
            let dim = self.broadcast_dims(p, q).map_err(|error| {
                let (x, y) = if x.len() >= y.len() { (p, q) } else { (q, p) };
                let (x, y) = (self.table.resolve(x), self.table.resolve(y));
                match (x.as_known(), y.as_known()) {
                    (Some(x), Some(y)) => ShapeError::new(format_args!(
                        "dimensions must be equal or 1 to broadcast, got {x} and {y} at axis {} of {a} and {b}",
                        axis + offset
                    ))
                    .with_help_if(crate::shape::advice::broadcast(a, b)),
                    _ => error,
                }
            })?;
            dims.push(dim);
        }
        Ok(TensorShape::new(dims))
    }

    /// Returns the shape to which all operands broadcast.
    ///
    /// # Errors
    /// The errors of [`InferenceContext::broadcast`], which blame an operand.
    pub fn broadcast_operands(&mut self) -> Result<TensorShape> {
        // `broadcast` borrows the whole context. So that no shape is cloned, `resolved` is moved out of the context
        // until the end; `operands` are borrowed from the caller.
        let operands = self.operands;
        let resolved = std::mem::take(&mut self.resolved);
        let shape = |index: usize| match resolved.get(index) {
            Some((shape, _)) => shape,
            None => operands.get(index).map_or(&UNRANKED, |operand| operand.shape),
        };
        let mut all = match operands.len() {
            0 | 1 => Ok(shape(0).clone()),
            _ => self.broadcast(shape(0), shape(1)).map_err(|error| error.operand(1)),
        };
        for index in 2..operands.len() {
            let Ok(common) = &all else { break };
            all = self.broadcast(common, shape(index)).map_err(|error| error.operand(index));
        }
        self.resolved = resolved;
        all
    }

    /// Returns the dimension to which two dimensions broadcast: see [`InferenceContext::broadcast`].
    ///
    /// # Errors
    /// The two dimensions are provably different and neither is 1.
    pub fn broadcast_dims(&mut self, a: &Dim, b: &Dim) -> Result<Dim> {
        let (a, b) = (self.table.resolve(a), self.table.resolve(b));
        match (a.as_known(), b.as_known()) {
            _ if a == b => a.validate().map(|()| a),
            (Some(1), _) => Ok(b),
            (_, Some(1)) => Ok(a),
            (Some(_), None) => self.require(Guard::OneOrEqual(b, a.clone())).map(|()| a),
            (None, Some(_)) => self.require(Guard::OneOrEqual(a, b.clone())).map(|()| b),
            _ => {
                self.table.note_broadcast(&a, &b);
                self.or_fresh(canonical_call(Function::Bcast, [&a, &b]), || true)
            }
        }
    }
}
