//! [`Piece`]: a box, that is, a rectangular part of a kernel's domain. Cuts and splits refine a piece until every index
//! on the piece is linear.

use smallvec::SmallVec;

use super::bound_index::{BoundAtom, BoundDecision, BoundIndex, BoundRange};

/// `constant + Σ coefficient · axis` over the axes of a piece.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Affine {
    pub constant: i64,
    pub coefficients: SmallVec<[i64; 4]>,
}

/// An axis of a piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PieceAxis {
    pub extent: i64,
    /// The kernel axis that this axis is a part of.
    pub kernel_axis: usize,
}

/// A rectangular part (box) of a kernel's domain.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The axes of the box, in the order of their kernel axes.
    pub axes: SmallVec<[PieceAxis; 4]>,
    /// Each kernel axis as a linear form of `axes`. Empty for the whole domain, whose axes are the kernel axes.
    kernel: Vec<Affine>,
}

/// A way to refine a piece, so that more indices are linear on the results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Refine {
    /// Makes two boxes: the axis below `position`, and the axis from `position` on. Both boxes have elements.
    Cut { axis: usize, position: i64 },
    /// Replaces an axis by two: `axis = factor · first + second`. The extent of the axis is a multiple of `factor`.
    Split { axis: usize, factor: i64 },
}

impl Affine {
    /// Adds `scale` times another form of the same axes.
    fn add(&mut self, other: &Affine, scale: i64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(scale));
        for (total, coefficient) in self.coefficients.iter_mut().zip(&other.coefficients) {
            *total = total.wrapping_add(coefficient.wrapping_mul(scale));
        }
    }
}

impl Piece {
    /// Makes the piece that is the whole domain.
    pub(crate) fn whole(extents: &[i64]) -> Piece {
        let axes = extents
            .iter()
            .enumerate()
            .map(|(kernel_axis, &extent)| PieceAxis { extent, kernel_axis })
            .collect();
        Piece { axes, kernel: Vec::new() }
    }

    /// Returns each kernel axis of the whole domain as a linear form of the axes, which are the kernel axes.
    fn kernel_axes(&self) -> Vec<Affine> {
        let form = |axis: usize| {
            let mut coefficients = SmallVec::from_elem(0, self.axes.len());
            coefficients[axis] = 1;
            Affine { constant: 0, coefficients }
        };
        (0..self.axes.len()).map(form).collect()
    }

    /// Refines this box and pushes the results to `out`. The caller pops them from the end of `out`.
    pub(crate) fn refine(mut self, refine: Refine, out: &mut Vec<Piece>) {
        if self.kernel.is_empty() {
            self.kernel = self.kernel_axes();
        }
        match refine {
            Refine::Cut { axis, position } => {
                let mut upper = self.clone();
                upper.axes[axis].extent -= position;
                for affine in &mut upper.kernel {
                    affine.constant += affine.coefficients[axis] * position;
                }
                self.axes[axis].extent = position;
                // The lower part is last, so that it is popped first.
                out.push(upper);
                out.push(self);
            }
            Refine::Split { axis, factor } => {
                let old = self.axes[axis];
                self.axes[axis].extent = old.extent / factor;
                self.axes.insert(axis + 1, PieceAxis { extent: factor, kernel_axis: old.kernel_axis });
                for affine in &mut self.kernel {
                    let coefficient = affine.coefficients[axis];
                    affine.coefficients[axis] = coefficient * factor;
                    affine.coefficients.insert(axis + 1, coefficient);
                }
                out.push(self);
            }
        }
    }

    /// Returns the least and the greatest value of a linear form on the box. An axis of extent 0 counts as extent 1.
    pub(crate) fn range(&self, affine: &Affine) -> (i64, i64) {
        let (mut low, mut high) = (affine.constant, affine.constant);
        for (axis, &coefficient) in self.axes.iter().zip(&affine.coefficients) {
            let reach = coefficient.saturating_mul((axis.extent - 1).max(0));
            if reach >= 0 {
                high = high.saturating_add(reach);
            } else {
                low = low.saturating_add(reach);
            }
        }
        (low, high)
    }

    /// Returns the index as a linear form of the axes of the piece.
    ///
    /// # Errors
    /// The index is not linear on this piece. The error is the next refinement towards pieces on which it is linear.
    pub(crate) fn linear(&self, index: &BoundIndex) -> Result<Affine, Refine> {
        let mut sum = if self.kernel.is_empty() {
            Affine { constant: index.constant, coefficients: SmallVec::from_slice(&index.axes) }
        } else {
            let coefficients = SmallVec::from_elem(0, self.axes.len());
            let mut sum = Affine { constant: index.constant, coefficients };
            for (axis, scale) in self.kernel.iter().zip(&index.axes) {
                sum.add(axis, *scale);
            }
            sum
        };
        for (atom, scale) in &index.terms {
            match atom {
                BoundAtom::FloorDiv(inner, divisor) => {
                    sum.add(&self.divide(&self.linear(inner)?, *divisor)?.0, *scale);
                }
                BoundAtom::Mod(inner, divisor) => {
                    sum.add(&self.divide(&self.linear(inner)?, *divisor)?.1, *scale);
                }
            }
        }
        Ok(sum)
    }

    /// Returns the floor quotient and the remainder of a linear form by a positive divisor.
    ///
    /// # Errors
    /// The quotient is not linear on this piece. The error is the next refinement towards pieces on which it is linear.
    fn divide(&self, value: &Affine, divisor: i64) -> Result<(Affine, Affine), Refine> {
        // Invariant: `value = divisor · quotient + rest`. Terms that are multiples of the divisor move to the quotient.
        let mut rest =
            Affine { constant: value.constant.rem_euclid(divisor), coefficients: value.coefficients.clone() };
        let mut quotient = Affine {
            constant: value.constant.div_euclid(divisor),
            coefficients: SmallVec::from_elem(0, value.coefficients.len()),
        };
        for axis in 0..self.axes.len() {
            let coefficient = rest.coefficients[axis];
            if coefficient % divisor == 0 {
                quotient.coefficients[axis] = coefficient / divisor;
                rest.coefficients[axis] = 0;
            }
        }
        let (low, high) = self.range(&rest);
        let block = low.div_euclid(divisor);
        if block == high.div_euclid(divisor) {
            quotient.constant += block;
            rest.constant -= block * divisor;
            return Ok((quotient, rest));
        }
        Err(self.align(&rest, divisor, low, high))
    }

    /// Returns the next cut or split towards pieces on which `form`, whose values are in `low..=high`, stays within one
    /// block. A block is a range of `divisor` integers that starts at a multiple of `divisor`.
    fn align(&self, form: &Affine, divisor: i64, low: i64, high: i64) -> Refine {
        let axis = self.widest_axis(form);
        let (coefficient, extent) = (form.coefficients[axis], self.axes[axis].extent);
        if coefficient > 0 && divisor % coefficient == 0 {
            // If the sum of the other terms crosses no multiple of `coefficient`, the block depends on this axis alone,
            // and changes after every `factor` indices of it.
            let others_low = low;
            let others_high = high - coefficient * (extent - 1);
            let step = others_low.div_euclid(coefficient);
            if step == others_high.div_euclid(coefficient) {
                let factor = divisor / coefficient;
                // The position of index 0 of the axis within its block.
                let phase = step.rem_euclid(factor);
                if phase != 0 && factor - phase < extent {
                    return Refine::Cut { axis, position: factor - phase };
                }
                if phase == 0 && extent > factor {
                    return match extent % factor {
                        0 => Refine::Split { axis, factor },
                        partial => Refine::Cut { axis, position: extent - partial },
                    };
                }
            }
        }
        // Cut where the value leaves its block as this axis grows from 0. The value starts in the first block, or in
        // the last block if the coefficient is negative.
        let position = if coefficient >= 0 {
            let next = (low.div_euclid(divisor) + 1) * divisor;
            (next - low + coefficient - 1).div_euclid(coefficient.max(1))
        } else {
            (high - high.div_euclid(divisor) * divisor) / -coefficient + 1
        };
        Refine::Cut { axis, position: position.clamp(1, (extent - 1).max(1)) }
    }

    /// Returns the axis along which a form that is not constant on the piece varies most.
    fn widest_axis(&self, value: &Affine) -> usize {
        let reach = |axis: usize| {
            (value.coefficients[axis] as i128 * (self.axes[axis].extent - 1).max(0) as i128).abs()
        };
        (0..self.axes.len()).max_by_key(|&axis| reach(axis)).expect("a form that varies has an axis")
    }

    /// Returns true if a range holds everywhere on the piece, and false if it holds nowhere.
    ///
    /// # Errors
    /// The range holds on a part of the piece. The error is the next cut towards pieces with one answer.
    fn holds(&self, range: &BoundRange) -> Result<bool, Refine> {
        let value = self.linear(&range.index)?;
        let (low, high) = self.range(&value);
        if low >= range.low && high < range.high {
            return Ok(true);
        }
        if high < range.low || low >= range.high {
            return Ok(false);
        }
        let axis = self.widest_axis(&value);
        let (coefficient, extent) = (value.coefficients[axis], self.axes[axis].extent);
        let position = if coefficient > 0 {
            let border = if low < range.low { range.low } else { range.high };
            (border - low + coefficient - 1) / coefficient
        } else {
            let border = if high >= range.high { range.high } else { range.low };
            (high - border) / (-coefficient).max(1) + 1
        };
        Err(Refine::Cut { axis, position: position.clamp(1, (extent - 1).max(1)) })
    }

    /// Returns the number of the variant of the kernel that serves the whole piece.
    ///
    /// # Errors
    /// Several variants serve the piece. The error is the next refinement towards pieces with one variant.
    pub(crate) fn choose(&self, decision: &BoundDecision) -> Result<u32, Refine> {
        let mut decision = decision;
        loop {
            match decision {
                BoundDecision::Variant(variant) => return Ok(*variant),
                BoundDecision::Switch(arms, otherwise) => {
                    let mut chosen = &**otherwise;
                    for (ranges, arm) in arms {
                        let mut all = true;
                        for range in ranges {
                            if !self.holds(range)? {
                                all = false;
                                break;
                            }
                        }
                        if all {
                            chosen = arm;
                            break;
                        }
                    }
                    decision = chosen;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Dim;

    use super::*;
    use crate::expr::{Axis, Index};
    use crate::lower::PlanError;

    fn known(dim: &Dim) -> Result<i64, PlanError> {
        dim.as_known().ok_or_else(|| PlanError::new(dim.to_string()))
    }

    /// Refines the domain until an index is linear, and compares the linear forms with `expected` at every point.
    /// Returns the number of pieces.
    fn check(extents: &[i64], index: &Index, expected: impl Fn(&[i64]) -> i64) -> usize {
        let bound = BoundIndex::of(index, extents.len(), &known).unwrap();
        let mut todo = vec![Piece::whole(extents)];
        let (mut pieces, mut points) = (0, 0);
        while let Some(piece) = todo.pop() {
            match piece.linear(&bound) {
                Err(refine) => piece.refine(refine, &mut todo),
                Ok(affine) => {
                    pieces += 1;
                    let mut point: Vec<i64> = vec![0; piece.axes.len()];
                    'points: loop {
                        let kernel_point: Vec<i64> = match &piece.kernel[..] {
                            [] => point.clone(),
                            axes => axes.iter().map(|axis| value(axis, &point)).collect(),
                        };
                        assert_eq!(
                            value(&affine, &point),
                            expected(&kernel_point),
                            "{index} at {kernel_point:?}"
                        );
                        points += 1;
                        for axis in (0..point.len()).rev() {
                            point[axis] += 1;
                            if point[axis] < piece.axes[axis].extent {
                                continue 'points;
                            }
                            point[axis] = 0;
                        }
                        break;
                    }
                }
            }
        }
        assert_eq!(points, extents.iter().product::<i64>());
        pieces
    }

    /// Evaluates a linear form at a point.
    fn value(affine: &Affine, point: &[i64]) -> i64 {
        affine.constant + affine.coefficients.iter().zip(point).map(|(c, x)| c * x).sum::<i64>()
    }

    fn axis(k: u32) -> Index {
        Index::axis(Axis(k))
    }

    #[test]
    fn a_quotient_splits_a_merged_axis_once() {
        let index = axis(0).floordiv(5) * 100 + axis(0).modulo(5);
        assert_eq!(check(&[35], &index, |p| p[0] / 5 * 100 + p[0] % 5), 1);
        assert_eq!(check(&[4, 37], &(axis(1).modulo(5) + axis(0) * 7), |p| p[1] % 5 + p[0] * 7), 2);
    }

    #[test]
    fn uneven_blocks_are_cut_until_linear() {
        for shift in 0..12 {
            let index =
                (axis(0) * 3 + Index::from(shift)).floordiv(6) + (axis(0) * -2 + Index::from(40)).modulo(7);
            check(&[20], &index, |p| (p[0] * 3 + shift).div_euclid(6) + (p[0] * -2 + 40).rem_euclid(7));
        }
    }

    #[test]
    fn quotients_of_two_axes_become_linear() {
        let flat = axis(0) * 6 + axis(1);
        let index = flat.clone().floordiv(4) * 10 + flat.modulo(4);
        check(&[4, 6], &index, |p| (p[0] * 6 + p[1]) / 4 * 10 + (p[0] * 6 + p[1]) % 4);
    }
}
