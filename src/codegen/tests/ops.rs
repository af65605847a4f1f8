//! Every operation on every dtype that supports it.

use shapeflow_shape_fns::DType;

use super::batch::{Batch, TestMachine};
use super::case::{CaseSizes, KernelCase};
use super::random_values::{Random, element};
use crate::expr::{AngleFunction, BinaryOp, ReduceOp, UnaryOp};
use crate::lower::kernel_body::{
    AccessPattern, Inst, InstId, InstOp, KernelBody, LaneLayout, Pass, ReduceStep, SlotType, SlotUse,
};
use crate::lower::supported::{has_lanes, supports_binary, supports_reduce, supports_unary};

const UNARY: [UnaryOp; 8] = [
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sqrt,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Trunc,
    UnaryOp::Round,
    UnaryOp::Not,
];

const BINARY: [BinaryOp; 19] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Lt,
    BinaryOp::Le,
    BinaryOp::LargeAngle(AngleFunction::Sin),
    BinaryOp::LargeAngle(AngleFunction::Cos),
    BinaryOp::LargeAngle(AngleFunction::Tan),
];

pub(super) fn dtypes() -> Vec<DType> {
    DType::all().filter(|dtype| has_lanes(*dtype)).collect()
}

fn slot(dtype: DType, pattern: AccessPattern, used: SlotUse) -> SlotType {
    SlotType { dtype, pattern, used }
}

fn inst(dtype: DType, op: InstOp) -> Inst {
    Inst { dtype, op }
}

/// Returns a kernel that loads its operands (or has them as constants), computes `op` and stores the result.
fn map(random: &mut Random, operands: &[(DType, OperandKind)], result: DType, op: InstOp) -> KernelBody {
    let mut slots = Vec::new();
    let mut body = Vec::new();
    for (dtype, operand) in operands {
        let pattern =
            if *operand == OperandKind::Splat { AccessPattern::Splat } else { AccessPattern::Contiguous };
        let op = match operand {
            OperandKind::Constant => InstOp::Const(element(random, *dtype)),
            _ => {
                slots.push(slot(*dtype, pattern, SlotUse::Load));
                InstOp::Load(slots.len() as u32 - 1)
            }
        };
        body.push(inst(*dtype, op));
    }
    body.push(inst(result, op));
    slots.push(slot(result, AccessPattern::Contiguous, SlotUse::Store));
    let store = InstOp::Store { slot: slots.len() as u32 - 1, value: InstId(body.len() as u32 - 1) };
    body.push(inst(result, store));
    KernelBody {
        layout: LaneLayout::Row,
        loops: 0,
        slots,
        scalars: 0,
        reduced: Vec::new(),
        passes: vec![Pass { body, reduces: Vec::new() }],
        epilogue: Vec::new(),
    }
}

/// Where an operand comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OperandKind {
    /// A load of adjacent elements.
    Load,
    /// A load of one element for the whole inner axis.
    Splat,
    Constant,
}

/// Adds cases of a kernel at a few sizes.
fn add(batch: &mut Batch, random: &mut Random, code: &KernelBody, name: &str) {
    for n in [0, 1, 7, 16, 83] {
        let sizes = CaseSizes { rows: 2, n, extents: vec![2; code.loops as usize] };
        batch.add(KernelCase::new(random, code, sizes, vec![7; code.scalars as usize], &[]), name);
    }
}

fn on_every_machine(f: impl Fn(&mut Batch, &mut Random)) {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        f(&mut batch, &mut Random::new(11));
        let [requested, all] = batch.report();
        assert_eq!(requested, all, "{machine:?}: a build without Cranelift lacks no operation");
        batch.check();
    }
}

#[test]
fn unary_operations() {
    on_every_machine(|batch, random| {
        for dtype in dtypes() {
            for op in UNARY.into_iter().filter(|op| supports_unary(*op, dtype)) {
                let code = map(random, &[(dtype, OperandKind::Load)], dtype, InstOp::Unary(op, InstId(0)));
                add(batch, random, &code, &format!("{op:?} {dtype}"));
            }
        }
    });
}

#[test]
fn binary_operations() {
    on_every_machine(|batch, random| {
        for dtype in dtypes() {
            for op in BINARY.into_iter().filter(|op| supports_binary(*op, dtype)) {
                let result = if op.is_comparison() { DType::Bool } else { dtype };
                for [a, b] in [
                    [OperandKind::Load, OperandKind::Load],
                    [OperandKind::Load, OperandKind::Splat],
                    [OperandKind::Splat, OperandKind::Load],
                    [OperandKind::Load, OperandKind::Constant],
                    [OperandKind::Constant, OperandKind::Load],
                ] {
                    let op_of = InstOp::Binary(op, InstId(0), InstId(1));
                    let code = map(random, &[(dtype, a), (dtype, b)], result, op_of);
                    add(batch, random, &code, &format!("{op:?} {dtype} {a:?} {b:?}"));
                }
            }
        }
    });
}

#[test]
fn conversions() {
    on_every_machine(|batch, random| {
        for from in dtypes() {
            for to in dtypes() {
                let code = map(random, &[(from, OperandKind::Load)], to, InstOp::Cast(InstId(0)));
                add(batch, random, &code, &format!("cast {from} to {to}"));
                let code = map(random, &[(from, OperandKind::Splat)], to, InstOp::Cast(InstId(0)));
                add(batch, random, &code, &format!("cast one {from} to {to}"));
                if from.size_bytes() == to.size_bytes() && from != DType::F16 {
                    let code = map(random, &[(from, OperandKind::Load)], to, InstOp::Bitcast(InstId(0)));
                    add(batch, random, &code, &format!("bitcast {from} to {to}"));
                }
            }
        }
    });
}

#[test]
fn ternary_operations() {
    on_every_machine(|batch, random| {
        for dtype in dtypes() {
            for condition in [OperandKind::Load, OperandKind::Splat, OperandKind::Constant] {
                let operands =
                    [(DType::Bool, condition), (dtype, OperandKind::Load), (dtype, OperandKind::Splat)];
                let code = map(random, &operands, dtype, InstOp::Select(InstId(0), InstId(1), InstId(2)));
                add(batch, random, &code, &format!("select {condition:?} {dtype}"));
            }
            if dtype.is_float() {
                for a in [OperandKind::Load, OperandKind::Constant] {
                    let operands = [(dtype, a), (dtype, OperandKind::Load), (dtype, OperandKind::Splat)];
                    let code = map(random, &operands, dtype, InstOp::MulAdd(InstId(0), InstId(1), InstId(2)));
                    add(batch, random, &code, &format!("mul_add {dtype}"));
                }
            }
        }
    });
}

/// Returns a reduction of loaded elements. The kernel stores one result for each row in `LaneLayout::Row`, and one
/// result for each lane in `LaneLayout::Column`.
fn reduce(layout: LaneLayout, loops: u32, op: ReduceOp, dtype: DType) -> KernelBody {
    let pattern = if layout == LaneLayout::Row { AccessPattern::Splat } else { AccessPattern::Contiguous };
    KernelBody {
        layout,
        loops,
        slots: vec![
            slot(dtype, AccessPattern::Contiguous, SlotUse::Load),
            slot(dtype, pattern, SlotUse::Store),
        ],
        scalars: 0,
        reduced: vec![dtype],
        passes: vec![Pass {
            body: vec![inst(dtype, InstOp::Load(0))],
            reduces: vec![ReduceStep { op, value: InstId(0), dtype, into: 0 }],
        }],
        epilogue: vec![
            inst(dtype, InstOp::Reduced(0)),
            inst(dtype, InstOp::Store { slot: 1, value: InstId(0) }),
        ],
    }
}

#[test]
fn reductions_of_every_dtype() {
    let ops = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any];
    on_every_machine(|batch, random| {
        for dtype in dtypes() {
            for op in ops.into_iter().filter(|op| supports_reduce(*op, dtype)) {
                for (layout, loops) in [
                    (LaneLayout::Row, 0),
                    (LaneLayout::Row, 1),
                    (LaneLayout::Column, 1),
                    (LaneLayout::Column, 2),
                ] {
                    let code = reduce(layout, loops, op, dtype);
                    let sizes = [
                        (0, 2, 2),
                        (3, 0, 2),
                        (1, 3, 2),
                        (16, 2, 2),
                        (33, 3, 2),
                        (70, 1, 2),
                        (300, 2, 2),
                        (45, 19, 1),
                    ];
                    for (n, extent, rows) in sizes {
                        let sizes = CaseSizes { rows, n, extents: vec![extent; loops as usize] };
                        let case = KernelCase::new(random, &code, sizes, Vec::new(), &[]);
                        batch.add(case, format!("{op:?} {dtype} {layout:?} {loops}"));
                    }
                }
            }
        }
    });
}

#[test]
fn long_rows_end_early() {
    for machine in TestMachine::all() {
        let mut batch = Batch::new(machine);
        let random = &mut Random::new(8);
        // A row of several tiles, and loops of more iterations than the code runs between two looks at the token.
        let cases = [
            (LaneLayout::Row, 0, 9000, vec![]),
            (LaneLayout::Row, 0, 70_000, vec![]),
            (LaneLayout::Row, 1, 2, vec![600]),
            (LaneLayout::Row, 2, 1, vec![2, 600]),
            (LaneLayout::Row, 2, 1, vec![600, 2]),
            (LaneLayout::Column, 1, 1, vec![600]),
            (LaneLayout::Column, 1, 70, vec![601]),
            (LaneLayout::Column, 2, 5, vec![2, 600]),
            (LaneLayout::Column, 2, 5, vec![600, 2]),
        ];
        for op in [ReduceOp::Sum, ReduceOp::Max] {
            for dtype in [DType::F32, DType::I64] {
                for (layout, loops, n, extents) in &cases {
                    let sizes = CaseSizes { rows: 1, n: *n, extents: extents.clone() };
                    let code = reduce(*layout, *loops, op, dtype);
                    let case = KernelCase::new(random, &code, sizes, Vec::new(), &[]);
                    batch.add(case, format!("{machine:?} {op:?} {dtype} {layout:?} {n} {extents:?}"));
                }
            }
        }
        batch.check_stops();
    }
}

#[test]
fn long_rows_are_reduced_tile_by_tile() {
    on_every_machine(|batch, random| {
        let adjacent = [DType::F32, DType::F64, DType::BF16, DType::I32].map(|dtype| (dtype, None));
        let strided = [(DType::F32, 2), (DType::F32, 3), (DType::F64, 4)];
        let strided = strided.map(|(dtype, step)| (dtype, Some(step)));
        for (dtype, step) in adjacent.into_iter().chain(strided) {
            for loops in [0, 1] {
                let mut code = reduce(LaneLayout::Row, loops, ReduceOp::Sum, dtype);
                code.slots[0].pattern = AccessPattern::of_load(dtype.size_bytes(), step);
                // Rows of several tiles, and several rows of one tile.
                for (n, rows) in [
                    (4095, 1),
                    (4096, 9),
                    (4097, 1),
                    (8192, 1),
                    (9001, 1),
                    (34000, 1),
                    (512, 5),
                    (288, 13),
                    (300, 4),
                ] {
                    let sizes = CaseSizes { rows, n, extents: vec![2; loops as usize] };
                    let mut case = KernelCase::new(random, &code, sizes, Vec::new(), &[]);
                    // Finite values, whose sum depends on the order of additions.
                    let mut scale = Random::new(n as u64);
                    case.fill(0, |_| {
                        let x = (scale.next() as i32) as f64 / f64::from(1 << scale.below(20));
                        crate::expr::eval_cast(x.into(), dtype)
                    });
                    batch.add(case, format!("sum {dtype}, step {step:?}, {rows} {n}"));
                }
            }
        }
    });
}
