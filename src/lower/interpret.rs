//! `interpret`: runs a [`Code`] element by element over byte buffers, the exact oracle of machine code.

use smallvec::SmallVec;

use super::code::{Class, Code, FOLD_TILE, Inst, InstOp, Layout, Pass, SlotUse};
use super::fold_lanes::{Lanes, lanes_of};
use crate::expr::{Scalar, eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary};

/// A buffer of a run.
pub(crate) enum Memory<'a> {
    /// Only loaded from.
    Read(&'a [u8]),
    /// Stored to, and perhaps loaded from.
    Write(&'a mut [u8]),
}

/// Where a slot lies and how it moves: the meaning of a line of `KernelArgs::slots`.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterpSlot {
    /// Position in [`InterpArgs::buffers`]; not read for an iota.
    pub buffer: usize,
    /// Bytes from the start of the buffer; of an iota its first value.
    pub base: i64,
    /// Stride per row.
    pub row: i64,
    /// Stride per inner element; read for iotas and gather slots only.
    pub inner: i64,
    /// Stride per loop.
    pub loops: SmallVec<[i64; 4]>,
}

/// What a code is run on.
pub(crate) struct InterpArgs<'a, 'b> {
    /// One for each slot of the code.
    pub slots: &'a [InterpSlot],
    /// The memory slots refer to.
    pub buffers: &'a mut [Memory<'b>],
    /// The run-time scalars.
    pub scalars: &'a [i64],
    /// Number of rows.
    pub rows: i64,
    /// Number of elements of the inner axis.
    pub n: i64,
    /// Extents of the loops.
    pub extents: &'a [i64],
    /// Whether `MulAdd` rounds once.
    pub fused: bool,
}

/// Why a run stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FaultKind {
    /// An index outside `[0, limit)`.
    Index { value: i64, limit: i64 },
    /// An integer divided by zero.
    DivideByZero,
    /// A slot that leaves its buffer, stores to memory that is only read, or does not exist: a mistake
    /// of whoever made the arguments.
    OutOfBounds { slot: u32 },
}

/// The first element that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// What was found.
    pub kind: FaultKind,
    /// Number of the pass; one more than the last pass for the epilogue.
    pub pass: usize,
    /// Number of the instruction in its body.
    pub inst: usize,
    /// Row of the element.
    pub row: i64,
    /// Its position along the loops.
    pub position: SmallVec<[i64; 4]>,
    /// Its position along the inner axis.
    pub inner: i64,
}

/// Runs `code`, which must have passed its verifier.
///
/// Every value is computed by the scalar evaluator, and folds follow the tree that [`FOLD_BYTES`]
/// describes, so that the bytes written are those of any correct machine code, but for NaN payloads.
/// # Errors
/// The first element that fails a check; what was stored before stays.
pub(crate) fn interpret(code: &Code, args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
    let mut run = Run {
        code,
        values: Vec::new(),
        folded: code.folded.iter().map(|dtype| vec![Scalar::zero(*dtype)]).collect(),
        at: At { pass: 0, row: 0, position: SmallVec::new(), inner: 0 },
    };
    for row in 0..args.rows {
        for (number, pass) in code.passes.iter().enumerate() {
            run.at = At { pass: number, row, position: origin(code), inner: 0 };
            run.pass(pass, args)?;
        }
        let lanes = if code.layout == Layout::Column { args.n } else { 1 };
        run.at = At { pass: code.passes.len(), row, position: origin(code), inner: 0 };
        if !code.epilogue.is_empty() {
            for inner in 0..lanes {
                run.at.inner = inner;
                run.body(&code.epilogue, args)?;
            }
        }
    }
    Ok(())
}

/// The first position of the loops.
fn origin(code: &Code) -> SmallVec<[i64; 4]> {
    std::iter::repeat_n(0, code.loops as usize).collect()
}

/// Moves to the next position of the loops; false after the last.
fn advance(position: &mut [i64], extents: &[i64]) -> bool {
    for (at, extent) in position.iter_mut().zip(extents).rev() {
        *at += 1;
        if *at < *extent {
            return true;
        }
        *at = 0;
    }
    false
}

struct At {
    pass: usize,
    row: i64,
    position: SmallVec<[i64; 4]>,
    inner: i64,
}

struct Run<'c> {
    code: &'c Code,
    values: Vec<Scalar>,
    /// Results of folds: one for the row, or one for each lane.
    folded: Vec<Vec<Scalar>>,
    at: At,
}

impl Run<'_> {
    fn pass(&mut self, pass: &Pass, args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
        let column = self.code.layout == Layout::Column;
        let count = |dtype| if column { args.n.max(0) as usize } else { lanes_of(dtype) };
        let mut folds: Vec<Lanes> =
            pass.folds.iter().map(|step| Lanes::new(*step, count(step.dtype))).collect();
        let mut more = args.extents.iter().all(|extent| *extent > 0);
        while more {
            for inner in 0..args.n {
                self.at.inner = inner;
                self.body(&pass.body, args)?;
                for fold in &mut folds {
                    let lane = inner as usize % fold.own.len();
                    fold.add(lane, self.values[fold.step.value.0 as usize]);
                    if !column && (inner + 1) % FOLD_TILE as i64 == 0 {
                        fold.end_tile();
                    }
                }
            }
            if !column {
                folds.iter_mut().for_each(Lanes::end_tile);
            }
            more = advance(&mut self.at.position, args.extents);
        }
        for fold in folds {
            let into = fold.step.into as usize;
            self.folded[into] = match column {
                true => fold.own.iter().map(|total| fold.finish(*total)).collect(),
                false => vec![fold.halve()],
            };
        }
        Ok(())
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault {
            kind,
            pass: self.at.pass,
            inst: self.values.len(),
            row: self.at.row,
            position: self.at.position.clone(),
            inner: self.at.inner,
        }
    }

    /// The bodies of a whole element.
    fn body(&mut self, body: &[Inst], args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
        self.values.clear();
        for inst in body {
            let value = self.inst(inst, args)?;
            self.values.push(value);
        }
        Ok(())
    }

    fn inst(&self, inst: &Inst, args: &mut InterpArgs<'_, '_>) -> Result<Scalar, Fault> {
        let value = |v: &super::code::Vid| self.values[v.0 as usize];
        Ok(match &inst.op {
            InstOp::Const(scalar) => *scalar,
            InstOp::Scalar(k) => Scalar::I64(args.scalars[*k as usize]),
            InstOp::Iota(slot) => Scalar::I64(self.place(*slot, args)?),
            InstOp::Load(slot) => self.load(*slot, self.place(*slot, args)?, args)?,
            InstOp::Gather { slot, offsets } => {
                let mut place = self.place(*slot, args)?;
                for (v, stride) in offsets {
                    let offset = value(v).to_i64().wrapping_mul(args.scalars[*stride as usize]);
                    place = place.wrapping_add(offset);
                }
                self.load(*slot, place, args)?
            }
            InstOp::Unary(op, a) => eval_unary(*op, value(a)),
            InstOp::Binary(op, a, b) => {
                eval_binary(*op, value(a), value(b)).ok_or_else(|| self.fault(FaultKind::DivideByZero))?
            }
            InstOp::MulAdd(a, b, c) => eval_mul_add(value(a), value(b), value(c), args.fused),
            InstOp::Select(c, a, b) => {
                if value(c) == Scalar::Bool(true) {
                    value(a)
                } else {
                    value(b)
                }
            }
            InstOp::Cast(a) => eval_cast(value(a), inst.dtype),
            InstOp::Bitcast(a) => eval_bitcast(value(a), inst.dtype),
            InstOp::Folded(k) => {
                let results = &self.folded[*k as usize];
                results[if results.len() == 1 { 0 } else { self.at.inner as usize }]
            }
            InstOp::CheckIndex { value: v, limit } => {
                let (index, limit) = (value(v).to_i64(), args.scalars[*limit as usize]);
                if index < 0 || index >= limit {
                    return Err(self.fault(FaultKind::Index { value: index, limit }));
                }
                Scalar::I64(index)
            }
            InstOp::Store { slot, value: v } => {
                let place = self.place(*slot, args)?;
                let line = &args.slots[*slot as usize];
                let Some(Memory::Write(bytes)) = args.buffers.get_mut(line.buffer) else {
                    return Err(self.fault(FaultKind::OutOfBounds { slot: *slot }));
                };
                usize::try_from(place)
                    .ok()
                    .and_then(|place| bytes.get_mut(place..))
                    .and_then(|bytes| value(v).write_bytes(bytes))
                    .ok_or_else(|| self.fault(FaultKind::OutOfBounds { slot: *slot }))?;
                value(v)
            }
        })
    }

    /// The byte offset of a slot's current element, or an iota's value.
    fn place(&self, slot: u32, args: &InterpArgs<'_, '_>) -> Result<i64, Fault> {
        let missing = || self.fault(FaultKind::OutOfBounds { slot });
        let kind = self.code.slots.get(slot as usize).ok_or_else(missing)?;
        let line = args.slots.get(slot as usize).ok_or_else(missing)?;
        let inner = match (kind.class, kind.used) {
            (Class::Contiguous, SlotUse::Iota | SlotUse::Gather) => line.inner,
            (class, _) => class.step() * kind.dtype.size_bytes().unwrap_or(1) as i64,
        };
        let mut place = line.base.wrapping_add(self.at.row.wrapping_mul(line.row));
        place = place.wrapping_add(self.at.inner.wrapping_mul(inner));
        for (position, stride) in self.at.position.iter().zip(&line.loops) {
            place = place.wrapping_add(position.wrapping_mul(*stride));
        }
        Ok(place)
    }

    fn load(&self, slot: u32, place: i64, args: &InterpArgs<'_, '_>) -> Result<Scalar, Fault> {
        let missing = || self.fault(FaultKind::OutOfBounds { slot });
        let bytes = match args.buffers.get(args.slots[slot as usize].buffer) {
            Some(Memory::Read(bytes)) => *bytes,
            Some(Memory::Write(bytes)) => &**bytes,
            None => return Err(missing()),
        };
        usize::try_from(place)
            .ok()
            .and_then(|place| bytes.get(place..))
            .and_then(|bytes| Scalar::from_bytes(self.code.slots[slot as usize].dtype, bytes))
            .ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;
    use smallvec::smallvec;

    use super::*;
    use crate::expr::{BinaryOp, ReduceOp};
    use crate::lower::code::{FoldStep, SlotType, Vid};

    fn load_store(dtype: DType, slots: Vec<SlotType>, op: InstOp, scalars: u32) -> Code {
        let inst = |op| Inst { dtype, op };
        let body = vec![inst(InstOp::Load(0)), inst(op), inst(InstOp::Store { slot: 1, value: Vid(1) })];
        Code {
            layout: Layout::Row,
            loops: 1,
            slots,
            scalars,
            folded: Vec::new(),
            passes: vec![Pass { body, folds: Vec::new() }],
            epilogue: Vec::new(),
        }
    }

    fn memory(dtype: DType) -> Vec<SlotType> {
        [SlotUse::Load, SlotUse::Store]
            .map(|used| SlotType { dtype, class: Class::Contiguous, used })
            .to_vec()
    }

    fn run(code: &Code, input: &[u8], output: &mut [u8], scalars: &[i64]) -> Result<(), Fault> {
        crate::lower::verify::verify(code).unwrap();
        let size = code.slots[0].dtype.size_bytes().unwrap() as i64;
        let line =
            |buffer| InterpSlot { buffer, base: 0, row: 6 * size, inner: size, loops: smallvec![3 * size] };
        let mut buffers = [Memory::Read(input), Memory::Write(output)];
        let mut args = InterpArgs {
            slots: &[line(0), line(1)],
            buffers: &mut buffers,
            scalars,
            rows: 2,
            n: 3,
            extents: &[2],
            fused: false,
        };
        interpret(code, &mut args)
    }

    #[test]
    fn the_first_failing_element_is_named() {
        let ten = InstOp::Binary(BinaryOp::Rem, Vid(0), Vid(0));
        let code = load_store(DType::U8, memory(DType::U8), ten, 0);
        let input = [1, 2, 3, 4, 5, 6, 7, 8, 0, 10, 0, 12];
        let fault = run(&code, &input, &mut [9; 12], &[]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::DivideByZero);
        assert_eq!((fault.pass, fault.inst, fault.row), (0, 1, 1));
        assert_eq!((&fault.position[..], fault.inner), (&[0][..], 2));
    }

    #[test]
    fn indices_are_checked() {
        let check = InstOp::CheckIndex { value: Vid(0), limit: 0 };
        let code = load_store(DType::I64, memory(DType::I64), check, 1);
        let input: Vec<u8> = (0i64..12).flat_map(|x| (x - 8).abs().to_ne_bytes()).collect();
        let mut output = [0; 96];
        assert_eq!(run(&code, &input, &mut output, &[9]), Ok(()));
        assert_eq!(input[..], output[..]);
        let fault = run(&code, &input, &mut output, &[8]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::Index { value: 8, limit: 8 });
    }

    #[test]
    fn a_slot_outside_its_buffer_is_a_fault() {
        let code =
            load_store(DType::F32, memory(DType::F32), InstOp::Binary(BinaryOp::Add, Vid(0), Vid(0)), 0);
        let fault = run(&code, &[0; 40], &mut [0; 48], &[]).unwrap_err();
        assert_eq!((fault.kind, fault.row, fault.inner), (FaultKind::OutOfBounds { slot: 0 }, 1, 1));
        let fault = run(&code, &[0; 48], &mut [0; 11], &[]).unwrap_err();
        assert_eq!((fault.kind, fault.inner), (FaultKind::OutOfBounds { slot: 1 }, 2));
    }

    #[test]
    fn a_row_folds_by_halving_lanes() {
        let dtype = DType::F32;
        let code = Code {
            layout: Layout::Row,
            loops: 1,
            slots: memory(dtype),
            scalars: 0,
            folded: vec![dtype],
            passes: vec![Pass {
                body: vec![Inst { dtype, op: InstOp::Load(0) }],
                folds: vec![FoldStep { op: ReduceOp::Sum, value: Vid(0), dtype, into: 0 }],
            }],
            epilogue: vec![
                Inst { dtype, op: InstOp::Folded(0) },
                Inst { dtype, op: InstOp::Store { slot: 1, value: Vid(0) } },
            ],
        };
        // Lanes 0, 1 and 2 hold 1, 2^24 and 1 from each of the two runs: (1 + 1 + 1 + 1) + 2^25.
        let row = [1.0, 16_777_216.0, 1.0f32];
        let input: Vec<u8> = [row; 4].concat().into_iter().flat_map(f32::to_ne_bytes).collect();
        let mut output = [0; 48];
        assert_eq!(run(&code, &input, &mut output, &[]), Ok(()));
        assert_eq!(output[..4], 33_554_436.0f32.to_ne_bytes());
        assert_eq!(output[24..28], 33_554_436.0f32.to_ne_bytes());
    }
}
