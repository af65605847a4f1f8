//! Runs every shape function on random operands: whatever the function infers from partial operands must hold for
//! concrete operands.

use crate::testing::random::Random;
use crate::testing::refine_randomly;
use crate::testing::templates;
use crate::{Attrs, registered};

/// Makes random operands and attributes and the number of outputs of an op, or returns `None` for an elementwise op.
/// The number 0 stands for the number of outputs in the registry.
fn case(op: &str, r: &mut Random) -> Option<(Vec<String>, Attrs, usize)> {
    // Inference tracks the elements of the results of these ops, so a third of their operands are vectors of given
    // elements.
    let element_ops =
        ["Tile", "ReverseV2", "Reverse", "Pad", "PadV2", "MirrorPad", "Transpose", "BroadcastTo"];
    let vector = (element_ops.contains(&op) && r.below(3) == 0).then(|| r.vector(3, -4, 9));
    let rank = if vector.is_some() { 1 } else { r.below(4) as usize };
    let axes = rank as i64;
    let x = vector.unwrap_or_else(|| r.shape(rank));
    let axis = r.scalar(-axes, (axes - 1).max(-axes));
    let attrs = Attrs::new();
    let number = |r: &mut Random| r.between(-axes, (axes - 1).max(-axes));
    Some(match op {
        "Sum" | "Prod" | "Max" | "Min" | "Mean" | "All" | "Any" | "EuclideanNorm" => {
            let (count, keep) = (r.below(3) as usize, r.below(2) == 1);
            let axes = r.vector(count, -axes, axes - 1);
            (vec![x, axes], attrs.with("keep_dims", keep), 1)
        }
        "ArgMax" | "ArgMin" | "Cumsum" | "Cumprod" | "CumulativeLogsumexp" => (vec![x, axis], attrs, 1),
        "MatMul" | "BatchMatMul" | "BatchMatMulV2" | "BatchMatMulV3" => {
            let rank = if op == "MatMul" { 2 } else { 2 + r.below(3) as usize };
            let a = r.shape(rank);
            let b = r.like(&a);
            let (s, t) = (r.below(2) == 1, r.below(2) == 1);
            (vec![a, b], attrs.with("transpose_a", s).with("transpose_b", t), 1)
        }
        "Select" | "SelectV2" if r.below(3) == 0 => {
            let condition = r.vector(3, 0, 1).replacen("i32", "bool", 1);
            (vec![condition, r.vector(3, -4, 9), r.vector(3, -4, 9)], attrs, 1)
        }
        "Select" | "SelectV2" | "ClipByValue" => {
            let (a, b) = (r.like(&x), r.like(&x));
            (vec![x, a, b], attrs, 1)
        }
        "Transpose" | "ConjugateTranspose" => {
            let mut perm: Vec<i64> = (0..axes).collect();
            for index in (1..rank).rev() {
                perm.swap(index, r.below(index as u64 + 1) as usize);
            }
            (vec![x], attrs.with("perm", perm), 1)
        }
        "Reshape" => {
            let count = r.below(4) as usize;
            let shape = r.vector(count, -1, 4);
            // Inference divides by a symbol that `x` and `shape` share, although the symbol may be 0. TensorFlow skips
            // zeros when it computes the size of -1. So `shape` has other symbols than `x`.
            (vec![x, shape.replace('n', "k").replace('m', "l")], attrs, 1)
        }
        "ExpandDims" => (vec![x, r.scalar(-axes - 1, axes)], attrs, 1),
        "Squeeze" => {
            let count = r.below(3) as usize;
            let axes = r.ints(count, -axes, (axes - 1).max(-axes));
            (vec![x], attrs.with("axis", axes), 1)
        }
        "BroadcastTo" | "Tile" => {
            let count = rank + if op == "Tile" { 0 } else { r.below(2) as usize };
            let sizes = r.vector(count, 0, 4);
            (vec![x, sizes], attrs, 1)
        }
        "Slice" => {
            let (begin, size) = (r.vector(rank, 0, 2), r.vector(rank, -1, 3));
            (vec![x, begin, size], attrs, 1)
        }
        "StridedSlice" => {
            let count = r.below(rank as u64 + 1) as usize;
            let (begin, end) = (r.vector(count, -4, 4), r.vector(count, -5, 5));
            let strides: Vec<i64> = (0..count).map(|_| [1, 1, 1, 2, -1, -2][r.below(6) as usize]).collect();
            let mut attrs = attrs.with("strides", strides);
            for mask in ["begin_mask", "end_mask", "shrink_axis_mask", "new_axis_mask"] {
                attrs.insert(mask, r.between(0, 7) & r.between(0, 7));
            }
            attrs.insert("ellipsis_mask", [0, 0, 1, 2][r.below(4) as usize]);
            (vec![x, begin, end], attrs, 1)
        }
        "ReverseV2" => (vec![x], attrs.with("axis", vec![number(r)]), 1),
        "Reverse" => (vec![x, r.vector(rank, 0, 1)], attrs, 1),
        "Pad" | "PadV2" | "MirrorPad" => {
            let elements =
                r.vector(2 * rank, 0, 3).replacen(&format!("[{}]", 2 * rank), &format!("[{rank}, 2]"), 1);
            let mode = if op == "MirrorPad" { r.pick(&["REFLECT", "SYMMETRIC"]) } else { "constant" };
            (vec![x, elements], attrs.with("mode", mode), 1)
        }
        "Concat" | "ConcatV2" => {
            let (a, b) = (r.like(&x), r.like(&x));
            let operands = if op == "Concat" { vec![axis, x, a, b] } else { vec![x, a, b, axis] };
            (operands, attrs, 1)
        }
        "Pack" => {
            let a = r.like(&x);
            (vec![x, a], attrs.with("axis", r.between(-axes - 1, axes)), 1)
        }
        "Unpack" => (vec![x], attrs.with("axis", number(r)), r.below(4) as usize),
        "Split" => (vec![axis, x], attrs, 1 + r.below(3) as usize),
        "SplitV" => {
            let count = 1 + r.below(3) as usize;
            let sizes = r.vector(count, -1, 3);
            (vec![x, sizes, axis], attrs, count)
        }
        "Fill" => {
            let count = r.below(4) as usize;
            (vec![r.vector(count, 0, 4), "[]".into()], attrs, 1)
        }
        "Range" => {
            let bound = |r: &mut Random| match r.below(3) {
                0 => "i32 [] = n".to_owned(),
                _ => r.scalar(-5, 9),
            };
            (vec![bound(r), bound(r), r.scalar(-3, 3)], attrs, 1)
        }
        "Gather" | "GatherV2" => {
            let count = r.below(3) as usize;
            let indices = r.shape(count);
            let operands = if op == "Gather" { vec![x, indices] } else { vec![x, indices, axis] };
            (operands, attrs.with("batch_dims", r.between(0, 1)), 1)
        }
        "OneHot" => {
            (vec![x, r.scalar(0, 4), "[]".into(), "[]".into()], attrs.with("axis", r.between(-1, axes)), 1)
        }
        "Bitcast" => {
            let to = r.pick(&["u8", "f32", "f64"]);
            (vec![x], attrs.with("dtype", to.parse::<crate::DType>().unwrap()), 1)
        }
        "Cast" => (vec![r.vector(3, -300, 300)], attrs.with("dtype", crate::DType::I8), 1),
        "Unique" | "UniqueWithCounts" => (vec![r.shape(1)], attrs, if op == "Unique" { 2 } else { 3 }),
        "Shape" | "Size" | "Rank" | "Where" | "Softmax" | "LogSoftmax" => (vec![x], attrs, 1),
        "ShapeN" | "IdentityN" => {
            let other = r.shape(2);
            (vec![x, other], attrs, 2)
        }
        _ => return templates::case(op, r),
    })
}

#[test]
fn shapes_inferred_from_partial_operands_hold_for_concrete_ones() {
    let mut random = Random(7);
    let (mut refined, mut accepted) = (0, 0);
    for row in registered() {
        for round in 0..96 {
            let (operands, attrs, outputs) = case(row.op, &mut random).unwrap_or_else(|| {
                // An elementwise op takes shapes that broadcast, or vectors whose elements are tracked.
                let rank = random.below(4) as usize;
                let x = if round % 4 == 0 { random.vector(3, -4, 9) } else { random.shape(rank) };
                let y = if round % 4 == 0 { random.vector(3, -4, 9) } else { random.like(&x) };
                let z = if round % 4 == 0 { y.clone() } else { random.like(&x) };
                let all = vec![x, y, z.clone(), z.clone(), z.clone(), z.clone(), z];
                (all.into_iter().take(row.operands.len()).collect(), Attrs::new(), 0)
            });
            let outputs = if outputs == 0 { row.outputs.unwrap_or(1) } else { outputs };
            let (case_refined, case_accepted) =
                refine_randomly(row.shape_fn, row.operands, &attrs, &operands.join("; "), outputs, 8);
            refined += case_refined;
            accepted += case_accepted;
        }
    }
    println!("{} ops: {refined} cases refined, {accepted} of them accepted", registered().len());
    assert!(
        refined > 100_000 && accepted > 100_000,
        "enough cases must run, got {refined} refined and {accepted} accepted"
    );
}
