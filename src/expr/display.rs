//! `Display` of expressions and indices: one line of bounded length.

use std::fmt::{self, Display, Formatter, Write};

use super::{Atom, BinaryOp, Expr, ExprKind, Index, Part, UnaryOp};

/// The greatest number of nodes and of terms of indices printed; `…` stands for the others.
const MAX_NODES: u32 = 200;
/// The greatest nesting printed; `…` stands for deeper nodes. The limit also bounds the stack.
const MAX_DEPTH: u32 = 40;

/// The limits of [`Expr::brief`].
const BRIEF_NODES: u32 = 12;
const BRIEF_DEPTH: u32 = 4;

impl Expr {
    /// Returns the text of [`Display`] with few nodes, for a message.
    pub(super) fn brief(&self) -> impl Display + '_ {
        fmt::from_fn(|f| {
            Printer { out: f, nodes: BRIEF_NODES, depth: BRIEF_DEPTH }.expr(self, Precedence::Reduce)
        })
    }
}

/// Prints infix text such as `max(%0[i0, i1], 0)`, where `%0` is source 0. The number of nodes and
/// terms of indices, and their nesting, are limited, and `…` stands for the nodes beyond a limit.
impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { out: f, nodes: MAX_NODES, depth: MAX_DEPTH }.expr(self, Precedence::Reduce)
    }
}

/// Prints the same text as [`Display`].
impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Prints text such as `2*i0 + floordiv(i1, n) - 1`.
impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Printer { out: f, nodes: MAX_NODES, depth: MAX_DEPTH }.index(self)
    }
}

/// The precedence of an operator, weakest first. A weaker operator inside a stronger one gets parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precedence {
    Reduce,
    Comparison,
    Or,
    Xor,
    And,
    Shift,
    Sum,
    Product,
    Prefix,
}

impl Precedence {
    /// Returns the next stronger precedence.
    fn tighter(self) -> Precedence {
        match self {
            Precedence::Reduce => Precedence::Comparison,
            Precedence::Comparison => Precedence::Or,
            Precedence::Or => Precedence::Xor,
            Precedence::Xor => Precedence::And,
            Precedence::And => Precedence::Shift,
            Precedence::Shift => Precedence::Sum,
            Precedence::Sum => Precedence::Product,
            Precedence::Product | Precedence::Prefix => Precedence::Prefix,
        }
    }
}

/// Returns the precedence of an infix operator; `None` for an operation written as a call.
fn level_of(op: BinaryOp) -> Option<Precedence> {
    Some(match op {
        BinaryOp::Add | BinaryOp::Sub => Precedence::Sum,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Precedence::Product,
        BinaryOp::And => Precedence::And,
        BinaryOp::Or => Precedence::Or,
        BinaryOp::Xor => Precedence::Xor,
        BinaryOp::Shl | BinaryOp::Shr => Precedence::Shift,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => Precedence::Comparison,
        BinaryOp::Min | BinaryOp::Max | BinaryOp::LargeAngle(_) => return None,
    })
}

impl BinaryOp {
    /// Returns whether the text is infix (`a + b`), not a call (`max(a, b)`).
    pub(crate) fn is_infix(self) -> bool {
        level_of(self).is_some()
    }
}

struct Printer<'a, 'f> {
    out: &'a mut Formatter<'f>,
    nodes: u32,
    depth: u32,
}

impl Printer<'_, '_> {
    fn expr(&mut self, expr: &Expr, level: Precedence) -> fmt::Result {
        if self.nodes == 0 || self.depth == 0 {
            return self.out.write_char('…');
        }
        self.nodes -= 1;
        self.depth -= 1;
        let result = self.node(expr, level);
        self.depth += 1;
        result
    }

    fn node(&mut self, expr: &Expr, level: Precedence) -> fmt::Result {
        match expr.kind() {
            ExprKind::Const(value) => write!(self.out, "{value}"),
            ExprKind::Size(dim) => self.dim(dim),
            ExprKind::Iota(index) => {
                self.grouped(level > Precedence::Reduce && !needs_no_parentheses(index), |p| p.index(index))
            }
            ExprKind::Load { source, index } => {
                write!(self.out, "%{source}[")?;
                for (position, index) in index.iter().enumerate() {
                    self.comma(position)?;
                    let is_last = self.nodes == 0;
                    self.index(index)?;
                    if is_last {
                        break;
                    }
                }
                self.out.write_char(']')
            }
            ExprKind::LoadFlat { source, position } => {
                write!(self.out, "%{source}.flat[")?;
                self.index(position)?;
                self.out.write_char(']')
            }
            ExprKind::Unary(UnaryOp::Neg, x) => self.grouped(level > Precedence::Prefix, |p| {
                p.out.write_char('-')?;
                p.expr(x, Precedence::Prefix)
            }),
            ExprKind::Unary(UnaryOp::Not, x) => {
                self.out.write_char('!')?;
                self.expr(x, Precedence::Prefix)
            }
            ExprKind::Unary(op, x) => self.call(op, &[x]),
            ExprKind::Binary(op, a, b) => match level_of(*op) {
                None => self.call(op, &[a, b]),
                Some(operator) => self.grouped(level > operator, |p| {
                    // Comparisons do not chain; the other operators associate to the left.
                    p.expr(
                        a,
                        if operator == Precedence::Comparison { operator.tighter() } else { operator },
                    )?;
                    write!(p.out, " {op} ")?;
                    p.expr(b, operator.tighter())
                }),
            },
            ExprKind::MulAdd(a, b, c) => self.call("mul_add", &[a, b, c]),
            ExprKind::Select(condition, yes, no) => self.call("select", &[condition, yes, no]),
            ExprKind::Cast(x) => {
                write!(self.out, "{}", expr.dtype())?;
                self.call("", &[x])
            }
            ExprKind::Bitcast(x) => {
                write!(self.out, "bitcast_{}", expr.dtype())?;
                self.call("", &[x])
            }
            ExprKind::Complex(real, imaginary) => self.call("complex", &[real, imaginary]),
            ExprKind::Part(Part::Real, x) => self.call("real", &[x]),
            ExprKind::Part(Part::Imaginary, x) => self.call("imag", &[x]),
            ExprKind::Case(arms, otherwise) => {
                self.out.write_str("case(")?;
                for (ranges, value) in arms {
                    for (position, range) in ranges.iter().enumerate() {
                        self.out.write_str(if position > 0 { " and " } else { "" })?;
                        write!(self.out, "{} <= ", range.low)?;
                        self.index(&range.index)?;
                        write!(self.out, " < {}", range.high)?;
                    }
                    self.out.write_str(": ")?;
                    self.expr(value, Precedence::Reduce)?;
                    self.out.write_str(", ")?;
                    if self.nodes == 0 {
                        break;
                    }
                }
                self.out.write_str("else: ")?;
                self.expr(otherwise, Precedence::Reduce)?;
                self.out.write_char(')')
            }
            ExprKind::Reduce { op, axes, body } => self.grouped(level > Precedence::Reduce, |p| {
                write!(p.out, "{op}(")?;
                for (position, (axis, extent)) in axes.iter().enumerate() {
                    p.comma(position)?;
                    write!(p.out, "{axis} < {extent}")?;
                }
                p.out.write_str(") ")?;
                p.expr(body, Precedence::Reduce)
            }),
            ExprKind::CheckIndex { value, limit, .. } => {
                self.out.write_str("check(0 <= ")?;
                self.expr(value, Precedence::Or)?;
                write!(self.out, " < {limit})")
            }
        }
    }

    fn grouped(&mut self, group: bool, inside: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        if !group {
            return inside(self);
        }
        self.out.write_char('(')?;
        inside(self)?;
        self.out.write_char(')')
    }

    fn call(&mut self, name: impl Display, arguments: &[&Expr]) -> fmt::Result {
        write!(self.out, "{name}(")?;
        for (position, argument) in arguments.iter().enumerate() {
            self.comma(position)?;
            self.expr(argument, Precedence::Reduce)?;
        }
        self.out.write_char(')')
    }

    fn comma(&mut self, position: usize) -> fmt::Result {
        if position > 0 { self.out.write_str(", ") } else { Ok(()) }
    }

    /// Prints a dimension as an operand. A compound dimension gets parentheses.
    fn dim(&mut self, dim: &shapeflow_shape_fns::Dim) -> fmt::Result {
        if dim.as_known().is_some() || dim.as_symbol().is_some() {
            write!(self.out, "{dim}")
        } else {
            write!(self.out, "({dim})")
        }
    }

    fn index(&mut self, index: &Index) -> fmt::Result {
        if self.nodes == 0 || self.depth == 0 {
            return self.out.write_char('…');
        }
        self.depth -= 1;
        for (position, (atom, coefficient)) in index.terms.iter().enumerate() {
            if self.nodes == 0 {
                self.depth += 1;
                return self.out.write_str(" + …");
            }
            self.nodes -= 1;
            let size = match coefficient.as_known() {
                Some(factor) if position > 0 => {
                    self.out.write_str(if factor < 0 { " - " } else { " + " })?;
                    Some(factor.unsigned_abs() as i128)
                }
                known => {
                    self.out.write_str(if position > 0 { " + " } else { "" })?;
                    known.map(i128::from)
                }
            };
            match size {
                Some(1) => {}
                Some(-1) => self.out.write_char('-')?,
                Some(factor) => write!(self.out, "{factor}*")?,
                None => {
                    self.dim(coefficient)?;
                    self.out.write_char('*')?;
                }
            }
            match atom {
                Atom::Axis(axis) => write!(self.out, "{axis}")?,
                Atom::FloorDiv(inner, divisor) => {
                    self.out.write_str("floordiv(")?;
                    self.index(inner)?;
                    write!(self.out, ", {divisor})")?;
                }
                Atom::Mod(inner, divisor) => {
                    self.out.write_str("mod(")?;
                    self.index(inner)?;
                    write!(self.out, ", {divisor})")?;
                }
                Atom::Broadcast(inner, size) => {
                    self.out.write_str("broadcast(")?;
                    self.index(inner)?;
                    write!(self.out, ", {size})")?;
                }
                Atom::Value(expr) => self.expr(expr, Precedence::Prefix)?,
            }
        }
        self.depth += 1;
        match (index.terms.is_empty(), index.constant.as_known()) {
            (true, _) => write!(self.out, "{}", index.constant),
            (false, Some(0)) => Ok(()),
            (false, Some(known)) => {
                write!(self.out, " {} {}", if known < 0 { '-' } else { '+' }, known.unsigned_abs())
            }
            (false, None) if index.constant.to_string().starts_with('-') => {
                self.out.write_str(" - ")?;
                self.dim(&(index.constant.clone() * -1))
            }
            (false, None) => write!(self.out, " + {}", index.constant),
        }
    }
}

/// Returns whether the text of an index needs no parentheses as an operand.
fn needs_no_parentheses(index: &Index) -> bool {
    index.as_axis().is_some() || index.as_constant().is_some_and(|constant| constant.as_known().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, InRange, ReduceOp};
    use shapeflow_shape_fns::{DType, Dim};

    fn i(axis: u32) -> Index {
        Index::axis(Axis(axis))
    }

    fn load(source: u32, index: &[Index]) -> Expr {
        Expr::new(DType::F32, ExprKind::Load { source, index: index.into() })
    }

    #[test]
    fn text_is_infix_with_the_fewest_parentheses() {
        let (x, y) = (load(0, &[i(0), i(1)]), load(1, &[i(1) * 2i64 + Index::from(1i64)]));
        let n = Dim::symbol("n");
        let check = ExprKind::CheckIndex { value: y.clone().cast(DType::I64), limit: n.clone(), axis: 0 };
        let row = Index::value(Expr::new(DType::I64, check));
        let inside = InRange { index: i(0) - Index::from(1i64), low: Dim::known(0), high: n.clone() };
        let sum = (x.clone() * y.clone()).reduce(ReduceOp::Sum, [(Axis(1), n.clone())].into());
        for (expr, text) in [
            (x.clone().maximum(x.like(0.0)), "max(%0[i0, i1], 0)"),
            (x.clone() - (y.clone() - x.clone()), "%0[i0, i1] - (%1[2*i1 + 1] - %0[i0, i1])"),
            (-(x.clone() + x.clone()), "-(%0[i0, i1] + %0[i0, i1])"),
            (x.clone() * -x.like(0.5).sqrt(), "%0[i0, i1] * -sqrt(0.5)"),
            (sum.clone(), "sum(i1 < n) %0[i0, i1] * %1[2*i1 + 1]"),
            (sum.clone() / sum.like(2.0), "(sum(i1 < n) %0[i0, i1] * %1[2*i1 + 1]) / 2"),
            (
                x.clone().less(y.clone()) & y.clone().equal(x.clone()),
                "(%0[i0, i1] < %1[2*i1 + 1]) & (%1[2*i1 + 1] == %0[i0, i1])",
            ),
            (
                Expr::case(vec![(vec![inside], x.clone())], x.like(0.0)),
                "case(0 <= i0 - 1 < n: %0[i0, i1], else: 0)",
            ),
            (load(2, &[row]), "%2[check(0 <= i64(%1[2*i1 + 1]) < n)]"),
            (x.clone().bitcast(DType::I32), "bitcast_i32(%0[i0, i1])"),
            (Expr::iota(i(0) + i(1)) * Expr::size(n), "(i0 + i1) * n"),
            (
                Expr::new(
                    DType::F32,
                    ExprKind::LoadFlat { source: 4, position: Box::new(i(0).modulo(3i64)) },
                ),
                "%4.flat[mod(i0, 3)]",
            ),
        ] {
            assert_eq!(expr.to_string(), text);
        }
    }

    #[test]
    fn index_text_shows_signs_once() {
        let n = Dim::symbol("n");
        for (index, text) in [
            (i(0) * n.clone() - i(1) * 3i64 - Index::from(2i64), "n*i0 - 3*i1 - 2"),
            (Index::from(0i64) - i(0), "-i0"),
            (Index::constant(n.clone()), "n"),
            (i(1).floordiv(n.clone()) + Index::constant(n), "floordiv(i1, n) + n"),
        ] {
            assert_eq!(index.to_string(), text);
        }
    }

    #[test]
    fn shared_and_deep_expressions_are_cut_short() {
        let mut shared = load(0, &[i(0)]);
        for _ in 0..30 {
            shared = shared.clone() + shared;
        }
        let text = shared.to_string();
        assert!(text.contains('…') && text.len() < 4_000, "{}", text.len());
        let long = (0..1000).fold(Index::from(0i64), |sum, axis| sum + i(axis));
        let text = long.to_string();
        assert!(text.starts_with("i0 + i1 + ") && text.ends_with("i199 + …"), "{text}");
        let axes: Vec<Index> = (0..1000).map(i).collect();
        let text = load(0, &axes).to_string();
        assert!(text.ends_with("i198, …]"), "{text}");
        let mut deep = Expr::iota(i(0));
        for _ in 0..100_000 {
            deep = Expr::new(DType::I64, ExprKind::Load { source: 0, index: [Index::value(deep)].into() });
        }
        assert!(deep.to_string().ends_with("…]]]]]]]]]]]]]]]]]]]]") && deep.to_string().len() < 1_000);
    }
}
