//! Rust's operators on expressions; each builds one primitive operation.

use std::ops;

use super::{BinaryOp, Expr, UnaryOp};

macro_rules! operators {
    ($($Trait:ident $method:ident $Op:ident),*) => {$(
        impl ops::$Trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.binary(BinaryOp::$Op, other)
            }
        }

        impl ops::$Trait<&Expr> for Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                self.binary(BinaryOp::$Op, other.clone())
            }
        }

        impl ops::$Trait<Expr> for &Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                self.clone().binary(BinaryOp::$Op, other)
            }
        }

        impl ops::$Trait for &Expr {
            type Output = Expr;
            fn $method(self, other: &Expr) -> Expr {
                self.clone().binary(BinaryOp::$Op, other.clone())
            }
        }
    )*};
}
operators!(Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor);

impl ops::Neg for Expr {
    type Output = Expr;
    fn neg(self) -> Expr {
        self.unary(UnaryOp::Neg)
    }
}

impl ops::Not for Expr {
    type Output = Expr;
    fn not(self) -> Expr {
        self.unary(UnaryOp::Not)
    }
}
