//! The text of a [`Kernel`]: loops around statements that load, compute, reduce and store. A pass is one walk over the
//! elements of a row.

use std::fmt::{self, Display, Formatter};

use shapeflow_shape_fns::Dim;

use super::kernel::{Address, Decision, Kernel, ScalarArg, Variant};
use super::kernel_body::{Inst, InstId, InstOp, LaneLayout, Pass};
use crate::expr::Index;

/// Prints the outer loops, then the choice between variants, then each variant: the row loops and statements of its
/// passes, and its epilogue.
impl Display for Kernel {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("kernel(")?;
        write_list(f, &self.reads)?;
        f.write_str(") -> ")?;
        write_list(f, &self.writes)?;
        f.write_str(if self.can_fail { ", may fail {\n" } else { " {\n" })?;
        let lanes = self.variants.first().and_then(|first| self.nest(first).inner_axis());
        for (axis, extent) in self.outer.iter().enumerate() {
            writeln!(f, "  for {}", LoopHead { axis, extent, lanes })?;
        }
        let mut decision = &self.decision;
        if let (Some(_), Decision::Switch(arms, long_rows)) = (self.short_row_variants, decision) {
            let [range] = &arms[0].0[..] else { unreachable!("one range holds for short rows") };
            let lanes = self.outer.len() - 1;
            writeln!(f, "  where {} < {}: lanes along i{lanes}", range.index, range.high)?;
            decision = &**long_rows;
        }
        let has_choice = !matches!(decision, Decision::Variant(_));
        if has_choice {
            write_decision(f, decision, "  ")?;
        }
        // The variants for short rows compute the same as the others.
        let shown = self.short_row_variants.unwrap_or(self.variants.len());
        for (number, variant) in self.variants.iter().enumerate().take(shown) {
            if has_choice {
                writeln!(f, "  variant {number}:")?;
            }
            self.write_variant(f, variant, if has_choice { "    " } else { "  " })?;
        }
        f.write_str("}")
    }
}

impl Kernel {
    /// Writes the passes and the epilogue of a variant.
    fn write_variant(&self, f: &mut Formatter<'_>, variant: &Variant, pad: &str) -> fmt::Result {
        let deeper = format!("{pad}  ");
        let lanes = self.nest(variant).inner_axis();
        for pass in &variant.body.passes {
            if self.row.is_empty() {
                write_pass(f, variant, pass, "    ")?;
                continue;
            }
            write!(f, "{pad}pass")?;
            for (axis, extent) in self.row.iter().enumerate() {
                let axis = axis + self.outer.len();
                write!(
                    f,
                    "{} {}",
                    if axis > self.outer.len() { "," } else { "" },
                    LoopHead { axis, extent, lanes }
                )?;
            }
            writeln!(f, ":")?;
            write_pass(f, variant, pass, &deeper)?;
        }
        if variant.body.epilogue.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "{pad}{}:",
            if variant.body.layout == LaneLayout::Row { "end of a row" } else { "end of a column" }
        )?;
        write_body(f, variant, &variant.body.epilogue, &deeper)
    }
}

/// The head of a loop: `i0 < n`, marked if the vector lanes run along it.
struct LoopHead<'a> {
    axis: usize,
    extent: &'a Dim,
    lanes: Option<usize>,
}

impl Display for LoopHead<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "i{} < {}{}",
            self.axis,
            self.extent,
            if self.lanes == Some(self.axis) { " (lanes)" } else { "" }
        )
    }
}

/// Writes items separated by commas.
fn write_list(f: &mut Formatter<'_>, items: &[impl Display]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(k, item)| write!(f, "{}{item}", if k == 0 { "" } else { ", " }))
}

/// Writes the conditions under which each variant runs.
fn write_decision(f: &mut Formatter<'_>, decision: &Decision, pad: &str) -> fmt::Result {
    match decision {
        Decision::Variant(number) => writeln!(f, "{pad}variant {number}"),
        Decision::Switch(arms, otherwise) => {
            let deeper = format!("{pad}  ");
            for (ranges, arm) in arms {
                write!(f, "{pad}where")?;
                for (k, range) in ranges.iter().enumerate() {
                    let and = if k == 0 { "" } else { " and" };
                    write!(f, "{and} {} <= {} < {}", range.low, range.index, range.high)?;
                }
                writeln!(f, ":")?;
                write_decision(f, arm, &deeper)?;
            }
            writeln!(f, "{pad}else:")?;
            write_decision(f, otherwise, &deeper)
        }
    }
}

/// Writes the statements and reductions of a pass.
fn write_pass(f: &mut Formatter<'_>, variant: &Variant, pass: &Pass, pad: &str) -> fmt::Result {
    write_body(f, variant, &pass.body, pad)?;
    for step in &pass.reduces {
        let value = PrintedOperand { variant, body: &pass.body, value: step.value };
        writeln!(f, "{pad}f{} = {} of {value}", step.into, step.op)?;
    }
    Ok(())
}

/// Writes a body: every instruction as a statement, except that constants, scalars and results of reductions appear
/// where they are used.
fn write_body(f: &mut Formatter<'_>, variant: &Variant, body: &[Inst], pad: &str) -> fmt::Result {
    for (number, inst) in body.iter().enumerate() {
        match &inst.op {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Reduced(_) => {}
            InstOp::Store { slot, value } => {
                let target = SlotRef { variant, slot: *slot, offsets: &[] };
                writeln!(f, "{pad}{target} = {}", PrintedOperand { variant, body, value: *value })?;
            }
            InstOp::StorePair { slot, values } => {
                let target = SlotRef { variant, slot: *slot, offsets: &[] };
                let [a, b] = values.map(|value| PrintedOperand { variant, body, value });
                writeln!(f, "{pad}{target} = pair({a}, {b})")?;
            }
            _ => writeln!(f, "{pad}v{number}: {} = {}", inst.dtype, Statement { variant, body, inst })?,
        }
    }
    Ok(())
}

/// A value as an operand.
struct PrintedOperand<'a> {
    variant: &'a Variant,
    body: &'a [Inst],
    value: InstId,
}

impl Display for PrintedOperand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.body[self.value.0 as usize].op {
            InstOp::Const(value) => write!(f, "{value}"),
            InstOp::Scalar(number) => {
                write!(f, "{}", ScalarArgument { variant: self.variant, number: *number })
            }
            InstOp::Reduced(number) => write!(f, "f{number}"),
            // The result of a store is the stored value.
            InstOp::Store { value, .. } | InstOp::StorePair { values: [value, _], .. } => {
                write!(f, "{}", PrintedOperand { value: *value, ..*self })
            }
            _ => write!(f, "v{}", self.value.0),
        }
    }
}

/// A run-time scalar as an operand.
struct ScalarArgument<'a> {
    variant: &'a Variant,
    number: u32,
}

impl Display for ScalarArgument<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.variant.scalars[self.number as usize] {
            ScalarArg::Size(dim) if dim.as_known().is_some() || dim.as_symbol().is_some() => {
                write!(f, "{dim}")
            }
            ScalarArg::Size(dim) => write!(f, "({dim})"),
            ScalarArg::GatherStride { .. } => write!(f, "a{}", self.number),
        }
    }
}

/// The right-hand side of a statement.
struct Statement<'a> {
    variant: &'a Variant,
    body: &'a [Inst],
    inst: &'a Inst,
}

impl Display for Statement<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let variant = self.variant;
        let operand = |value: &InstId| PrintedOperand { variant, body: self.body, value: *value };
        match &self.inst.op {
            InstOp::Load(slot) | InstOp::Iota(slot) => {
                write!(f, "{}", SlotRef { variant, slot: *slot, offsets: &[] })
            }
            InstOp::Gather { slot, offsets } => write!(f, "{}", SlotRef { variant, slot: *slot, offsets }),
            InstOp::Unary(op, a) => write!(f, "{op}({})", operand(a)),
            InstOp::Binary(op, a, b) if op.is_infix() => write!(f, "{} {op} {}", operand(a), operand(b)),
            InstOp::Binary(op, a, b) => write!(f, "{op}({}, {})", operand(a), operand(b)),
            InstOp::MulAdd(a, b, c) => write!(f, "mul_add({}, {}, {})", operand(a), operand(b), operand(c)),
            InstOp::Select(a, b, c) => write!(f, "select({}, {}, {})", operand(a), operand(b), operand(c)),
            InstOp::Cast(a) => write!(f, "cast({})", operand(a)),
            InstOp::Bitcast(a) => write!(f, "bitcast({})", operand(a)),
            InstOp::CheckIndex { value, limit } => {
                write!(f, "check(0 <= {} < {})", operand(value), ScalarArgument { variant, number: *limit })
            }
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::Reduced(_)
            | InstOp::Store { .. }
            | InstOp::StorePair { .. } => {
                unreachable!("`write_body` prints these elsewhere")
            }
        }
    }
}

/// The address of a slot. `offsets` are the run-time indices of a gather, with the scalars that scale them.
struct SlotRef<'a> {
    variant: &'a Variant,
    slot: u32,
    offsets: &'a [(InstId, u32)],
}

impl Display for SlotRef<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.variant.slots[self.slot as usize] {
            Address::Element { buffer, index } => {
                write!(f, "{buffer}[")?;
                for (axis, index) in index.iter().enumerate() {
                    f.write_str(if axis == 0 { "" } else { ", " })?;
                    self.write_index(f, axis, index)?;
                }
                f.write_str("]")
            }
            Address::Flat { buffer, position, .. } => write!(f, "{buffer}.flat[{position}]"),
            Address::Iota(index) => write!(f, "{index}"),
            Address::Scratch => write!(f, "scratch{}", self.slot),
        }
    }
}

impl SlotRef<'_> {
    /// Writes the index on one axis: the fixed part plus the run-time offsets along the axis.
    fn write_index(&self, f: &mut Formatter<'_>, axis: usize, index: &Index) -> fmt::Result {
        let fixed = index.as_constant().and_then(|dim| dim.as_known()) != Some(0);
        if fixed {
            write!(f, "{index}")?;
        }
        let mut plus = if fixed { " + " } else { "" };
        for (value, scale) in self.offsets {
            let ScalarArg::GatherStride { coefficients, .. } = &self.variant.scalars[*scale as usize] else {
                unreachable!("a gather stride scales each offset of a gather")
            };
            let factor = &coefficients[axis];
            match factor.as_known() {
                Some(0) => continue,
                Some(1) => write!(f, "{plus}v{}", value.0)?,
                _ => write!(f, "{plus}({factor})*v{}", value.0)?,
            }
            plus = " + ";
        }
        if plus.is_empty() { f.write_str("0") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use shapeflow_shape_fns::shape;

    use crate::{CompileOptions, DType, Graph, Isa, Result, Value, concat};

    fn kernels(build: impl for<'g> Fn(&'g Graph) -> Result<Value<'g>>) -> Result<String> {
        let g = Graph::new();
        let options = CompileOptions::new().isa(Isa::Clif);
        Ok(g.compile_with(&options, build(&g)?)?.kernels())
    }

    #[test]
    fn elementwise_ops_share_one_loop_nest() -> Result<()> {
        let text = kernels(|g| (g.input("x", DType::F32, shape!["n", 3])? * 2.0 + 1.0).relu())?;
        assert_snapshot!(text, @r#"
        b0: f32[n, 3] = input "x"
        b3: f32[n, 3] = relu, stored: an output of the graph
        step 0: mul, add, relu
        kernel(b0) -> b3 {
          for i0 < n
          for i1 < 3 (lanes)
            v0: f32 = b0[i0, i1]
            v2: f32 = v0 * 2
            v4: f32 = v2 + 1
            v6: f32 = max(v4, 0)
            b3[i0, i1] = v6
        }
        body: clif
        "#);
        Ok(())
    }

    #[test]
    fn a_reduction_walks_each_row_in_a_pass() -> Result<()> {
        let text =
            kernels(|g| g.input("x", DType::F64, shape!["rows", "columns"])?.reduce_sum([-1])?.sqrt())?;
        assert_snapshot!(text, @r#"
        b0: f64[rows, columns] = input "x"
        b1: f64[rows] = sqrt, stored: an output of the graph
        step 0: reduce_sum, sqrt
        kernel(b0) -> b1 {
          for i0 < rows
          where columns < 13: lanes along i0
          pass i1 < columns (lanes):
            v0: f64 = b0[i0, i1]
            f0 = sum of v0
          end of a row:
            v1: f64 = sqrt(f0)
            b1[i0] = v1
        }
        body: clif
        "#);
        Ok(())
    }

    #[test]
    fn piecewise_choices_become_variants() -> Result<()> {
        let text = kernels(|g| {
            let x = g.input("x", DType::I32, shape!["n"])?;
            concat(&[x.pad([1, 0])?, x + 1], 0)
        })?;
        assert_snapshot!(text, @r#"
        b0: i32[n] = input "x"
        b2: i32[2*n+1] = concat, stored: an output of the graph
        step 0: pad, add, concat
        kernel(b0) -> b2 {
          for i0 < 2*n+1 (lanes)
          where 0 <= i0 < n+1:
            where 0 <= i0 - 1 < n:
              variant 0
            else:
              variant 1
          else:
            variant 2
          variant 0:
            v0: i32 = b0[i0 - 1]
            b2[i0] = v0
          variant 1:
            b2[i0] = 0
          variant 2:
            v0: i32 = b0[i0 - (n+1)]
            v2: i32 = v0 + 1
            b2[i0] = v2
        }
        body: clif
        "#);
        Ok(())
    }

    #[test]
    fn a_gather_prints_its_index_check() -> Result<()> {
        let text = kernels(|g| {
            let rows = g.input("rows", DType::I32, shape!["k"])?;
            g.input("x", DType::F32, shape!["n", 4])?.gather(rows, 0)
        })?;
        assert_snapshot!(text, @r#"
        b0: i32[k] = input "rows"
        b1: f32[n, 4] = input "x"
        b2: f32[k, 4] = gather, stored: an output of the graph
        step 0: gather
        kernel(b0, b1) -> b2, may fail {
          for i0 < 4
          for i1 < k (lanes)
            v0: i32 = b0[i1]
            v1: i64 = check(0 <= v0 < n)
            v2: f32 = b1[v1, i0]
            b2[i1, i0] = v2
        }
        body: clif
        "#);
        Ok(())
    }
}
