//! [`KernelCase`]: a kernel with the memory and sizes of one run.

use std::mem::offset_of;
use std::sync::atomic::AtomicBool;

use shapeflow_processor::{LibraryFunction, Processor, Program};
use shapeflow_shape_fns::DType;
use smallvec::SmallVec;

use super::super::abi::{
    CHECK_FAILED, KernelArgs, SLOT_BASE, SLOT_INNER, SLOT_LOOPS, SLOT_ROW, STOPPED, slot_words,
};
use super::super::called_functions::{CALLED_FUNCTIONS, CalledFunction};
use super::super::module::{CodeModule, FuncIndex};
use super::random_values::{Random, element};
use crate::expr::{AngleFunction, Scalar};
use crate::lower::kernel_body::{AccessPattern, KernelBody, LaneLayout, SlotType, SlotUse, TILE};
use crate::lower::tests::fault::Fault;
use crate::lower::tests::interpret::{InterpArgs, InterpBuffer, InterpSlot, interpret};

/// The number of guard bytes before and after the data of a buffer.
const GUARD: usize = 96;
const GUARD_BYTE: u8 = 0xa7;

/// The memory of a slot: data of one dtype at any alignment, between guard bytes.
#[derive(Clone)]
struct GuardedBuffer {
    bytes: Vec<u8>,
    /// The range of `bytes` with the data.
    data: std::ops::Range<usize>,
    dtype: DType,
}

/// A function that can run.
#[derive(Clone, Copy)]
pub(super) enum ReadyFunction<'a> {
    /// On this processor.
    Placed(&'a CodeModule, FuncIndex),
    /// On the simulated processor.
    Decoded(&'a Program),
}

/// A kernel with the memory and sizes of one run.
pub(super) struct KernelCase {
    pub code: KernelBody,
    pub rows: i64,
    pub n: i64,
    pub extents: Vec<i64>,
    pub scalars: Vec<i64>,
    /// For each slot: its buffer, its first offset (or value, for an iota) and its strides.
    pub slot_args: Vec<InterpSlot>,
    buffers: Vec<GuardedBuffer>,
}

/// The sizes of a case.
pub(super) struct CaseSizes {
    pub rows: i64,
    pub n: i64,
    pub extents: Vec<i64>,
}

impl CaseSizes {
    pub fn random(random: &mut Random, code: &KernelBody) -> CaseSizes {
        let most = if code.layout == LaneLayout::Column { TILE } else { usize::MAX };
        let n = match random.below(8) {
            0 => random.below(4),
            1..=5 => random.below(71),
            6 => random.below(200),
            _ if code.loops == 0 => random.pick(&[300, 511, 512, 4095, 4096, 4100, 8200]),
            _ => random.pick(&[128, 300]),
        };
        let rows = match n {
            0..=200 => random.below(5) as i64,
            300 | 511 | 512 => random.below(10) as i64,
            _ => 1,
        };
        let max_extent = match n {
            0..=40 if code.loops == 1 => 20,
            0..=100 => 4,
            _ => 2,
        };
        let extents = (0..code.loops).map(|_| random.below(max_extent + 1) as i64).collect();
        CaseSizes { rows, n: n.min(most) as i64, extents }
    }
}

impl KernelCase {
    /// Makes a case with random memory. `reach[slot]` is the largest sum of the offsets of a gather slot, in bytes,
    /// and 0 for every other slot.
    pub fn new(
        random: &mut Random,
        code: &KernelBody,
        sizes: CaseSizes,
        scalars: Vec<i64>,
        reach: &[i64],
    ) -> KernelCase {
        let CaseSizes { rows, n, extents } = sizes;
        let mut case = KernelCase {
            code: code.clone(),
            rows,
            n,
            extents,
            scalars,
            slot_args: Vec::new(),
            buffers: Vec::new(),
        };
        for (index, slot) in code.slots.iter().enumerate() {
            let slot_args = case.random_slot(random, slot, reach.get(index).copied().unwrap_or(0));
            case.slot_args.push(slot_args);
        }
        case
    }

    fn random_slot(&mut self, random: &mut Random, slot: &SlotType, reach: i64) -> InterpSlot {
        let size = slot.dtype.size_bytes().unwrap() as i64;
        if slot.used == SlotUse::Iota {
            let mut step = || random.below(7) as i64 - 3;
            return InterpSlot {
                buffer: 0,
                base: step() * 10,
                row: step(),
                inner: step(),
                loops: self.extents.iter().map(|_| step()).collect(),
            };
        }
        let written = matches!(slot.used, SlotUse::Store | SlotUse::Scratch);
        let inner = match (slot.pattern, slot.used) {
            (AccessPattern::Contiguous, SlotUse::Gather) => random.pick(&[size, size, 2 * size, 0]),
            (pattern, _) => pattern.step() * size,
        };
        // Strides of a dense array, some with gaps, some reversed. A stride of a load may also be 0.
        let mut dense = if inner == 0 { size } else { inner * self.n.max(1) };
        let mut stride = |random: &mut Random, extent: i64| {
            let gap = if random.chance(3) { size } else { 0 };
            let stride = dense + gap;
            dense = stride * extent.max(1);
            match random.below(6) {
                0 if !written => 0,
                1 => -stride,
                _ => stride,
            }
        };
        let mut loops: SmallVec<[i64; 4]> = self.extents.iter().rev().map(|e| stride(random, *e)).collect();
        loops.reverse();
        let row = if slot.used == SlotUse::Scratch { 0 } else { stride(random, self.rows) };
        let span = |extent: i64, stride: i64| (extent - 1).max(0) * stride;
        let spans = self.extents.iter().zip(&loops).map(|(e, s)| span(*e, *s));
        let spans: Vec<i64> = spans.chain([span(self.rows, row), span(self.n, inner), reach]).collect();
        let lowest: i64 = spans.iter().filter(|s| **s < 0).sum();
        let highest: i64 = spans.iter().filter(|s| **s > 0).sum();
        // A store slot with a step of two elements stores pairs, so its last access has two elements.
        let last = if written { inner.max(size) } else { size };
        let length = ((highest - lowest + last) as usize).next_multiple_of(size as usize);
        let shift = random.below(9);
        let data = GUARD + shift..GUARD + shift + length;
        let mut bytes = vec![GUARD_BYTE; data.end + GUARD];
        for offset in data.clone().step_by(size as usize) {
            element(random, slot.dtype).write_bytes(&mut bytes[offset..data.end]).unwrap();
        }
        let base = data.start as i64 - lowest;
        self.buffers.push(GuardedBuffer { bytes, data, dtype: slot.dtype });
        InterpSlot { buffer: self.buffers.len() - 1, base, row, inner, loops }
    }

    /// Overwrites element `k` of a slot's buffer with `value(k)`, for every `k`.
    pub fn fill(&mut self, slot: usize, mut value: impl FnMut(usize) -> Scalar) {
        let buffer = &mut self.buffers[self.slot_args[slot].buffer];
        let size = buffer.dtype.size_bytes().unwrap();
        for (k, offset) in buffer.data.clone().step_by(size).enumerate() {
            value(k).write_bytes(&mut buffer.bytes[offset..buffer.data.end]).unwrap();
        }
    }

    /// Gives slot `b`, a load, the memory and the layout of slot `a`, a store of the same dtype and pattern.
    pub fn alias(&mut self, a: usize, b: usize) {
        self.slot_args[b] = self.slot_args[a].clone();
    }

    /// Runs machine code, with and without stores that bypass the caches, and compares the outcome and every element
    /// with the result of the interpreter. Two NaNs may have different bits. `fused` says whether `MulAdd` rounds once.
    pub fn check(&self, code: ReadyFunction<'_>, fused: bool) -> Result<(), String> {
        let mut expected = self.buffers.clone();
        let mut memory: Vec<InterpBuffer<'_>> =
            expected.iter_mut().map(|buffer| InterpBuffer::Write(&mut buffer.bytes)).collect();
        let outcome = interpret(
            &self.code,
            &mut InterpArgs {
                slots: &self.slot_args,
                buffers: &mut memory,
                scalars: &self.scalars,
                rows: self.rows,
                n: self.n,
                extents: &self.extents,
                fused,
            },
        );
        [0, 64].into_iter().try_for_each(|stream| self.compare(code, stream, &outcome, &expected))
    }

    /// Runs machine code whose token is true from the start, and checks that the code ends early.
    pub fn check_stops(&self, code: ReadyFunction<'_>) -> Result<(), String> {
        match self.run(code, 0, true)?.0 {
            STOPPED => Ok(()),
            other => Err(format!("did not stop, and reported {other}")),
        }
    }

    /// Runs machine code. Returns the outcome and the buffers. `stream` is [`KernelArgs::stream`], and `stop` the value
    /// of the token [`KernelArgs::stop`].
    fn run(
        &self,
        code: ReadyFunction<'_>,
        stream: i64,
        stop: bool,
    ) -> Result<(i64, Vec<GuardedBuffer>), String> {
        let mut got = self.buffers.clone();
        let outcome = match code {
            ReadyFunction::Placed(module, function) => {
                self.launch(module, function, stream, stop, &mut got)?
            }
            ReadyFunction::Decoded(program) => self.simulate(program, stream, stop, &mut got)?,
        };
        for (index, buffer) in got.iter().enumerate() {
            let data = &buffer.data;
            let outside = buffer.bytes[..data.start].iter().chain(&buffer.bytes[data.end..]);
            if outside.into_iter().any(|b| *b != GUARD_BYTE) {
                return Err(format!("wrote outside buffer {index}"));
            }
        }
        Ok((outcome, got))
    }

    /// Runs machine code and compares its result with `outcome` and `expected`. `stream` is [`KernelArgs::stream`].
    fn compare(
        &self,
        code: ReadyFunction<'_>,
        stream: i64,
        outcome: &Result<(), Fault>,
        expected: &[GuardedBuffer],
    ) -> Result<(), String> {
        let (reported, got) = self.run(code, stream, false)?;
        match outcome {
            Err(fault) if reported != CHECK_FAILED => return Err(format!("did not report {fault:?}")),
            Err(_) => return Ok(()),
            Ok(()) if reported != 0 => return Err("reported a failure".to_owned()),
            Ok(()) => {}
        }
        for (index, (got, expected)) in got.iter().zip(expected).enumerate() {
            if got.bytes == expected.bytes {
                continue;
            }
            // Some NaNs may differ in their bits.
            let size = got.dtype.size_bytes().unwrap();
            for offset in got.data.clone().step_by(size) {
                let read = |buffer: &GuardedBuffer| {
                    Scalar::from_bytes(buffer.dtype, &buffer.bytes[offset..buffer.data.end])
                };
                let raw = |buffer: &GuardedBuffer| buffer.bytes[offset..offset + size].to_vec();
                let (x, y) = (read(got).unwrap(), read(expected).unwrap());
                if raw(got) != raw(expected) && !(x.is_nan() && y.is_nan()) {
                    let k = (offset - got.data.start) / size;
                    return Err(format!(
                        "buffer {index} ({}), element {k}: got {x:?}, expected {y:?}",
                        got.dtype
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the words of all slots, for buffers at these addresses.
    fn slot_words(&self, origins: &[i64]) -> Vec<i64> {
        let words = slot_words(self.code.loops);
        let mut slots = vec![0i64; words * self.code.slots.len()];
        for ((slot_args, slot), target) in
            self.slot_args.iter().zip(&self.code.slots).zip(slots.chunks_mut(words))
        {
            let origin = if slot.used == SlotUse::Iota { 0 } else { origins[slot_args.buffer] };
            target[SLOT_BASE] = origin + slot_args.base;
            target[SLOT_ROW] = slot_args.row;
            target[SLOT_INNER] = slot_args.inner;
            target[SLOT_LOOPS..].copy_from_slice(&slot_args.loops);
        }
        slots
    }

    /// Returns the number of bytes of the tiles of all reductions.
    fn tile_bytes(&self) -> usize {
        TILE * 8 * self.code.reduced.len()
    }

    /// Runs a function on this processor. Returns its outcome.
    fn launch(
        &self,
        module: &CodeModule,
        function: FuncIndex,
        stream: i64,
        stop: bool,
        buffers: &mut [GuardedBuffer],
    ) -> Result<i64, String> {
        let origins: Vec<i64> = buffers.iter_mut().map(|buffer| buffer.bytes.as_mut_ptr() as i64).collect();
        let slots = self.slot_words(&origins);
        let mut tile = vec![GUARD_BYTE; self.tile_bytes() + GUARD];
        let mut outcome = 0i64;
        let args = KernelArgs {
            slots: slots.as_ptr(),
            scalars: self.scalars.as_ptr(),
            tile: tile.as_mut_ptr(),
            rows: self.rows,
            n: self.n,
            extents: self.extents.as_ptr(),
            stream,
            outcome: &mut outcome,
            stop: &AtomicBool::new(stop),
            called_functions: CALLED_FUNCTIONS,
        };
        // SAFETY: the slots were laid out inside their buffers for these sizes and reaches.
        unsafe { module.launch(function, &args) };
        if tile[tile.len() - GUARD..].iter().any(|b| *b != GUARD_BYTE) {
            return Err("wrote past the tile".to_owned());
        }
        Ok(outcome)
    }

    /// Runs a function on the simulated processor, where only the data of buffers is accessible. Returns its
    /// outcome.
    fn simulate(
        &self,
        program: &Program,
        stream: i64,
        stop: bool,
        buffers: &mut [GuardedBuffer],
    ) -> Result<i64, String> {
        let (mut space, start) = program.load();
        let words = |words: &[i64]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
        let mut starts = Vec::new();
        for (index, buffer) in buffers.iter().enumerate() {
            let data = &buffer.bytes[buffer.data.clone()];
            starts.push(space.place_at(format!("buffer {index}"), data, true, buffer.data.start % 64));
        }
        let origins: Vec<i64> = starts
            .iter()
            .zip(&*buffers)
            .map(|(start, buffer)| *start as i64 - buffer.data.start as i64)
            .collect();
        let slots = space.place("slots", &words(&self.slot_words(&origins)), false);
        let scalars = space.place("scalars", &words(&self.scalars), false);
        let extents = space.place("extents", &words(&self.extents), false);
        let tile = space.place("tile", &vec![GUARD_BYTE; self.tile_bytes()], true);
        let outcome = space.place("outcome", &[0; 8], true);
        let stop = space.place("stop", &[u8::from(stop)], false);
        let fields = [
            (offset_of!(KernelArgs, slots), slots),
            (offset_of!(KernelArgs, scalars), scalars),
            (offset_of!(KernelArgs, tile), tile),
            (offset_of!(KernelArgs, rows), self.rows as u64),
            (offset_of!(KernelArgs, n), self.n as u64),
            (offset_of!(KernelArgs, extents), extents),
            (offset_of!(KernelArgs, stream), stream as u64),
            (offset_of!(KernelArgs, outcome), outcome),
            (offset_of!(KernelArgs, stop), stop),
        ];
        type OfDoubles = fn(f64, f64) -> f64;
        let compute: [(CalledFunction, OfDoubles); CalledFunction::COUNT] = [
            (CalledFunction::LargeAngle(AngleFunction::Sin), |x, y| AngleFunction::Sin.where_large(x, y)),
            (CalledFunction::LargeAngle(AngleFunction::Cos), |x, y| AngleFunction::Cos.where_large(x, y)),
            (CalledFunction::LargeAngle(AngleFunction::Tan), |x, y| AngleFunction::Tan.where_large(x, y)),
            (CalledFunction::Remainder, |x, y| x % y),
        ];
        let address = |function: CalledFunction| CALLED_FUNCTIONS[function.number()] as usize as u64;
        let calls = compute.map(|(function, _)| (function.offset(), address(function)));
        let mut bytes = [0; size_of::<KernelArgs>()];
        for (offset, value) in fields.into_iter().chain(calls) {
            bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        }
        let arguments = space.place("arguments", &bytes, false);
        let mut processor = Processor::new(space);
        for (function, compute) in compute {
            processor.library_functions.insert(address(function), LibraryFunction::Combine(compute));
        }
        processor.call(program, start, arguments)?;
        for (buffer, start) in buffers.iter_mut().zip(starts) {
            buffer.bytes[buffer.data.clone()].copy_from_slice(processor.space.region(start));
        }
        let outcome = processor.space.region(outcome).try_into().expect("the outcome has 8 bytes");
        Ok(i64::from_le_bytes(outcome))
    }

    /// Returns the kernel and the sizes as text, for the message of a failing test.
    pub fn describe(&self) -> String {
        let mut text = format!(
            "{:?}, rows {}, n {}, extents {:?}, scalars {:?}\n",
            self.code.layout, self.rows, self.n, self.extents, self.scalars
        );
        for (k, (slot, slot_args)) in self.code.slots.iter().zip(&self.slot_args).enumerate() {
            text += &format!("  slot {k}: {slot:?} {slot_args:?}\n");
        }
        for (k, pass) in self.code.passes.iter().enumerate() {
            text += &format!("  pass {k}\n");
            for (v, inst) in pass.body.iter().enumerate() {
                text += &format!("    v{v}: {} = {:?}\n", inst.dtype, inst.op);
            }
            text += &format!("    {:?}\n", pass.reduces);
        }
        for (v, inst) in self.code.epilogue.iter().enumerate() {
            text += &format!("  epilogue v{v}: {} = {:?}\n", inst.dtype, inst.op);
        }
        text
    }
}
