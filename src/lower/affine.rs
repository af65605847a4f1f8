//! `Piece`: a part of a kernel's domain on which every index is linear, found by cutting and splitting axes.

use smallvec::SmallVec;

use super::sized::{Sized, SizedAtom, SizedDecision, SizedRange};

/// `constant + Σ coefficient · axis` over the axes of a piece.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Affine {
    pub constant: i64,
    pub coefficients: SmallVec<[i64; 6]>,
}

/// An axis of a piece.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PieceAxis {
    pub extent: i64,
    /// The kernel axis it is part of.
    pub of: usize,
}

/// A box of a kernel's domain: its axes in the order of the kernel's, and each kernel axis in terms of them.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub axes: SmallVec<[PieceAxis; 6]>,
    kernel: SmallVec<[Affine; 6]>,
}

/// What makes an index linear.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Refine {
    /// Two boxes: below and from a position on an axis.
    Cut { axis: usize, at: i64 },
    /// Two axes: `axis = factor · first + second`.
    Split { axis: usize, factor: i64 },
}

impl Piece {
    /// The whole domain.
    pub(crate) fn whole(extents: &[i64]) -> Piece {
        let axes = extents.iter().enumerate().map(|(of, &extent)| PieceAxis { extent, of }).collect();
        let kernel = (0..extents.len())
            .map(|axis| {
                let mut coefficients = SmallVec::from_elem(0, extents.len());
                coefficients[axis] = 1;
                Affine { constant: 0, coefficients }
            })
            .collect();
        Piece { axes, kernel }
    }

    /// The boxes that a refinement makes of this one.
    pub(crate) fn refine(mut self, refine: Refine, out: &mut Vec<Piece>) {
        match refine {
            Refine::Cut { axis, at } => {
                let mut rest = self.clone();
                rest.axes[axis].extent -= at;
                for affine in &mut rest.kernel {
                    affine.constant += affine.coefficients[axis] * at;
                }
                self.axes[axis].extent = at;
                // The first part is taken from the end of the list first.
                out.push(rest);
                out.push(self);
            }
            Refine::Split { axis, factor } => {
                let whole = self.axes[axis];
                self.axes[axis].extent = whole.extent / factor;
                self.axes.insert(axis + 1, PieceAxis { extent: factor, of: whole.of });
                for affine in &mut self.kernel {
                    let coefficient = affine.coefficients[axis];
                    affine.coefficients[axis] = coefficient * factor;
                    affine.coefficients.insert(axis + 1, coefficient);
                }
                out.push(self);
            }
        }
    }

    /// Least and greatest value on the box. Axes without elements count as one element.
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

    /// The index as a linear form of the box's axes, or what must be done first.
    pub(crate) fn linear(&self, index: &Sized) -> Result<Affine, Refine> {
        let mut sum =
            Affine { constant: index.constant, coefficients: SmallVec::from_elem(0, self.axes.len()) };
        for (atom, scale) in &index.terms {
            let part = match atom {
                SizedAtom::Axis(axis) => self.kernel[*axis].clone(),
                SizedAtom::FloorDiv(inner, divisor) => self.divide(&self.linear(inner)?, *divisor)?.0,
                SizedAtom::Mod(inner, divisor) => self.divide(&self.linear(inner)?, *divisor)?.1,
            };
            sum.constant = sum.constant.wrapping_add(part.constant.wrapping_mul(*scale));
            for (total, coefficient) in sum.coefficients.iter_mut().zip(&part.coefficients) {
                *total = total.wrapping_add(coefficient.wrapping_mul(*scale));
            }
        }
        Ok(sum)
    }

    /// Quotient and remainder of a linear form.
    fn divide(&self, value: &Affine, divisor: i64) -> Result<(Affine, Affine), Refine> {
        let whole = value.constant.div_euclid(divisor);
        let mut rest =
            Affine { constant: value.constant.rem_euclid(divisor), coefficients: value.coefficients.clone() };
        let mut quotient =
            Affine { constant: whole, coefficients: SmallVec::from_elem(0, value.coefficients.len()) };
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

    /// A cut or split after which a form stays within one block of `divisor`, or comes closer to that.
    fn align(&self, rest: &Affine, divisor: i64, low: i64, high: i64) -> Refine {
        let reach =
            |axis: usize| (rest.coefficients[axis] as i128 * (self.axes[axis].extent - 1) as i128).abs();
        let axis = (0..self.axes.len()).max_by_key(|&axis| reach(axis)).unwrap_or(0);
        let (coefficient, extent) = (rest.coefficients[axis], self.axes[axis].extent);
        if coefficient > 0 && divisor % coefficient == 0 {
            // What the other terms add stays within one step of this axis: blocks end at multiples.
            let others_low = low;
            let others_high = high - coefficient * (extent - 1);
            let step = others_low.div_euclid(coefficient);
            if step == others_high.div_euclid(coefficient) {
                let factor = divisor / coefficient;
                let ahead = step.rem_euclid(factor);
                if ahead != 0 && factor - ahead < extent {
                    return Refine::Cut { axis, at: factor - ahead };
                }
                if ahead == 0 && extent > factor {
                    return match extent % factor {
                        0 => Refine::Split { axis, factor },
                        partial => Refine::Cut { axis, at: extent - partial },
                    };
                }
            }
        }
        let at = if coefficient >= 0 {
            let next = (low.div_euclid(divisor) + 1) * divisor;
            (next - low + coefficient - 1).div_euclid(coefficient.max(1))
        } else {
            (high - high.div_euclid(divisor) * divisor) / -coefficient + 1
        };
        Refine::Cut { axis, at: at.clamp(1, (extent - 1).max(1)) }
    }

    /// Whether a range holds on the whole box, nowhere, or where to cut.
    fn holds(&self, range: &SizedRange) -> Result<bool, Refine> {
        let value = self.linear(&range.index)?;
        let (low, high) = self.range(&value);
        if low >= range.low && high < range.high {
            return Ok(true);
        }
        if high < range.low || low >= range.high {
            return Ok(false);
        }
        let reach =
            |axis: usize| (value.coefficients[axis] as i128 * (self.axes[axis].extent - 1) as i128).abs();
        let axis = (0..self.axes.len()).max_by_key(|&axis| reach(axis)).unwrap_or(0);
        let (coefficient, extent) = (value.coefficients[axis], self.axes[axis].extent);
        let at = if coefficient > 0 {
            let border = if low < range.low { range.low } else { range.high };
            (border - low + coefficient - 1) / coefficient
        } else {
            let border = if high >= range.high { range.high } else { range.low };
            (high - border) / (-coefficient).max(1) + 1
        };
        Err(Refine::Cut { axis, at: at.clamp(1, (extent - 1).max(1)) })
    }

    /// The variant that serves the whole box, or what must be done first.
    pub(crate) fn choose(&self, decision: &SizedDecision) -> Result<u32, Refine> {
        let mut decision = decision;
        loop {
            match decision {
                SizedDecision::Variant(variant) => return Ok(*variant),
                SizedDecision::Switch(arms, otherwise) => {
                    let mut taken = &**otherwise;
                    for (ranges, arm) in arms {
                        let mut all = true;
                        for range in ranges {
                            if !self.holds(range)? {
                                all = false;
                                break;
                            }
                        }
                        if all {
                            taken = arm;
                            break;
                        }
                    }
                    decision = taken;
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
    use crate::lower::Unsized;

    fn known(dim: &Dim) -> Result<i64, Unsized> {
        dim.as_known().ok_or_else(|| Unsized(dim.to_string()))
    }

    /// Cuts until an index is linear and compares it with its definition everywhere.
    fn check(extents: &[i64], index: &Index, expected: impl Fn(&[i64]) -> i64) -> usize {
        let sized = Sized::of(index, &known).unwrap();
        let mut todo = vec![Piece::whole(extents)];
        let (mut pieces, mut points) = (0, 0);
        while let Some(piece) = todo.pop() {
            match piece.linear(&sized) {
                Err(refine) => piece.refine(refine, &mut todo),
                Ok(affine) => {
                    pieces += 1;
                    let mut at: Vec<i64> = vec![0; piece.axes.len()];
                    'points: loop {
                        let place: Vec<i64> = piece.kernel.iter().map(|k| value(k, &at)).collect();
                        assert_eq!(value(&affine, &at), expected(&place), "{index} at {place:?}");
                        points += 1;
                        for axis in (0..at.len()).rev() {
                            at[axis] += 1;
                            if at[axis] < piece.axes[axis].extent {
                                continue 'points;
                            }
                            at[axis] = 0;
                        }
                        break;
                    }
                }
            }
        }
        assert_eq!(points, extents.iter().product::<i64>());
        pieces
    }

    fn value(affine: &Affine, at: &[i64]) -> i64 {
        affine.constant + affine.coefficients.iter().zip(at).map(|(c, x)| c * x).sum::<i64>()
    }

    fn axis(k: u32) -> Index {
        Index::axis(Axis(k))
    }

    #[test]
    fn merged_axes_split_once() {
        let index = axis(0).floordiv(5) * 100 + axis(0).modulo(5);
        assert_eq!(check(&[35], &index, |p| p[0] / 5 * 100 + p[0] % 5), 1);
        assert_eq!(check(&[4, 37], &(axis(1).modulo(5) + axis(0) * 7), |p| p[1] % 5 + p[0] * 7), 2);
    }

    #[test]
    fn uneven_blocks_are_cut() {
        for shift in 0..12 {
            let index =
                (axis(0) * 3 + Index::from(shift)).floordiv(6) + (axis(0) * -2 + Index::from(40)).modulo(7);
            check(&[20], &index, |p| (p[0] * 3 + shift).div_euclid(6) + (p[0] * -2 + 40).rem_euclid(7));
        }
    }

    #[test]
    fn two_axes_in_one_quotient() {
        let flat = axis(0) * 6 + axis(1);
        let index = flat.clone().floordiv(4) * 10 + flat.modulo(4);
        check(&[4, 6], &index, |p| (p[0] * 6 + p[1]) / 4 * 10 + (p[0] * 6 + p[1]) % 4);
    }
}
