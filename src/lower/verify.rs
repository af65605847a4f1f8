//! `verify`: whether a [`Code`] is well formed, and so may be emitted or interpreted.

use shapeflow_shape_fns::DType;

use super::code::{Class, Code, FoldStep, Inst, InstOp, Pass, SlotUse, Vid};
use crate::expr::{BinaryOp, ReduceOp, UnaryOp};

/// Most loops around the inner axis.
const MAX_LOOPS: u32 = 64;
/// Most slots, run-time scalars and fold results, each.
const MAX_COUNT: usize = 1 << 16;
/// Most folds of one pass.
const MAX_FOLDS: usize = 64;

/// Checks every rule of [`Code`].
///
/// What it accepts, every emitter can emit for every dtype and layout.
/// # Errors
/// The first broken rule, with the place of the instruction.
pub(crate) fn verify(code: &Code) -> Result<(), String> {
    check(code.loops <= MAX_LOOPS, || format!("at most {MAX_LOOPS} loops, got {}", code.loops))?;
    for (what, count) in
        [("slots", code.slots.len()), ("scalars", code.scalars as usize), ("fold results", code.folded.len())]
    {
        check(count <= MAX_COUNT, || format!("at most {MAX_COUNT} {what}, got {count}"))?;
    }
    for (at, slot) in code.slots.iter().enumerate() {
        check(has_lanes(slot.dtype), || format!("slot {at}: no kernel computes {}", slot.dtype))?;
        if let Class::Strided(step) = slot.class {
            let can_be = slot.used == SlotUse::Load
                && Class::of_load(slot.dtype.size_bytes(), Some(step.into())) == slot.class;
            check(can_be, || format!("slot {at}: no load takes every element number {step}"))?;
        }
        match slot.used {
            SlotUse::Iota => {
                check(slot.dtype == DType::I64, || format!("slot {at}: an iota is i64, got {}", slot.dtype))?;
            }
            SlotUse::Scratch => {
                check(slot.class == Class::Contiguous, || format!("slot {at}: scratch is contiguous"))?;
            }
            SlotUse::Load | SlotUse::Store | SlotUse::Gather => {}
        }
    }
    let mut known = Known { folds: vec![false; code.folded.len()], stored: vec![false; code.slots.len()] };
    for (at, pass) in code.passes.iter().enumerate() {
        let place = format!("pass {at}");
        body(code, &pass.body, &place, &known, false)?;
        folds(code, pass, &place, &mut known)?;
        for inst in &pass.body {
            if let InstOp::Store { slot, .. } = inst.op {
                known.stored[slot as usize] = true;
            }
        }
    }
    body(code, &code.epilogue, "epilogue", &known, true)?;
    let missing = known.folds.iter().position(|made| !made);
    check(missing.is_none(), || format!("fold result {} is never made", missing.unwrap_or(0)))
}

/// What earlier passes made.
struct Known {
    folds: Vec<bool>,
    stored: Vec<bool>,
}

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Whether elements of `dtype` are computed in lanes.
pub(crate) fn has_lanes(dtype: DType) -> bool {
    dtype == DType::Bool || dtype.is_integer() || dtype.is_float()
}

/// Whether kernels compute `op` on `dtype`.
pub(crate) fn supports_unary(op: UnaryOp, dtype: DType) -> bool {
    match op {
        UnaryOp::Neg | UnaryOp::Abs => dtype.is_integer() || dtype.is_float(),
        UnaryOp::Sqrt | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => dtype.is_float(),
        UnaryOp::Not => dtype.is_integer() || dtype == DType::Bool,
    }
}

/// Whether kernels compute `op` on two values of `dtype`.
pub(crate) fn supports_binary(op: BinaryOp, dtype: DType) -> bool {
    use BinaryOp::*;
    match op {
        Add | Sub | Mul | Div | Rem => dtype.is_integer() || dtype.is_float(),
        Min | Max | Eq | Ne | Lt | Le => has_lanes(dtype),
        And | Or | Xor => dtype.is_integer() || dtype == DType::Bool,
        Shl | Shr => dtype.is_integer(),
    }
}

/// Whether kernels fold elements of `dtype` by `op`.
pub(crate) fn supports_fold(op: ReduceOp, dtype: DType) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Prod => dtype.is_integer() || dtype.is_float(),
        ReduceOp::Max | ReduceOp::Min => has_lanes(dtype),
        ReduceOp::All | ReduceOp::Any => dtype == DType::Bool,
    }
}

fn folds(code: &Code, pass: &Pass, place: &str, known: &mut Known) -> Result<(), String> {
    check(pass.folds.len() <= MAX_FOLDS, || format!("{place}: at most {MAX_FOLDS} folds"))?;
    for FoldStep { op, value, dtype, into } in &pass.folds {
        let inst =
            pass.body.get(value.0 as usize).ok_or_else(|| format!("{place}: fold of unknown {value:?}"))?;
        let result = code.folded.get(*into as usize);
        check(Some(dtype) == result && inst.dtype == *dtype, || {
            format!("{place}: a fold of {} into {dtype} gives result {into}, {result:?}", inst.dtype)
        })?;
        check(supports_fold(*op, *dtype), || format!("{place}: no fold {op:?} of {dtype}"))?;
        let made = &mut known.folds[*into as usize];
        check(!std::mem::replace(made, true), || format!("{place}: fold result {into} is made twice"))?;
    }
    Ok(())
}

fn body(code: &Code, body: &[Inst], place: &str, known: &Known, epilogue: bool) -> Result<(), String> {
    for (at, inst) in body.iter().enumerate() {
        let checker = Checker { code, body, at, known, epilogue };
        checker.inst(inst).map_err(|reason| format!("{place}, v{at}: {reason}, got {inst:?}"))?;
    }
    Ok(())
}

struct Checker<'a> {
    code: &'a Code,
    body: &'a [Inst],
    at: usize,
    known: &'a Known,
    epilogue: bool,
}

impl Checker<'_> {
    fn dtype(&self, v: Vid) -> Result<DType, String> {
        check((v.0 as usize) < self.at, || format!("v{} is not computed before", v.0))?;
        Ok(self.body[v.0 as usize].dtype)
    }

    fn same(&self, values: &[Vid]) -> Result<DType, String> {
        let first = self.dtype(values[0])?;
        for v in &values[1..] {
            let dtype = self.dtype(*v)?;
            check(dtype == first, || format!("operands must be of one dtype, {first} and {dtype}"))?;
        }
        Ok(first)
    }

    fn slot(&self, slot: u32, used: &[SlotUse], dtype: DType) -> Result<(), String> {
        let found = self.code.slots.get(slot as usize).ok_or_else(|| format!("no slot {slot}"))?;
        check(used.contains(&found.used), || format!("slot {slot} is declared as {:?}", found.used))?;
        check(found.dtype == dtype, || format!("slot {slot} is {}", found.dtype))
    }

    fn scalar(&self, k: u32) -> Result<(), String> {
        check(k < self.code.scalars, || format!("no scalar {k}"))
    }

    fn is(&self, dtype: DType, wanted: DType) -> Result<(), String> {
        check(dtype == wanted, || format!("the dtype must be {wanted}"))
    }

    fn inst(&self, inst: &Inst) -> Result<(), String> {
        let dtype = inst.dtype;
        check(has_lanes(dtype), || format!("no kernel computes {dtype}"))?;
        match &inst.op {
            InstOp::Const(scalar) => self.is(dtype, scalar.dtype()),
            InstOp::Scalar(k) => {
                self.scalar(*k)?;
                self.is(dtype, DType::I64)
            }
            InstOp::Iota(slot) => self.slot(*slot, &[SlotUse::Iota], dtype),
            InstOp::Load(slot) => {
                self.slot(*slot, &[SlotUse::Load, SlotUse::Scratch], dtype)?;
                let scratch = self.code.slots[*slot as usize].used == SlotUse::Scratch;
                check(!scratch || self.known.stored[*slot as usize], || {
                    format!("scratch slot {slot} is read before a pass has written it")
                })
            }
            InstOp::Gather { slot, offsets } => {
                self.slot(*slot, &[SlotUse::Gather], dtype)?;
                for (v, stride) in offsets {
                    self.dtype(*v)?;
                    let checked = matches!(self.body[v.0 as usize].op, InstOp::CheckIndex { .. });
                    check(checked, || format!("offset v{} is not a checked index", v.0))?;
                    self.scalar(*stride)?;
                }
                Ok(())
            }
            InstOp::Unary(op, a) => {
                let operand = self.dtype(*a)?;
                check(supports_unary(*op, operand), || format!("no {op:?} of {operand}"))?;
                self.is(dtype, operand)
            }
            InstOp::Binary(op, a, b) => {
                let operand = self.same(&[*a, *b])?;
                check(supports_binary(*op, operand), || format!("no {op:?} of {operand}"))?;
                self.is(dtype, if op.is_comparison() { DType::Bool } else { operand })
            }
            InstOp::MulAdd(a, b, c) => {
                let operand = self.same(&[*a, *b, *c])?;
                check(operand.is_float(), || format!("no MulAdd of {operand}"))?;
                self.is(dtype, operand)
            }
            InstOp::Select(c, a, b) => {
                check(self.dtype(*c)? == DType::Bool, || "the condition must be bool".to_owned())?;
                let operand = self.same(&[*a, *b])?;
                self.is(dtype, operand)
            }
            InstOp::Cast(a) => self.dtype(*a).map(drop),
            InstOp::Bitcast(a) => {
                let operand = self.dtype(*a)?;
                check(operand.size_bytes() == dtype.size_bytes(), || format!("{operand} has another size"))
            }
            InstOp::Folded(k) => {
                let result =
                    self.code.folded.get(*k as usize).ok_or_else(|| format!("no fold result {k}"))?;
                check(self.known.folds[*k as usize], || {
                    format!("fold {k} is not finished in an earlier pass")
                })?;
                self.is(dtype, *result)
            }
            InstOp::CheckIndex { value, limit } => {
                let operand = self.dtype(*value)?;
                check(matches!(operand, DType::I32 | DType::I64), || format!("no index is {operand}"))?;
                self.scalar(*limit)?;
                self.is(dtype, DType::I64)
            }
            InstOp::Store { slot, value } => {
                self.slot(*slot, &[SlotUse::Store, SlotUse::Scratch], self.dtype(*value)?)?;
                let scratch = self.code.slots[*slot as usize].used == SlotUse::Scratch;
                check(!scratch || !self.epilogue, || "scratch is written by passes only".to_owned())?;
                self.is(dtype, self.dtype(*value)?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Scalar;
    use crate::lower::code::{Layout, SlotType};

    fn slot(dtype: DType, class: Class, used: SlotUse) -> SlotType {
        SlotType { dtype, class, used }
    }

    /// A row kernel with one of each kind of slot: `v0` f32, `v1` i32 index, `v2` checked, `v3` gathered.
    fn sample() -> Code {
        let inst = |dtype, op| Inst { dtype, op };
        let body = vec![
            inst(DType::F32, InstOp::Load(0)),
            inst(DType::I32, InstOp::Load(1)),
            inst(DType::I64, InstOp::CheckIndex { value: Vid(1), limit: 0 }),
            inst(DType::F32, InstOp::Gather { slot: 2, offsets: Box::new([(Vid(2), 1)]) }),
            inst(DType::F32, InstOp::Binary(BinaryOp::Add, Vid(0), Vid(3))),
            inst(DType::F32, InstOp::Store { slot: 3, value: Vid(4) }),
        ];
        let fold = FoldStep { op: ReduceOp::Sum, value: Vid(4), dtype: DType::F32, into: 0 };
        Code {
            layout: Layout::Row,
            loops: 1,
            slots: vec![
                slot(DType::F32, Class::Contiguous, SlotUse::Load),
                slot(DType::I32, Class::Contiguous, SlotUse::Load),
                slot(DType::F32, Class::Splat, SlotUse::Gather),
                slot(DType::F32, Class::Contiguous, SlotUse::Scratch),
                slot(DType::F32, Class::Splat, SlotUse::Store),
            ],
            scalars: 2,
            folded: vec![DType::F32],
            passes: vec![
                Pass { body, folds: vec![fold] },
                Pass { body: vec![inst(DType::F32, InstOp::Load(3))], folds: Vec::new() },
            ],
            epilogue: vec![
                inst(DType::F32, InstOp::Folded(0)),
                inst(DType::F32, InstOp::Store { slot: 4, value: Vid(0) }),
            ],
        }
    }

    #[test]
    fn well_formed() {
        assert_eq!(verify(&sample()), Ok(()));
    }

    #[test]
    fn every_rule_is_checked() {
        type Change = fn(&mut Code);
        fn at(code: &mut Code, v: usize) -> &mut Inst {
            &mut code.passes[0].body[v]
        }
        let broken: &[(Change, &str)] = &[
            (|c| c.loops = 65, "at most 64 loops"),
            (|c| c.slots[0].dtype = DType::C64, "no kernel computes c64"),
            (|c| c.slots[3].class = Class::Splat, "scratch is contiguous"),
            (|c| c.slots[0].used = SlotUse::Iota, "an iota is i64"),
            (|c| c.slots[0].used = SlotUse::Store, "slot 0 is declared as Store"),
            (|c| c.slots[0].dtype = DType::F64, "slot 0 is f64"),
            (|c| at(c, 0).op = InstOp::Load(9), "no slot 9"),
            (|c| at(c, 0).op = InstOp::Load(3), "read before a pass has written it"),
            (|c| at(c, 0).op = InstOp::Const(Scalar::I32(1)), "the dtype must be i32"),
            (|c| at(c, 0).op = InstOp::Scalar(0), "the dtype must be i64"),
            (|c| c.scalars = 1, "no scalar 1"),
            (|c| c.scalars = 0, "no scalar 0"),
            (|c| at(c, 0).op = InstOp::Cast(Vid(0)), "v0 is not computed before"),
            (
                |c| at(c, 4).op = InstOp::Binary(BinaryOp::Add, Vid(0), Vid(1)),
                "operands must be of one dtype",
            ),
            (|c| at(c, 4).op = InstOp::Binary(BinaryOp::Xor, Vid(0), Vid(0)), "no Xor of f32"),
            (|c| at(c, 4).op = InstOp::Binary(BinaryOp::Lt, Vid(0), Vid(0)), "the dtype must be bool"),
            (|c| at(c, 4).op = InstOp::Unary(UnaryOp::Sqrt, Vid(1)), "no Sqrt of i32"),
            (|c| at(c, 4).op = InstOp::MulAdd(Vid(1), Vid(1), Vid(1)), "no MulAdd of i32"),
            (|c| at(c, 4).op = InstOp::Select(Vid(0), Vid(0), Vid(0)), "the condition must be bool"),
            (|c| at(c, 4).op = InstOp::Bitcast(Vid(2)), "i64 has another size"),
            (|c| at(c, 2).op = InstOp::CheckIndex { value: Vid(0), limit: 0 }, "no index is f32"),
            (|c| at(c, 2).op = InstOp::Cast(Vid(1)), "not a checked index"),
            (|c| at(c, 0).op = InstOp::Folded(0), "not finished in an earlier pass"),
            (|c| at(c, 5).op = InstOp::Store { slot: 0, value: Vid(4) }, "slot 0 is declared as Load"),
            (|c| at(c, 5).op = InstOp::Store { slot: 3, value: Vid(1) }, "slot 3 is f32"),
            (|c| c.passes[0].folds[0].op = ReduceOp::All, "no fold All of f32"),
            (|c| c.passes[0].folds[0].value = Vid(70), "fold of unknown"),
            (|c| c.passes[0].folds[0].into = 1, "gives result 1"),
            (|c| c.folded[0] = DType::F64, "gives result 0"),
            (|c| c.passes[0].folds.clear(), "not finished in an earlier pass"),
            (|c| c.folded.push(DType::I32), "fold result 1 is never made"),
            (
                |c| {
                    let fold = c.passes[0].folds[0];
                    c.passes[0].folds.push(fold);
                },
                "made twice",
            ),
            (
                |c| c.epilogue[1].op = InstOp::Store { slot: 3, value: Vid(0) },
                "scratch is written by passes only",
            ),
        ];
        for (change, expected) in broken {
            let mut code = sample();
            change(&mut code);
            let reason = verify(&code).expect_err(expected);
            assert!(reason.contains(expected), "{reason:?} does not say {expected:?}");
        }
    }
}
