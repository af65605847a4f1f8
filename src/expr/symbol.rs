//! `Display` of operations: their signs and names.

use std::fmt::{self, Display, Formatter};

use super::{AngleFunction, BinaryOp, ReduceOp, UnaryOp};

/// Prints the sign or the name: `+`, `max`.
impl Display for BinaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::And => "&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Min => "min",
            BinaryOp::Max => "max",
            BinaryOp::LargeAngle(AngleFunction::Sin) => "large_sin",
            BinaryOp::LargeAngle(AngleFunction::Cos) => "large_cos",
            BinaryOp::LargeAngle(AngleFunction::Tan) => "large_tan",
        })
    }
}

/// Prints the name: `sqrt`.
impl Display for UnaryOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOp::Neg => "neg",
            UnaryOp::Abs => "abs",
            UnaryOp::Sqrt => "sqrt",
            UnaryOp::Floor => "floor",
            UnaryOp::Ceil => "ceil",
            UnaryOp::Trunc => "trunc",
            UnaryOp::Round => "round",
            UnaryOp::Not => "not",
        })
    }
}

/// Prints the name: `sum`.
impl Display for ReduceOp {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
            ReduceOp::All => "all",
            ReduceOp::Any => "any",
        })
    }
}
