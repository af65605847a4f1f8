//! [`interpret`]: runs a [`KernelBody`] element by element over byte buffers. Machine code must give the same bytes.

use smallvec::SmallVec;

use super::fault::{Fault, FaultKind};
use super::reduce_lanes::{ReduceLanes, lane_count};
use crate::expr::{Scalar, eval_binary, eval_bitcast, eval_cast, eval_mul_add, eval_unary};
use crate::lower::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, REDUCE_TILE, SlotUse,
};

/// A buffer of a run.
pub(crate) enum InterpBuffer<'a> {
    /// A buffer that is only loaded from.
    Read(&'a [u8]),
    /// A buffer that is stored to, and may be loaded from.
    Write(&'a mut [u8]),
}

/// The address and strides of a slot in bytes, as the words of a slot in `KernelArgs::slots`; for an iota, in units of
/// its value.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterpSlot {
    /// Index into [`InterpArgs::buffers`]; ignored for an iota.
    pub buffer: usize,
    /// Offset from the start of the buffer, or the first value of an iota.
    pub base: i64,
    /// Stride per row.
    pub row: i64,
    /// Stride per inner element; used by iotas and gather slots only.
    pub inner: i64,
    /// Stride per loop.
    pub loops: SmallVec<[i64; 4]>,
}

/// The arguments of a run.
pub(crate) struct InterpArgs<'a, 'b> {
    /// One entry for each slot of the body.
    pub slots: &'a [InterpSlot],
    /// The memory that slots refer to.
    pub buffers: &'a mut [InterpBuffer<'b>],
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

/// Runs `code`, which the verifier must have accepted.
///
/// The scalar evaluator computes every value, and reductions combine in the order that [`REDUCE_BYTES`] describes. So
/// every correct machine code writes the same bytes, apart from NaN payloads.
///
/// # Errors
/// The first element that fails a check. Elements stored before it stay in the buffers.
pub(crate) fn interpret(code: &KernelBody, args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
    let mut run = Interpreter {
        code,
        values: Vec::new(),
        reduced: code.reduced.iter().map(|dtype| vec![Scalar::zero(*dtype)]).collect(),
        position: Position { pass: 0, row: 0, loops: SmallVec::new(), inner: 0 },
    };
    for row in 0..args.rows {
        for (number, pass) in code.passes.iter().enumerate() {
            run.position = Position { pass: number, row, loops: origin(code), inner: 0 };
            run.pass(pass, args)?;
        }
        let lanes = if code.layout == LaneLayout::Column { args.n } else { 1 };
        run.position = Position { pass: code.passes.len(), row, loops: origin(code), inner: 0 };
        if !code.epilogue.is_empty() {
            for inner in 0..lanes {
                run.position.inner = inner;
                run.body(&code.epilogue, args)?;
            }
        }
    }
    Ok(())
}

/// Returns the first position of the loops.
fn origin(code: &KernelBody) -> SmallVec<[i64; 4]> {
    std::iter::repeat_n(0, code.loops as usize).collect()
}

/// Moves to the next position of the loops. Returns false after the last one.
fn advance(position: &mut [i64], extents: &[i64]) -> bool {
    for (index, extent) in position.iter_mut().zip(extents).rev() {
        *index += 1;
        if *index < *extent {
            return true;
        }
        *index = 0;
    }
    false
}

/// The position of the current element.
struct Position {
    pass: usize,
    row: i64,
    loops: SmallVec<[i64; 4]>,
    inner: i64,
}

struct Interpreter<'c> {
    code: &'c KernelBody,
    values: Vec<Scalar>,
    /// Results of reductions: one for the row, or one for each lane.
    reduced: Vec<Vec<Scalar>>,
    position: Position,
}

impl Interpreter<'_> {
    fn pass(&mut self, pass: &Pass, args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
        let column = self.code.layout == LaneLayout::Column;
        let count = |dtype| if column { args.n.max(0) as usize } else { lane_count(dtype) };
        let mut reduces: Vec<ReduceLanes> =
            pass.reduces.iter().map(|step| ReduceLanes::new(*step, count(step.dtype))).collect();
        let mut more = args.extents.iter().all(|extent| *extent > 0);
        while more {
            for inner in 0..args.n {
                self.position.inner = inner;
                self.body(&pass.body, args)?;
                for reduce in &mut reduces {
                    let lane = inner as usize % reduce.current.len();
                    reduce.add(lane, self.values[reduce.step.value.0 as usize]);
                    if !column && (inner + 1) % REDUCE_TILE as i64 == 0 {
                        reduce.end_tile();
                    }
                }
            }
            if !column {
                reduces.iter_mut().for_each(ReduceLanes::end_tile);
            }
            more = advance(&mut self.position.loops, args.extents);
        }
        for reduce in reduces {
            let into = reduce.step.into as usize;
            self.reduced[into] = match column {
                true => reduce.current.iter().map(|total| reduce.finish(*total)).collect(),
                false => vec![reduce.halve()],
            };
        }
        Ok(())
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault {
            kind,
            pass: self.position.pass,
            inst: self.values.len(),
            row: self.position.row,
            position: self.position.loops.clone(),
            inner: self.position.inner,
        }
    }

    /// Runs a body for the current element.
    fn body(&mut self, body: &[Inst], args: &mut InterpArgs<'_, '_>) -> Result<(), Fault> {
        self.values.clear();
        for inst in body {
            let value = self.inst(inst, args)?;
            self.values.push(value);
        }
        Ok(())
    }

    fn inst(&self, inst: &Inst, args: &mut InterpArgs<'_, '_>) -> Result<Scalar, Fault> {
        let value = |v: &InstId| self.values[v.0 as usize];
        Ok(match &inst.op {
            InstOp::Const(scalar) => *scalar,
            InstOp::Scalar(k) => Scalar::I64(args.scalars[*k as usize]),
            InstOp::Iota(slot) => Scalar::I64(self.offset(*slot, args)?),
            InstOp::Load(slot) => self.load(*slot, self.offset(*slot, args)?, args)?,
            InstOp::Gather { slot, offsets } => {
                let mut offset = self.offset(*slot, args)?;
                for (v, stride) in offsets {
                    let moved = value(v).to_i64().wrapping_mul(args.scalars[*stride as usize]);
                    offset = offset.wrapping_add(moved);
                }
                self.load(*slot, offset, args)?
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
            InstOp::Reduced(k) => {
                let results = &self.reduced[*k as usize];
                results[if results.len() == 1 { 0 } else { self.position.inner as usize }]
            }
            InstOp::CheckIndex { value: v, limit } => {
                let (index, limit) = (value(v).to_i64(), args.scalars[*limit as usize]);
                if index < 0 || index >= limit {
                    return Err(self.fault(FaultKind::Index { value: index, limit }));
                }
                Scalar::I64(index)
            }
            InstOp::Store { slot, value: v } => self.store(*slot, 0, value(v), args)?,
            InstOp::StorePair { slot, values: [first, second] } => {
                self.store(*slot, 1, value(second), args)?;
                self.store(*slot, 0, value(first), args)?
            }
        })
    }

    /// Stores a value `ahead` elements after a slot's current element, and returns it.
    fn store(
        &self,
        slot: u32,
        ahead: i64,
        value: Scalar,
        args: &mut InterpArgs<'_, '_>,
    ) -> Result<Scalar, Fault> {
        let size = value.dtype().size_bytes().expect("elements of kernel slots have a fixed size");
        let offset = self.offset(slot, args)? + ahead * size as i64;
        let Some(InterpBuffer::Write(bytes)) = args.buffers.get_mut(args.slots[slot as usize].buffer) else {
            return Err(self.fault(FaultKind::OutOfBounds { slot }));
        };
        let bytes = usize::try_from(offset).ok().and_then(|offset| bytes.get_mut(offset..));
        bytes
            .and_then(|bytes| value.write_bytes(bytes))
            .ok_or_else(|| self.fault(FaultKind::OutOfBounds { slot }))?;
        Ok(value)
    }

    /// Returns the byte offset of a slot's current element, or the value of an iota.
    fn offset(&self, slot: u32, args: &InterpArgs<'_, '_>) -> Result<i64, Fault> {
        let out_of_bounds = || self.fault(FaultKind::OutOfBounds { slot });
        let kind = self.code.slots.get(slot as usize).ok_or_else(out_of_bounds)?;
        let slot_args = args.slots.get(slot as usize).ok_or_else(out_of_bounds)?;
        let inner = match (kind.pattern, kind.used) {
            (AccessPattern::Contiguous, SlotUse::Iota | SlotUse::Gather) => slot_args.inner,
            (pattern, _) => {
                pattern.step()
                    * kind.dtype.size_bytes().expect("elements of kernel slots have a fixed size") as i64
            }
        };
        let mut offset = slot_args.base.wrapping_add(self.position.row.wrapping_mul(slot_args.row));
        offset = offset.wrapping_add(self.position.inner.wrapping_mul(inner));
        for (position, stride) in self.position.loops.iter().zip(&slot_args.loops) {
            offset = offset.wrapping_add(position.wrapping_mul(*stride));
        }
        Ok(offset)
    }

    fn load(&self, slot: u32, offset: i64, args: &InterpArgs<'_, '_>) -> Result<Scalar, Fault> {
        let out_of_bounds = || self.fault(FaultKind::OutOfBounds { slot });
        let bytes = match args.buffers.get(args.slots[slot as usize].buffer) {
            Some(InterpBuffer::Read(bytes)) => *bytes,
            Some(InterpBuffer::Write(bytes)) => &**bytes,
            None => return Err(out_of_bounds()),
        };
        usize::try_from(offset)
            .ok()
            .and_then(|offset| bytes.get(offset..))
            .and_then(|bytes| Scalar::from_bytes(self.code.slots[slot as usize].dtype, bytes))
            .ok_or_else(out_of_bounds)
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;
    use smallvec::smallvec;

    use super::*;
    use crate::expr::{BinaryOp, ReduceOp};
    use crate::lower::kernel_body::{InstId, ReduceStep, SlotType};

    fn load_store(dtype: DType, slots: Vec<SlotType>, op: InstOp, scalars: u32) -> KernelBody {
        let inst = |op| Inst { dtype, op };
        let body = vec![inst(InstOp::Load(0)), inst(op), inst(InstOp::Store { slot: 1, value: InstId(1) })];
        KernelBody {
            layout: LaneLayout::Row,
            loops: 1,
            slots,
            scalars,
            reduced: Vec::new(),
            passes: vec![Pass { body, reduces: Vec::new() }],
            epilogue: Vec::new(),
        }
    }

    fn memory(dtype: DType) -> Vec<SlotType> {
        [SlotUse::Load, SlotUse::Store]
            .map(|used| SlotType { dtype, pattern: AccessPattern::Contiguous, used })
            .to_vec()
    }

    fn run(code: &KernelBody, input: &[u8], output: &mut [u8], scalars: &[i64]) -> Result<(), Fault> {
        crate::lower::verify::verify(code).unwrap();
        let size = code.slots[0].dtype.size_bytes().unwrap() as i64;
        let slot_args =
            |buffer| InterpSlot { buffer, base: 0, row: 6 * size, inner: size, loops: smallvec![3 * size] };
        let mut buffers = [InterpBuffer::Read(input), InterpBuffer::Write(output)];
        let mut args = InterpArgs {
            slots: &[slot_args(0), slot_args(1)],
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
    fn a_fault_names_the_first_failing_element() {
        let remainder = InstOp::Binary(BinaryOp::Rem, InstId(0), InstId(0));
        let code = load_store(DType::U8, memory(DType::U8), remainder, 0);
        let input = [1, 2, 3, 4, 5, 6, 7, 8, 0, 10, 0, 12];
        let fault = run(&code, &input, &mut [9; 12], &[]).unwrap_err();
        assert_eq!(fault.kind, FaultKind::DivideByZero);
        assert_eq!((fault.pass, fault.inst, fault.row), (0, 1, 1));
        assert_eq!((&fault.position[..], fault.inner), (&[0][..], 2));
    }

    #[test]
    fn an_index_outside_its_limit_is_a_fault() {
        let check = InstOp::CheckIndex { value: InstId(0), limit: 0 };
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
        let code = load_store(
            DType::F32,
            memory(DType::F32),
            InstOp::Binary(BinaryOp::Add, InstId(0), InstId(0)),
            0,
        );
        let fault = run(&code, &[0; 40], &mut [0; 48], &[]).unwrap_err();
        assert_eq!((fault.kind, fault.row, fault.inner), (FaultKind::OutOfBounds { slot: 0 }, 1, 1));
        let fault = run(&code, &[0; 48], &mut [0; 11], &[]).unwrap_err();
        assert_eq!((fault.kind, fault.inner), (FaultKind::OutOfBounds { slot: 1 }, 2));
    }

    #[test]
    fn a_row_reduction_halves_its_lanes() {
        let dtype = DType::F32;
        let code = KernelBody {
            layout: LaneLayout::Row,
            loops: 1,
            slots: memory(dtype),
            scalars: 0,
            reduced: vec![dtype],
            passes: vec![Pass {
                body: vec![Inst { dtype, op: InstOp::Load(0) }],
                reduces: vec![ReduceStep { op: ReduceOp::Sum, value: InstId(0), dtype, into: 0 }],
            }],
            epilogue: vec![
                Inst { dtype, op: InstOp::Reduced(0) },
                Inst { dtype, op: InstOp::Store { slot: 1, value: InstId(0) } },
            ],
        };
        // Lanes 0, 1 and 2 take 1, 2^24 and 1 in each of the two loop iterations: (1 + 1 + 1 + 1) + 2^25.
        let row = [1.0, 16_777_216.0, 1.0f32];
        let input: Vec<u8> = [row; 4].concat().into_iter().flat_map(f32::to_ne_bytes).collect();
        let mut output = [0; 48];
        assert_eq!(run(&code, &input, &mut output, &[]), Ok(()));
        assert_eq!(output[..4], 33_554_436.0f32.to_ne_bytes());
        assert_eq!(output[24..28], 33_554_436.0f32.to_ne_bytes());
    }
}
