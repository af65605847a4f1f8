//! Ops that move elements, as functions of the index of the result.

use shapeflow::{
    DType, DiagonalAlign, Graph, Mirror, Registry, Result, SliceMasks, Tensor, Value, WindowPadding, concat,
    stack,
};

use super::array::{Array, sizes_of};
use super::{Build, report, run_both};
use crate::op_call::Call;
use crate::rng::Rng;

/// An op: the shapes of its operands, after a dtype if it is fixed, the call, and the naive loop.
pub struct Row {
    pub op: &'static str,
    operands: &'static [&'static str],
    build: for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>,
    naive: fn(&[Array]) -> Array,
}

const fn row(
    op: &'static str,
    operands: &'static [&'static str],
    build: for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>,
    naive: fn(&[Array]) -> Array,
) -> Row {
    Row { op, operands, build, naive }
}

/// Makes an array of sizes `$sizes` from an index function of the first operand.
macro_rules! moved {
    ($x:ident, [$($size:expr),*], $i:ident => $element:expr) => {
        |arrays: &[Array]| {
            let $x = &arrays[0];
            Array::build(&[$($size),*], |$i| $element)
        }
    };
}

/// Splits `i32[n, 2]` into a fixed dtype, if there is one, and the shape.
fn typed(operand: &'static str) -> (Option<DType>, &'static str) {
    let (dtype, shape) = operand.split_at(operand.find('[').unwrap());
    ((!dtype.is_empty()).then(|| dtype.parse().unwrap()), shape)
}

/// Returns the position of the element that mirrored padding shows at `position`, which may lie before or after the
/// axis. The padding repeats the element at the edge.
fn mirrored(position: i64, size: i64) -> i64 {
    match position {
        ..0 => -1 - position,
        _ if position >= size => 2 * size - 1 - position,
        _ => position,
    }
}

/// Adds an op without parameters to a graph.
fn called<'g>(g: &'g Graph, op: &'static str, operands: &[Value<'g>]) -> Result<Value<'g>> {
    Build::Call(&Call::new(op)).apply(g, operands)
}

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("batch_to_space_nd", &["[6, n, 2, 2]"], |_, x| x[0].batch_to_space_nd([2, 3], [0, 0, 1, 2]),
        moved!(x, [1, 2 * x.sizes[1], 3 * x.sizes[2] - 3, x.sizes[3]], i => x.at(&[i[1] % 2 * 3 + (i[2] + 1) % 3, i[1] / 2, (i[2] + 1) / 3, i[3]]))),
    row("broadcast_to", &["[3, 1]"], |_, x| x[0].broadcast_to([2, 3, 4]), moved!(x, [2, 3, 4], i => x.at(&[i[1], 0]))),
    row("broadcast_to", &["[1, 3]"], |_, x| x[0].broadcast_to([0, 3]), moved!(x, [0, 3], i => x.at(&[0, i[1]]))),
    row("concat", &["[n, 2]", "[n, 3]"], |_, x| concat(&[x[0], x[1], x[0]], 1), |x| {
        Array::build(&[x[0].sizes[0], 7], |i| match i[1] { 0 | 1 => x[0].at(i), 2..5 => x[1].at(&[i[0], i[1] - 2]), _ => x[0].at(&[i[0], i[1] - 5]) })
    }),
    row("depth_to_space", &["[n, 2, 1, 8]"], |_, x| x[0].depth_to_space(2),
        moved!(x, [x.sizes[0], 4, 2, 2], i => x.at(&[i[0], i[1] / 2, i[2] / 2, (i[1] % 2 * 2 + i[2] % 2) * 2 + i[3]]))),
    row("diag", &["[n, 2]"], |_, x| x[0].diag(),
        moved!(x, [x.sizes[0], 2, x.sizes[0], 2], i => if i[..2] == i[2..] { x.at(&i[..2]) } else { 0.0 })),
    row("diag_part", &["[n, 2, n, 2]"], |_, x| x[0].diag_part(), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], i[1], i[0], i[1]]))),
    row("ensure_shape", &["[n, 2]"], |_, x| x[0].ensure_shape("[?, 2]".parse::<shapeflow::TensorShape>()?), |x| x[0].clone()),
    row("expand_dims", &["[n, 2]"], |_, x| x[0].expand_dims(1), moved!(x, [x.sizes[0], 1, 2], i => x.at(&[i[0], i[2]]))),
    row("extract_image_patches", &["[n, 4, 5, 2]"], |_, x| x[0].extract_image_patches([2, 2], [1, 2], [2, 1], WindowPadding::Valid),
        moved!(x, [x.sizes[0], 2, 2, 8], i => x.at(&[i[0], i[1] + i[3] / 4 * 2, i[2] * 2 + i[3] / 2 % 2, i[3] % 2]))),
    row("extract_volume_patches", &["[n, 3, 2, 4, 1]"], |_, x| x[0].extract_volume_patches([2, 1, 2], [1, 1, 2], WindowPadding::Valid),
        moved!(x, [x.sizes[0], 2, 2, 2, 4], i => x.at(&[i[0], i[1] + i[4] / 2, i[2], i[3] * 2 + i[4] % 2, 0]))),
    row("fill", &["[]"], |g, x| g.fill([2, 3], x[0]), moved!(x, [2, 3], i => x.at(&i[..0]))),
    row("gather", &["[8, n]", "i32[n, 2]"], |_, x| x[0].gather(x[1], 0), |x| {
        let n = x[1].sizes[0];
        Array::build(&[n, 2, n], |i| x[0].at(&[x[1].at(&i[..2]) as usize, i[2]]))
    }),
    row("gather_nd", &["[8, 8, 2]", "i64[n, 2]"], |_, x| x[0].gather_nd(x[1]), |x| {
        let place = |i: usize, axis: usize| x[1].at(&[i, axis]) as usize;
        Array::build(&[x[1].sizes[0], 2], |i| x[0].at(&[place(i[0], 0), place(i[0], 1), i[1]]))
    }),
    row("identity", &["[n, 2]"], |_, x| x[0].identity(), |x| x[0].clone()),
    row("matrix_band_part", &["[n, 3, 4]"], |_, x| x[0].matrix_band_part(1, 0),
        moved!(x, [x.sizes[0], 3, 4], i => if i[1] == i[2] || i[1] == i[2] + 1 { x.at(i) } else { 0.0 })),
    row("matrix_diag", &["[2, n]"], |_, x| x[0].matrix_diag(),
        moved!(x, [2, x.sizes[1], x.sizes[1]], i => if i[1] == i[2] { x.at(&i[..2]) } else { 0.0 })),
    row("matrix_diag_part", &["[n, 3, 2]"], |_, x| x[0].matrix_diag_part(), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], i[1], i[1]]))),
    row("matrix_diag_part_with", &["[n, 3, 4]", "[]"], |_, x| x[0].matrix_diag_part_with([-1, 0], x[1], DiagonalAlign::LeftRight), |x| {
        // The second row holds the diagonal below the main diagonal, which has 2 elements, at its right end.
        Array::build(&[x[0].sizes[0], 2, 3], |i| {
            i[2].checked_sub(i[1]).map_or(x[1].data[0], |column| x[0].at(&[i[0], column + i[1], column]))
        })
    }),
    row("matrix_diag_with", &["[n, 3]", "[]"], |_, x| x[0].matrix_diag_with(1, 3, 4, x[1], DiagonalAlign::LeftRight), |x| {
        Array::build(&[x[0].sizes[0], 3, 4], |i| if i[2] == i[1] + 1 { x[0].at(&[i[0], i[1]]) } else { x[1].data[0] })
    }),
    row("matrix_set_diag", &["[n, 3, 2]", "[n, 2]"], |_, x| x[0].matrix_set_diag(x[1]), |x| {
        Array::build(&x[0].sizes, |i| if i[1] == i[2] { x[1].at(&i[..2]) } else { x[0].at(i) })
    }),
    row("mirror_pad", &["[n, 4]"], |_, x| x[0].mirror_pad([0, 0, 3, 2], Mirror::Symmetric),
        moved!(x, [x.sizes[0], 9], i => x.get(&[i[0] as i64, mirrored(i[1] as i64 - 3, 4)]).unwrap())),
    row("one_hot", &["i32[n]", "[]", "[]"], |_, x| x[0].one_hot(4, x[1], x[2], -1), |x| {
        Array::build(&[x[0].sizes[0], 4], |i| x[if x[0].at(&i[..1]) == i[1] as f64 { 1 } else { 2 }].data[0])
    }),
    row("ones_like", &["[n, 2]"], |_, x| x[0].ones_like(), moved!(x, [x.sizes[0], 2], _i => 1.0)),
    row("pad", &["[n, 2]"], |_, x| x[0].pad([1, 2, 0, 3]), moved!(x, [x.sizes[0] + 3, 5], i => x.get(&[i[0] as i64 - 1, i[1] as i64]).unwrap_or(0.0))),
    row("pad_with", &["[n, 2]", "[]"], |_, x| x[0].pad_with([1, 2, 0, 3], x[1]), |x| {
        Array::build(&[x[0].sizes[0] + 3, 5], |i| x[0].get(&[i[0] as i64 - 1, i[1] as i64]).unwrap_or(x[1].data[0]))
    }),
    row("reshape", &["[n, 2, 3]"], |_, x| x[0].reshape([-1, 2]), |x| Array { sizes: vec![3 * x[0].sizes[0], 2], data: x[0].data.clone() }),
    row("reverse", &["[n, 2, 3]"], |_, x| x[0].reverse([0, 2]), moved!(x, [x.sizes[0], 2, 3], i => x.at(&[x.sizes[0] - 1 - i[0], i[1], 2 - i[2]]))),
    row("reverse_sequence", &["[7, n]", "i32[n]"], |_, x| x[0].reverse_sequence(x[1], 0, 1), |x| {
        let length = |column: usize| x[1].at(&[column]) as usize;
        Array::build(&x[0].sizes, |i| if i[0] < length(i[1]) { x[0].at(&[length(i[1]) - 1 - i[0], i[1]]) } else { x[0].at(i) })
    }),
    row("roll", &["[n, 4]"], |_, x| x[0].roll([1, -2], [0, 1]), moved!(x, [x.sizes[0], 4], i => x.at(&[(i[0] + x.sizes[0] - 1) % x.sizes[0], (i[1] + 2) % 4]))),
    row("rank", &["[n, 2]"], |g, x| called(g, "rank", x), |_| Array { sizes: vec![], data: vec![2.0] }),
    row("select", &["bool[n, 2]", "[n, 2]", "[2]"], |_, x| x[0].select(x[1], x[2]), |x| {
        Array::build(&x[0].sizes, |i| if x[0].at(i) != 0.0 { x[1].at(i) } else { x[2].at(&i[1..]) })
    }),
    row("select_v1", &["bool[n]", "[n, 2]", "[n, 2]"], |g, x| called(g, "select_v1", x), |x| {
        Array::build(&x[1].sizes, |i| x[if x[0].at(&i[..1]) != 0.0 { 1 } else { 2 }].at(i))
    }),
    row("shape", &["[n, 2]"], |g, x| called(g, "shape", x), |x| Array { sizes: vec![2], data: vec![x[0].sizes[0] as f64, 2.0] }),
    row("shape_n", &["[n, 2]"], |g, x| called(g, "shape_n", x), |x| Array { sizes: vec![2], data: vec![x[0].sizes[0] as f64, 2.0] }),
    row("size", &["[n, 1]"], |g, x| called(g, "size", x), |x| Array { sizes: vec![], data: vec![x[0].sizes[0] as f64] }),
    row("slice", &["[n, 4]"], |_, x| x[0].slice([0, 1], [-1, 2]), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], i[1] + 1]))),
    row("space_to_batch_nd", &["[2, 2*n, 4, 1]"], |_, x| x[0].space_to_batch_nd([2, 3], [0, 0, 2, 0]), |x| {
        Array::build(&[12, x[0].sizes[1] / 2, 2, 1], |i| {
            let (block, image) = (i[0] / 2, i[0] % 2);
            x[0].get(&[image as i64, (i[1] * 2 + block / 3) as i64, (i[2] * 3 + block % 3) as i64 - 2, 0]).unwrap_or(0.0)
        })
    }),
    row("space_to_depth", &["[n, 4, 2, 2]"], |_, x| x[0].space_to_depth(2),
        moved!(x, [x.sizes[0], 2, 1, 8], i => x.at(&[i[0], i[1] * 2 + i[3] / 4, i[2] * 2 + i[3] / 2 % 2, i[3] % 2]))),
    row("split", &["[n, 6]"], |_, x| Ok(x[0].split::<3>(1)?[1]), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], i[1] + 2]))),
    row("split_sizes", &["[n, 6]"], |_, x| Ok(x[0].split_sizes([1, -1, 2], 1)?[1]), moved!(x, [x.sizes[0], 3], i => x.at(&[i[0], i[1] + 1]))),
    row("squeeze", &["[n, 1, 2]"], |_, x| x[0].squeeze([1]), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], 0, i[1]]))),
    row("stack", &["[n, 2]", "[n, 2]"], |_, x| stack(x, 1), |x| {
        Array::build(&[x[0].sizes[0], 2, 2], |i| x[i[1]].at(&[i[0], i[2]]))
    }),
    row("strided_slice", &["[n, 5]"], |_, x| x[0].strided_slice([0, 4], [7, 0], [2, -2], SliceMasks::default()),
        moved!(x, [x.sizes[0].div_ceil(2), 2], i => x.at(&[2 * i[0], 4 - 2 * i[1]]))),
    row("strided_slice_grad", &["[n, 2]"], |_, x| {
        let rows = x[0].shape().dims().unwrap()[0].clone();
        x[0].strided_slice_grad([rows.clone(), 5.into()], [0.into(), shapeflow::Dim::known(4)], [rows, 0.into()], [1, -2], SliceMasks::default())
    }, moved!(x, [x.sizes[0], 5], i => match i[1] { 4 => x.at(&[i[0], 0]), 2 => x.at(&[i[0], 1]), _ => 0.0 })),
    row("strided_slice_update", &["[n, 5]", "[n, 2]"], |_, x| {
        let rows = x[0].shape().dims().unwrap()[0].clone();
        x[0].strided_slice_update([0, 4], [rows, 0.into()], [1, -2], x[1], SliceMasks::default())
    }, |x| Array::build(&x[0].sizes, |i| match i[1] { 4 => x[1].at(&[i[0], 0]), 2 => x[1].at(&[i[0], 1]), _ => x[0].at(i) })),
    row("tile", &["[n, 2]"], |_, x| x[0].tile([2, 3]), moved!(x, [2 * x.sizes[0], 6], i => x.at(&[i[0] % x.sizes[0], i[1] % 2]))),
    row("transpose", &["[n, 2, 3]"], |_, x| x[0].transpose([2, 0, 1]), moved!(x, [3, x.sizes[0], 2], i => x.at(&[i[1], i[2], i[0]]))),
    row("tril", &["[2, n, 4]"], |_, x| x[0].tril(1), moved!(x, [2, x.sizes[1], 4], i => if i[2] <= i[1] + 1 { x.at(i) } else { 0.0 })),
    row("triu", &["[2, n, 4]"], |_, x| x[0].triu(1), moved!(x, [2, x.sizes[1], 4], i => if i[2] > i[1] { x.at(i) } else { 0.0 })),
    row("unstack", &["[n, 3, 2]"], |_, x| Ok(x[0].unstack(1)?[2]), moved!(x, [x.sizes[0], 2], i => x.at(&[i[0], 2, i[1]]))),
    row("zeros_like", &["[n, 2]"], |_, x| x[0].zeros_like(), moved!(x, [x.sizes[0], 2], _i => 0.0)),
];

#[test]
fn movement_ops_give_what_index_functions_give() {
    let (mut rng, mut faults) = (Rng::new(162), Vec::new());
    let registry = Registry::builtin();
    for row in ROWS {
        let Some(def) = registry.get(row.op) else { continue };
        // Programs cannot make the elements of a variant.
        for dtype in def.dtypes().into_iter().filter(|dtype| *dtype != DType::Variant) {
            let operands: Vec<_> = row.operands.iter().map(|operand| typed(operand)).collect();
            let inputs: Vec<_> =
                operands.iter().map(|(fixed, shape)| (fixed.unwrap_or(dtype), shape.to_string())).collect();
            let arrays: Vec<Vec<Array>> = [0, 1, 7]
                .map(|n| {
                    let mut array = |shape: &str| {
                        let sizes = sizes_of(shape, n);
                        let data = (0..sizes.iter().product()).map(|_| rng.below(8) as f64).collect();
                        Array { sizes, data }
                    };
                    operands.iter().map(|(_, shape)| array(shape)).collect()
                })
                .into();
            let tensors = |arrays: &Vec<Array>| -> Vec<Tensor> {
                arrays.iter().zip(&inputs).map(|(array, (dtype, _))| array.tensor(*dtype)).collect()
            };
            let feeds: Vec<Vec<Tensor>> = arrays.iter().map(tensors).collect();
            let check = |operands: &[Tensor], result: &Tensor| {
                let number = feeds.iter().position(|feed| std::ptr::eq(&feed[..], operands)).unwrap();
                let gives_sizes = matches!(row.op, "rank" | "shape" | "shape_n" | "size");
                let of = if gives_sizes { DType::I64 } else { dtype };
                let expected = (row.naive)(&arrays[number]).tensor(of);
                (*result != expected).then(|| format!("expected {expected:?}, got {result:?}"))
            };
            let name = format!("{} of {dtype}", row.op);
            run_both(&name, &inputs, Build::Function(row.build), &feeds, &check, &mut faults);
        }
    }
    report(&faults);
}
