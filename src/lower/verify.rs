//! [`verify`]: checks that a [`KernelBody`] is well formed, so that it may be compiled or interpreted.

use shapeflow_shape_fns::DType;

use super::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, Pass, ReduceStep, SlotType, SlotUse,
};
use super::supported::{has_lanes, supports_binary, supports_reduce, supports_unary};

/// The largest number of loops around the inner axis.
const MAX_LOOPS: u32 = 64;
/// The largest number of slots. The same number also limits run-time scalars and reduction results.
const MAX_COUNT: usize = 1 << 16;
/// The largest number of reductions in one pass.
const MAX_REDUCES: usize = 64;

/// Checks every rule of [`KernelBody`].
///
/// Every emitter of `codegen` relies on these rules.
///
/// # Errors
/// The first broken rule, with the location of the instruction.
pub(crate) fn verify(code: &KernelBody) -> Result<(), String> {
    check(code.loops <= MAX_LOOPS, || format!("at most {MAX_LOOPS} loops, got {}", code.loops))?;
    for (what, count) in [
        ("slots", code.slots.len()),
        ("scalars", code.scalars as usize),
        ("reduction results", code.reduced.len()),
    ] {
        check(count <= MAX_COUNT, || format!("at most {MAX_COUNT} {what}, got {count}"))?;
    }
    for (number, slot) in code.slots.iter().enumerate() {
        check(has_lanes(slot.dtype), || format!("slot {number}: no kernel computes {}", slot.dtype))?;
        if let AccessPattern::Strided(step) = slot.pattern {
            let is_pair = slot.used == SlotUse::Store && step == 2;
            let can_be = (slot.used == SlotUse::Load || is_pair)
                && AccessPattern::of_load(slot.dtype.size_bytes(), Some(step.into())) == slot.pattern;
            check(can_be, || format!("slot {number}: no {:?} of {} has step {step}", slot.used, slot.dtype))?;
        }
        match slot.used {
            SlotUse::Iota => {
                check(slot.dtype == DType::I64, || {
                    format!("slot {number}: an iota must be i64, got {}", slot.dtype)
                })?;
            }
            SlotUse::Scratch => {
                check(slot.pattern == AccessPattern::Contiguous, || {
                    format!("slot {number}: scratch must be contiguous")
                })?;
            }
            SlotUse::Load | SlotUse::Store | SlotUse::Gather => {}
        }
    }
    let mut earlier =
        PassResults { reduced: vec![false; code.reduced.len()], stored: vec![false; code.slots.len()] };
    for (number, pass) in code.passes.iter().enumerate() {
        let location = format!("pass {number}");
        check_body(code, &pass.body, &location, &earlier, false)?;
        check_reduces(code, pass, &location, &mut earlier)?;
        for inst in &pass.body {
            if let InstOp::Store { slot, .. } = inst.op {
                earlier.stored[slot as usize] = true;
            }
        }
    }
    check_body(code, &code.epilogue, "epilogue", &earlier, true)?;
    match earlier.reduced.iter().position(|reduced| !reduced) {
        Some(missing) => Err(format!("no pass computes reduction result {missing}")),
        None => Ok(()),
    }
}

/// What earlier passes have computed.
struct PassResults {
    /// For each reduction result: whether a pass has computed it.
    reduced: Vec<bool>,
    /// For each slot: whether a pass has stored it.
    stored: Vec<bool>,
}

/// Returns the error `otherwise` unless a rule holds.
fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Checks the reductions of a pass.
fn check_reduces(
    code: &KernelBody,
    pass: &Pass,
    location: &str,
    earlier: &mut PassResults,
) -> Result<(), String> {
    check(pass.reduces.len() <= MAX_REDUCES, || format!("{location}: at most {MAX_REDUCES} reductions"))?;
    for ReduceStep { op, value, dtype, into } in &pass.reduces {
        let inst = pass
            .body
            .get(value.0 as usize)
            .ok_or_else(|| format!("{location}: reduction of unknown {value:?}"))?;
        let result = code.reduced.get(*into as usize);
        check(Some(dtype) == result && inst.dtype == *dtype, || {
            let declared = result.map_or("does not exist".to_string(), |dtype| format!("is {dtype}"));
            let computed = format!("a {dtype} reduction of {}", inst.dtype);
            format!("{location}: {computed} gives result {into}, which {declared}")
        })?;
        check(supports_reduce(*op, *dtype), || format!("{location}: no reduction {op:?} of {dtype}"))?;
        let is_computed = &mut earlier.reduced[*into as usize];
        check(!std::mem::replace(is_computed, true), || {
            format!("{location}: reduction result {into} is computed twice")
        })?;
    }
    Ok(())
}

/// Checks the instructions of a pass or of the epilogue.
fn check_body(
    code: &KernelBody,
    body: &[Inst],
    location: &str,
    earlier: &PassResults,
    epilogue: bool,
) -> Result<(), String> {
    for (number, inst) in body.iter().enumerate() {
        let checker = Checker { code, body, number, earlier, epilogue };
        checker
            .check_inst(inst)
            .map_err(|reason| format!("{location}, v{number}: {reason}, got {inst:?}"))?;
    }
    Ok(())
}

/// Checks one instruction.
struct Checker<'a> {
    code: &'a KernelBody,
    body: &'a [Inst],
    /// The number of the instruction in `body`.
    number: usize,
    earlier: &'a PassResults,
    epilogue: bool,
}

impl Checker<'_> {
    /// Returns the dtype of an operand, which must stand before the instruction.
    fn operand_dtype(&self, v: InstId) -> Result<DType, String> {
        check((v.0 as usize) < self.number, || format!("v{} must be computed before", v.0))?;
        Ok(self.body[v.0 as usize].dtype)
    }

    /// Returns the common dtype of several operands.
    fn common_dtype(&self, values: &[InstId]) -> Result<DType, String> {
        let first = self.operand_dtype(values[0])?;
        for v in &values[1..] {
            let dtype = self.operand_dtype(*v)?;
            check(dtype == first, || format!("operands must be of one dtype, got {first} and {dtype}"))?;
        }
        Ok(first)
    }

    fn check_slot(&self, slot: u32, used: &[SlotUse], dtype: DType) -> Result<(), String> {
        let found = self.code.slots.get(slot as usize).ok_or_else(|| format!("no slot {slot}"))?;
        check(used.contains(&found.used), || format!("slot {slot} is declared as {:?}", found.used))?;
        check(found.dtype == dtype, || format!("slot {slot} is {}", found.dtype))
    }

    fn check_scalar(&self, k: u32) -> Result<(), String> {
        check(k < self.code.scalars, || format!("no scalar {k}"))
    }

    fn check_dtype(&self, dtype: DType, wanted: DType) -> Result<(), String> {
        check(dtype == wanted, || format!("the dtype must be {wanted}"))
    }

    fn check_inst(&self, inst: &Inst) -> Result<(), String> {
        let dtype = inst.dtype;
        check(has_lanes(dtype), || format!("no kernel computes {dtype}"))?;
        match &inst.op {
            InstOp::Const(scalar) => self.check_dtype(dtype, scalar.dtype()),
            InstOp::Scalar(k) => {
                self.check_scalar(*k)?;
                self.check_dtype(dtype, DType::I64)
            }
            InstOp::Iota(slot) => self.check_slot(*slot, &[SlotUse::Iota], dtype),
            InstOp::Load(slot) => {
                self.check_slot(*slot, &[SlotUse::Load, SlotUse::Scratch], dtype)?;
                let scratch = self.code.slots[*slot as usize].used == SlotUse::Scratch;
                check(!scratch || self.earlier.stored[*slot as usize], || {
                    format!("an earlier pass must write scratch slot {slot}")
                })
            }
            InstOp::Gather { slot, offsets } => {
                self.check_slot(*slot, &[SlotUse::Gather], dtype)?;
                for (v, stride) in offsets {
                    self.operand_dtype(*v)?;
                    let checked = matches!(self.body[v.0 as usize].op, InstOp::CheckIndex { .. });
                    check(checked, || format!("offset v{} must be a checked index", v.0))?;
                    self.check_scalar(*stride)?;
                }
                Ok(())
            }
            InstOp::Unary(op, a) => {
                let operand = self.operand_dtype(*a)?;
                check(supports_unary(*op, operand), || format!("no {op:?} of {operand}"))?;
                self.check_dtype(dtype, operand)
            }
            InstOp::Binary(op, a, b) => {
                let operand = self.common_dtype(&[*a, *b])?;
                check(supports_binary(*op, operand), || format!("no {op:?} of {operand}"))?;
                self.check_dtype(dtype, if op.is_comparison() { DType::Bool } else { operand })
            }
            InstOp::MulAdd(a, b, c) => {
                let operand = self.common_dtype(&[*a, *b, *c])?;
                check(operand.is_float(), || format!("no MulAdd of {operand}"))?;
                self.check_dtype(dtype, operand)
            }
            InstOp::Select(c, a, b) => {
                check(self.operand_dtype(*c)? == DType::Bool, || "the condition must be bool".to_owned())?;
                let operand = self.common_dtype(&[*a, *b])?;
                self.check_dtype(dtype, operand)
            }
            InstOp::Cast(a) => self.operand_dtype(*a).map(drop),
            InstOp::Bitcast(a) => {
                let operand = self.operand_dtype(*a)?;
                check(operand.size_bytes() == dtype.size_bytes(), || {
                    format!("the sizes must be equal, but {operand} has another size")
                })
            }
            InstOp::Reduced(k) => {
                let result =
                    self.code.reduced.get(*k as usize).ok_or_else(|| format!("no reduction result {k}"))?;
                check(self.earlier.reduced[*k as usize], || {
                    format!("an earlier pass must compute reduction result {k}")
                })?;
                self.check_dtype(dtype, *result)
            }
            InstOp::CheckIndex { value, limit } => {
                let operand = self.operand_dtype(*value)?;
                check(matches!(operand, DType::I32 | DType::I64), || {
                    format!("an index must be i32 or i64, got {operand}")
                })?;
                self.check_scalar(*limit)?;
                self.check_dtype(dtype, DType::I64)
            }
            InstOp::Store { slot, value } => {
                self.check_slot(*slot, &[SlotUse::Store, SlotUse::Scratch], self.operand_dtype(*value)?)?;
                let SlotType { pattern, used, .. } = self.code.slots[*slot as usize];
                check(!matches!(pattern, AccessPattern::Strided(_)), || format!("slot {slot} takes pairs"))?;
                let scratch = used == SlotUse::Scratch;
                check(!scratch || !self.epilogue, || "only passes may write scratch".to_owned())?;
                self.check_dtype(dtype, self.operand_dtype(*value)?)
            }
            InstOp::StorePair { slot, values } => {
                self.check_slot(*slot, &[SlotUse::Store], self.common_dtype(values)?)?;
                let pattern = self.code.slots[*slot as usize].pattern;
                check(pattern == AccessPattern::Strided(2), || format!("slot {slot} takes no pairs"))?;
                self.check_dtype(dtype, self.operand_dtype(values[0])?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{BinaryOp, ReduceOp, Scalar, UnaryOp};
    use crate::lower::kernel_body::{LaneLayout, SlotType};

    fn slot(dtype: DType, pattern: AccessPattern, used: SlotUse) -> SlotType {
        SlotType { dtype, pattern, used }
    }

    /// A row kernel with one of each kind of slot: `v0` f32, `v1` i32 index, `v2` checked, `v3` gathered.
    fn sample() -> KernelBody {
        let inst = |dtype, op| Inst { dtype, op };
        let body = vec![
            inst(DType::F32, InstOp::Load(0)),
            inst(DType::I32, InstOp::Load(1)),
            inst(DType::I64, InstOp::CheckIndex { value: InstId(1), limit: 0 }),
            inst(DType::F32, InstOp::Gather { slot: 2, offsets: Box::new([(InstId(2), 1)]) }),
            inst(DType::F32, InstOp::Binary(BinaryOp::Add, InstId(0), InstId(3))),
            inst(DType::F32, InstOp::Store { slot: 3, value: InstId(4) }),
        ];
        let reduce = ReduceStep { op: ReduceOp::Sum, value: InstId(4), dtype: DType::F32, into: 0 };
        KernelBody {
            layout: LaneLayout::Row,
            loops: 1,
            slots: vec![
                slot(DType::F32, AccessPattern::Contiguous, SlotUse::Load),
                slot(DType::I32, AccessPattern::Contiguous, SlotUse::Load),
                slot(DType::F32, AccessPattern::Splat, SlotUse::Gather),
                slot(DType::F32, AccessPattern::Contiguous, SlotUse::Scratch),
                slot(DType::F32, AccessPattern::Splat, SlotUse::Store),
            ],
            scalars: 2,
            reduced: vec![DType::F32],
            passes: vec![
                Pass { body, reduces: vec![reduce] },
                Pass { body: vec![inst(DType::F32, InstOp::Load(3))], reduces: Vec::new() },
            ],
            epilogue: vec![
                inst(DType::F32, InstOp::Reduced(0)),
                inst(DType::F32, InstOp::Store { slot: 4, value: InstId(0) }),
            ],
        }
    }

    #[test]
    fn a_well_formed_body_is_accepted() {
        assert_eq!(verify(&sample()), Ok(()));
    }

    #[test]
    fn every_broken_rule_is_refused() {
        type Change = fn(&mut KernelBody);
        fn inst(code: &mut KernelBody, v: usize) -> &mut Inst {
            &mut code.passes[0].body[v]
        }
        let broken: &[(Change, &str)] = &[
            (|c| c.loops = 65, "at most 64 loops"),
            (|c| c.slots[0].dtype = DType::C64, "no kernel computes c64"),
            (|c| c.slots[3].pattern = AccessPattern::Splat, "scratch must be contiguous"),
            (|c| c.slots[0].used = SlotUse::Iota, "an iota must be i64"),
            (|c| c.slots[0].used = SlotUse::Store, "slot 0 is declared as Store"),
            (|c| c.slots[0].dtype = DType::F64, "slot 0 is f64"),
            (|c| c.slots[4].pattern = AccessPattern::Strided(2), "slot 4 takes pairs"),
            (|c| c.slots[4].pattern = AccessPattern::Strided(3), "no Store of f32 has step 3"),
            (
                |c| c.epilogue[1].op = InstOp::StorePair { slot: 4, values: [InstId(0); 2] },
                "slot 4 takes no pairs",
            ),
            (|c| inst(c, 0).op = InstOp::Load(9), "no slot 9"),
            (|c| inst(c, 0).op = InstOp::Load(3), "an earlier pass must write scratch slot 3"),
            (|c| inst(c, 0).op = InstOp::Const(Scalar::I32(1)), "the dtype must be i32"),
            (|c| inst(c, 0).op = InstOp::Scalar(0), "the dtype must be i64"),
            (|c| c.scalars = 1, "no scalar 1"),
            (|c| c.scalars = 0, "no scalar 0"),
            (|c| inst(c, 0).op = InstOp::Cast(InstId(0)), "v0 must be computed before"),
            (
                |c| inst(c, 4).op = InstOp::Binary(BinaryOp::Add, InstId(0), InstId(1)),
                "operands must be of one dtype",
            ),
            (|c| inst(c, 4).op = InstOp::Binary(BinaryOp::Xor, InstId(0), InstId(0)), "no Xor of f32"),
            (
                |c| inst(c, 4).op = InstOp::Binary(BinaryOp::Lt, InstId(0), InstId(0)),
                "the dtype must be bool",
            ),
            (|c| inst(c, 4).op = InstOp::Unary(UnaryOp::Sqrt, InstId(1)), "no Sqrt of i32"),
            (|c| inst(c, 4).op = InstOp::MulAdd(InstId(1), InstId(1), InstId(1)), "no MulAdd of i32"),
            (
                |c| inst(c, 4).op = InstOp::Select(InstId(0), InstId(0), InstId(0)),
                "the condition must be bool",
            ),
            (|c| inst(c, 4).op = InstOp::Bitcast(InstId(2)), "i64 has another size"),
            (
                |c| inst(c, 2).op = InstOp::CheckIndex { value: InstId(0), limit: 0 },
                "an index must be i32 or i64, got f32",
            ),
            (|c| inst(c, 2).op = InstOp::Cast(InstId(1)), "must be a checked index"),
            (|c| inst(c, 0).op = InstOp::Reduced(0), "an earlier pass must compute reduction result 0"),
            (|c| inst(c, 5).op = InstOp::Store { slot: 0, value: InstId(4) }, "slot 0 is declared as Load"),
            (|c| inst(c, 5).op = InstOp::Store { slot: 3, value: InstId(1) }, "slot 3 is f32"),
            (|c| c.passes[0].reduces[0].op = ReduceOp::All, "no reduction All of f32"),
            (|c| c.passes[0].reduces[0].value = InstId(70), "reduction of unknown"),
            (|c| c.passes[0].reduces[0].into = 1, "gives result 1"),
            (|c| c.reduced[0] = DType::F64, "gives result 0"),
            (|c| c.passes[0].reduces.clear(), "an earlier pass must compute reduction result 0"),
            (|c| c.reduced.push(DType::I32), "no pass computes reduction result 1"),
            (
                |c| {
                    let reduce = c.passes[0].reduces[0];
                    c.passes[0].reduces.push(reduce);
                },
                "computed twice",
            ),
            (
                |c| c.epilogue[1].op = InstOp::Store { slot: 3, value: InstId(0) },
                "only passes may write scratch",
            ),
        ];
        for (change, expected) in broken {
            let mut code = sample();
            change(&mut code);
            let reason = verify(&code).expect_err(expected);
            assert!(reason.contains(expected), "{reason:?} must contain {expected:?}");
        }
    }
}
