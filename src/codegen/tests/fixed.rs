//! Kernels written by hand: one of each usual kind, and an ill-formed body that must be refused.

use shapeflow_shape_fns::DType;

use super::batch::{Batch, TestMachine};
use super::case::{CaseSizes, KernelCase};
use super::random_values::Random;
use crate::codegen::{Isa, Jit};
use crate::error::ErrorKind;
use crate::expr::{BinaryOp, ReduceOp, Scalar, UnaryOp};
use crate::lower::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, ReduceStep, SlotType, SlotUse,
};

/// Builds a body instruction by instruction.
#[derive(Default)]
struct BodyBuilder(Vec<Inst>);

impl BodyBuilder {
    fn push(&mut self, dtype: DType, op: InstOp) -> InstId {
        self.0.push(Inst { dtype, op });
        InstId(self.0.len() as u32 - 1)
    }

    fn binary(&mut self, op: BinaryOp, a: InstId, b: InstId) -> InstId {
        self.push(self.0[a.0 as usize].dtype, InstOp::Binary(op, a, b))
    }
}

fn slot(dtype: DType, pattern: AccessPattern, used: SlotUse) -> SlotType {
    SlotType { dtype, pattern, used }
}

/// Returns a row kernel with one pass.
fn code(slots: Vec<SlotType>, scalars: u32, body: BodyBuilder) -> KernelBody {
    KernelBody {
        layout: LaneLayout::Row,
        loops: 0,
        slots,
        scalars,
        reduced: Vec::new(),
        passes: vec![Pass { body: body.0, reduces: Vec::new() }],
        epilogue: Vec::new(),
    }
}

/// `max(a * x + b, 0)` with `a` and `b` splat.
fn relu() -> KernelBody {
    let f32 = DType::F32;
    let mut body = BodyBuilder::default();
    let [a, b, x] = [0, 1, 2].map(|k| body.push(f32, InstOp::Load(k)));
    let product = body.binary(BinaryOp::Mul, a, x);
    let sum = body.binary(BinaryOp::Add, product, b);
    let zero = body.push(f32, InstOp::Const(Scalar::F32(0.0)));
    let result = body.binary(BinaryOp::Max, sum, zero);
    body.push(f32, InstOp::Store { slot: 3, value: result });
    let splat = slot(f32, AccessPattern::Splat, SlotUse::Load);
    let slots = vec![
        splat,
        splat,
        slot(f32, AccessPattern::Contiguous, SlotUse::Load),
        slot(f32, AccessPattern::Contiguous, SlotUse::Store),
    ];
    code(slots, 0, body)
}

/// Row-wise `e / sum(e)` with `e = |x - max(x)|`: three passes and a scratch row.
fn normalized_rows() -> KernelBody {
    let f32 = DType::F32;
    let contiguous = |used| slot(f32, AccessPattern::Contiguous, used);
    let slots = vec![contiguous(SlotUse::Load), contiguous(SlotUse::Scratch), contiguous(SlotUse::Store)];
    let reduce = |op, value, into| ReduceStep { op, value, dtype: f32, into };
    let mut first = BodyBuilder::default();
    let x = first.push(f32, InstOp::Load(0));
    let mut second = BodyBuilder::default();
    let y = second.push(f32, InstOp::Load(0));
    let top = second.push(f32, InstOp::Reduced(0));
    let difference = second.binary(BinaryOp::Sub, y, top);
    let e = second.push(f32, InstOp::Unary(UnaryOp::Abs, difference));
    second.push(f32, InstOp::Store { slot: 1, value: e });
    let mut third = BodyBuilder::default();
    let kept = third.push(f32, InstOp::Load(1));
    let total = third.push(f32, InstOp::Reduced(1));
    let quotient = third.binary(BinaryOp::Div, kept, total);
    third.push(f32, InstOp::Store { slot: 2, value: quotient });
    KernelBody {
        layout: LaneLayout::Row,
        loops: 0,
        slots,
        scalars: 0,
        reduced: vec![f32; 2],
        passes: vec![
            Pass { body: first.0, reduces: vec![reduce(ReduceOp::Max, x, 0)] },
            Pass { body: second.0, reduces: vec![reduce(ReduceOp::Sum, e, 1)] },
            Pass { body: third.0, reduces: Vec::new() },
        ],
        epilogue: Vec::new(),
    }
}

/// Rows of a table chosen by an index per row.
fn row_gather() -> KernelBody {
    let mut body = BodyBuilder::default();
    let index = body.push(DType::I32, InstOp::Load(0));
    let index = body.push(DType::I64, InstOp::CheckIndex { value: index, limit: 0 });
    let element = body.push(DType::F32, InstOp::Gather { slot: 1, offsets: Box::new([(index, 1)]) });
    body.push(DType::F32, InstOp::Store { slot: 2, value: element });
    let slots = vec![
        slot(DType::I32, AccessPattern::Splat, SlotUse::Load),
        slot(DType::F32, AccessPattern::Contiguous, SlotUse::Gather),
        slot(DType::F32, AccessPattern::Contiguous, SlotUse::Store),
    ];
    code(slots, 2, body)
}

/// Rows of a table. The index of a row comes from arithmetic with constants, and from two selections that read one
/// comparison. If `constant_first`, the constant is the left operand of the comparison.
fn chosen_rows(compare: BinaryOp, constant_first: bool) -> KernelBody {
    let i64 = DType::I64;
    let mut body = BodyBuilder::default();
    let index = body.push(DType::I32, InstOp::Load(0));
    let index = body.push(i64, InstOp::Cast(index));
    let [zero, one, three, five] = [0, 1, 3, 5].map(|k| body.push(i64, InstOp::Const(Scalar::I64(k))));
    let (a, b) = if constant_first { (three, index) } else { (index, three) };
    let holds = body.push(DType::Bool, InstOp::Binary(compare, a, b));
    let back = body.binary(BinaryOp::Sub, five, index);
    let low = body.binary(BinaryOp::Min, index, three);
    let one_way = body.push(i64, InstOp::Select(holds, back, index));
    let other_way = body.push(i64, InstOp::Select(holds, zero, low));
    let sum = body.binary(BinaryOp::Add, one_way, other_way);
    let scaled = body.binary(BinaryOp::Mul, one, sum);
    let kept = body.binary(BinaryOp::Max, zero, scaled);
    let index = body.push(i64, InstOp::CheckIndex { value: kept, limit: 0 });
    let element = body.push(DType::F32, InstOp::Gather { slot: 1, offsets: Box::new([(index, 1)]) });
    body.push(DType::F32, InstOp::Store { slot: 2, value: element });
    KernelBody { passes: vec![Pass { body: body.0, reduces: Vec::new() }], ..row_gather() }
}

/// Sums of rows of a table. A loop adds a scalar to each index of a list, and sums the rows with these indices.
fn bags() -> KernelBody {
    let mut body = BodyBuilder::default();
    let index = body.push(DType::I32, InstOp::Load(0));
    let shift = body.push(DType::I64, InstOp::Scalar(2));
    let index = body.push(DType::I64, InstOp::Cast(index));
    let index = body.binary(BinaryOp::Add, index, shift);
    let index = body.push(DType::I64, InstOp::CheckIndex { value: index, limit: 0 });
    let element = body.push(DType::F32, InstOp::Gather { slot: 1, offsets: Box::new([(index, 1)]) });
    let mut end = BodyBuilder::default();
    let sum = end.push(DType::F32, InstOp::Reduced(0));
    end.push(DType::F32, InstOp::Store { slot: 2, value: sum });
    KernelBody {
        layout: LaneLayout::Column,
        loops: 1,
        slots: vec![
            slot(DType::I32, AccessPattern::Splat, SlotUse::Load),
            slot(DType::F32, AccessPattern::Contiguous, SlotUse::Gather),
            slot(DType::F32, AccessPattern::Contiguous, SlotUse::Store),
        ],
        scalars: 3,
        reduced: vec![DType::F32],
        passes: vec![Pass {
            body: body.0,
            reduces: vec![ReduceStep { op: ReduceOp::Sum, value: element, dtype: DType::F32, into: 0 }],
        }],
        epilogue: end.0,
    }
}

#[test]
fn gathers_with_prefetched_rows_give_the_right_bytes() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        for (rows, extent, n, first_index) in
            [(100, 1, 20, 0), (3, 40, 7, 0), (7, 9, 33, 0), (1, 70, 200, 0), (2, 50, 8, -1), (9, 0, 8, 0)]
        {
            let random = &mut Random::new(rows as u64);
            let sizes = CaseSizes { rows, n, extents: vec![extent] };
            let mut case = KernelCase::new(random, &bags(), sizes, vec![6, 40, 1], &[0, 5 * 40, 0]);
            case.fill(0, |k| Scalar::I32(first_index - 1 + k as i32 % 6));
            batch.add(case, "bags");
            let sizes = CaseSizes { rows: rows * extent, n, extents: Vec::new() };
            let mut case = KernelCase::new(random, &row_gather(), sizes, vec![6, 40], &[0, 5 * 40, 0]);
            case.fill(0, |k| Scalar::I32(first_index + k as i32 % 6));
            batch.add(case, "rows");
        }
        batch.check();
    }
}

#[test]
fn rows_are_chosen_by_arithmetic() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        for compare in [BinaryOp::Lt, BinaryOp::Le, BinaryOp::Eq, BinaryOp::Ne] {
            for constant_first in [false, true] {
                let random = &mut Random::new(7);
                let sizes = CaseSizes { rows: 50, n: 9, extents: Vec::new() };
                let code = chosen_rows(compare, constant_first);
                let mut case = KernelCase::new(random, &code, sizes, vec![9, 40], &[0, 8 * 40, 0]);
                case.fill(0, |k| Scalar::I32(k as i32 % 6));
                batch.add(case, format!("{compare:?}, {constant_first}"));
            }
        }
        batch.check();
    }
}

#[test]
fn usual_kernels_give_the_right_bytes() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        let random = &mut Random::new(5);
        for n in [0, 1, 3, 4, 15, 16, 17, 31, 64, 100, 1000, 5000] {
            for code in [relu(), normalized_rows()] {
                let sizes = CaseSizes { rows: 3, n, extents: Vec::new() };
                batch.add(KernelCase::new(random, &code, sizes, Vec::new(), &[]), "usual");
            }
            let sizes = CaseSizes { rows: 4, n, extents: Vec::new() };
            let mut case = KernelCase::new(random, &row_gather(), sizes, vec![6, 40], &[0, 5 * 40, 0]);
            case.fill(0, |k| Scalar::I32(k as i32 % 6));
            batch.add(case, "row gather");
        }
        batch.check();
    }
}

#[test]
fn a_refused_index_is_reported_and_reads_nothing_else() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        let random = &mut Random::new(6);
        for index in [-1, 6, i32::MAX, i32::MIN] {
            for n in [0, 1, 40] {
                let sizes = CaseSizes { rows: 2, n, extents: Vec::new() };
                let mut case = KernelCase::new(random, &row_gather(), sizes, vec![6, 40], &[0, 5 * 40, 0]);
                case.fill(0, |_| Scalar::I32(index));
                batch.add(case, format!("index {index}, n {n}"));
            }
        }
        batch.check();
    }
}

#[test]
fn reductions_of_signed_zeros_keep_the_first() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        let random = &mut Random::new(7);
        for dtype in [DType::F32, DType::F64] {
            for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Sum] {
                for layout in [LaneLayout::Row, LaneLayout::Column] {
                    let mut code = normalized_rows();
                    code.layout = layout;
                    code.loops = 1;
                    code.slots = vec![
                        slot(dtype, AccessPattern::Contiguous, SlotUse::Load),
                        slot(dtype, AccessPattern::Contiguous, SlotUse::Store),
                    ];
                    code.reduced = vec![dtype];
                    let inst = |op| Inst { dtype, op };
                    code.passes = vec![Pass {
                        body: vec![inst(InstOp::Load(0))],
                        reduces: vec![ReduceStep { op, value: InstId(0), dtype, into: 0 }],
                    }];
                    code.epilogue =
                        vec![inst(InstOp::Reduced(0)), inst(InstOp::Store { slot: 1, value: InstId(0) })];
                    for n in [1, 2, 3, 5, 33, 70] {
                        let sizes = CaseSizes { rows: 3, n, extents: vec![3] };
                        let mut case = KernelCase::new(random, &code, sizes, Vec::new(), &[]);
                        let mut signs = Random::new(n as u64);
                        case.fill(0, |_| {
                            let zero = if signs.chance(2) { -0.0 } else { 0.0 };
                            crate::expr::eval_cast(Scalar::F64(zero), dtype)
                        });
                        batch.add(case, format!("{op:?} {dtype} {layout:?} {n}"));
                    }
                }
            }
        }
        batch.check();
    }
}

#[test]
fn equal_codes_share_a_function() {
    let mut jit = Jit::new(Isa::Clif).unwrap();
    let first = jit.add(&relu()).unwrap();
    let other = jit.add(&normalized_rows()).unwrap();
    assert_eq!(jit.add(&relu()).unwrap(), first);
    assert_ne!(first, other);
    let module = jit.finish().unwrap();
    assert_eq!(module.function_count(), 2);
    assert!(module.code_bytes() > 100);
}

#[test]
fn ill_formed_bodies_are_errors() {
    let mut bad = relu();
    bad.passes[0].body[3].op = InstOp::Binary(BinaryOp::Mul, InstId(0), InstId(9));
    let error = Jit::new(Isa::Clif).unwrap().add(&bad).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Compile);
    assert!(error.message().contains("v9 must be computed before"), "{error}");
    assert!(Jit::clif_text(&bad).is_err());
}

#[test]
fn vectors_are_unrolled_and_constants_hoisted() {
    let text = Jit::clif_text(&relu()).unwrap();
    let main = text.split("block").max_by_key(|block| block.matches("fmul").count()).unwrap();
    assert_eq!(main.matches("fmul").count(), 4, "{text}");
    assert_eq!(main.matches("vconst").count(), 0, "{text}");
}
