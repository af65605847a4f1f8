//! Arithmetic on complex expressions: an operation builds one real expression for each part of its result.

use shapeflow_shape_fns::DType;

use super::{BinaryOp, Expr, ExprKind, Part, UnaryOp};

impl Expr {
    /// Makes a complex number from its parts, two expressions of f32 or two of f64.
    pub fn complex(real: Expr, imaginary: Expr) -> Expr {
        let dtype = if real.dtype() == DType::F64 { DType::C128 } else { DType::C64 };
        Expr::new(dtype, ExprKind::Complex(real, imaginary))
    }

    /// The real part of a complex number.
    pub fn real(&self) -> Expr {
        self.part(Part::Real)
    }

    /// The imaginary part of a complex number.
    pub fn imag(&self) -> Expr {
        self.part(Part::Imaginary)
    }

    /// The complex conjugate; a real number is returned unchanged.
    pub fn conj(&self) -> Expr {
        if self.dtype().is_complex() { Expr::complex(self.real(), -self.imag()) } else { self.clone() }
    }

    fn part(&self, part: Part) -> Expr {
        match (self.kind(), part) {
            (ExprKind::Complex(real, _), Part::Real) => real.clone(),
            (ExprKind::Complex(_, imaginary), Part::Imaginary) => imaginary.clone(),
            _ => Expr::new(self.dtype().part().unwrap_or(DType::F32), ExprKind::Part(part, self.clone())),
        }
    }
}

/// Builds `op(x)` of a complex number; `None` if complex numbers have no such operation.
pub(super) fn unary(op: UnaryOp, x: &Expr) -> Option<Expr> {
    (op == UnaryOp::Neg).then(|| Expr::complex(-x.real(), -x.imag()))
}

/// Builds `x op y` of two complex numbers of one dtype; `None` if complex numbers have no such operation.
pub(super) fn binary(op: BinaryOp, x: &Expr, y: &Expr) -> Option<Expr> {
    let (a, b, c, d) = (x.real(), x.imag(), y.real(), y.imag());
    Some(match op {
        BinaryOp::Add => Expr::complex(a + c, b + d),
        BinaryOp::Sub => Expr::complex(a - c, b - d),
        BinaryOp::Mul => Expr::complex(&a * &c - &b * &d, &a * &d + &b * &c),
        BinaryOp::Div => divide(a, b, c, d),
        BinaryOp::Eq => a.equal(c) & b.equal(d),
        BinaryOp::Ne => a.not_equal(c) | b.not_equal(d),
        _ => return None,
    })
}

/// `(a + bi) / (c + di)` by Smith's method, which scales by the larger part of the divisor so that no square overflows.
fn divide(a: Expr, b: Expr, c: Expr, d: Expr) -> Expr {
    let real_is_larger = d.clone().abs().less_equal(c.clone().abs());
    let choose = |yes: &Expr, no: &Expr| real_is_larger.clone().select(yes.clone(), no.clone());
    let (large, small) = (choose(&c, &d), choose(&d, &c));
    let ratio = small.clone() / large.clone();
    let divisor = large + small * ratio.clone();
    let (x, y) = (choose(&a, &b), choose(&b, &a));
    let imaginary = y.clone() - &x * &ratio;
    let imaginary = choose(&imaginary, &-imaginary.clone());
    Expr::complex((x + y * ratio) / divisor.clone(), imaginary / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::interpret::evaluate_constant;
    use num_complex::Complex64;

    fn constant(z: Complex64) -> Expr {
        Expr::complex(Expr::constant(z.re), Expr::constant(z.im))
    }

    fn value(z: &Expr) -> Complex64 {
        let part = |part: Expr| evaluate_constant(&part).unwrap().to_f64();
        Complex64::new(part(z.real()), part(z.imag()))
    }

    #[test]
    fn arithmetic_follows_the_parts() {
        let numbers =
            [(1.0, 2.0), (-3.0, 0.5), (0.0, -1.0), (1e-3, 7.0)].map(|(re, im)| Complex64::new(re, im));
        for x in numbers {
            for y in numbers {
                let check = |got: Expr, expected: Complex64| {
                    assert!((value(&got) - expected).norm() <= 1e-15 * expected.norm(), "{x} {y}");
                };
                check(constant(x) + constant(y), x + y);
                check(constant(x) - constant(y), x - y);
                check(constant(x) * constant(y), x * y);
                check(constant(x) / constant(y), x / y);
                let equal = evaluate_constant(&constant(x).equal(constant(y))).unwrap();
                assert_eq!(equal, (x == y).into());
            }
        }
        assert_eq!(value(&-constant(numbers[0])), -numbers[0]);
    }

    #[test]
    fn division_neither_overflows_nor_underflows() {
        let large = Complex64::new(1e300, 1e300);
        assert_eq!(value(&(constant(large) / constant(large))), Complex64::new(1.0, 0.0));
        let small = Complex64::new(1e-300, -1e-300);
        assert_eq!(value(&(constant(small) / constant(small))), Complex64::new(1.0, 0.0));
    }
}
