//! Ops that move elements: reshapes, slices, gathers, scatters, padding, sizes.

pub(crate) mod as_dim;
pub(in crate::ops) mod axis;
mod diagonals;
mod diff;
mod dim_operand;
mod distinct;
mod in_tensorflow;
mod keys;
mod meshgrid;
mod repeat;
mod scalar;

pub(crate) mod bitcast;
pub(crate) mod bitcast_complex;
pub(crate) mod boolean_mask;
pub(crate) mod broadcast_args;
pub(crate) mod broadcast_to;
pub(crate) mod check_numerics;
pub(crate) mod checked;
pub(crate) mod concat;
pub(crate) mod concat_offset;
pub(crate) mod conjugate_transpose;
pub(crate) mod data_format;
pub(crate) mod diag;
pub(crate) mod dynamic_partition;
pub(crate) mod dynamic_stitch;
pub(crate) mod empty;
pub(crate) mod ensure_broadcasts;
pub(crate) mod ensure_shape;
pub(crate) mod expand_dims;
pub(crate) mod extract_image_patches;
pub(crate) mod fill;
pub(crate) mod gather;
pub(crate) mod gather_nd;
pub(crate) mod identity;
pub(crate) mod inplace;
pub(crate) mod invert_permutation;
pub(crate) mod linspace;
pub(crate) mod list_diff;
mod lookup;
pub(crate) mod matrix_band_part;
pub(crate) mod matrix_diag;
pub(crate) mod matrix_diag_part;
pub(crate) mod matrix_set_diag;
pub(crate) mod mirror_pad;
pub(crate) mod mirror_pad_grad;
pub(crate) mod one_hot;
pub(crate) mod ones_like;
pub(crate) mod own_size;
pub(crate) mod pad;
pub(crate) mod parallel_concat;
pub(crate) mod range;
pub(crate) mod rank;
pub(crate) mod reshape;
pub(crate) mod reverse;
pub(crate) mod reverse_sequence;
pub(crate) mod roll;
pub(crate) mod scan;
pub(crate) mod scatter_nd;
pub(crate) mod sequence_mask;
pub(crate) mod shape;
pub(crate) mod shape_n;
pub(crate) mod size;
pub(crate) mod slice;
mod slice_items;
pub(crate) mod slice_with;
pub(crate) mod space_to_batch_nd;
pub(crate) mod space_to_depth;
pub(crate) mod split;
pub(crate) mod split_sizes;
pub(crate) mod squeeze;
pub(crate) mod stack;
pub(crate) mod strided_slice;
pub(crate) mod strided_slice_grad;
pub(crate) mod strided_slice_update;
pub(crate) mod tensor_scatter;
pub(crate) mod tile;
pub(crate) mod transpose;
pub(crate) mod unique;
pub(crate) mod unique_slices;
pub(crate) mod unique_with_counts;
pub(crate) mod unravel_index;
pub(crate) mod unstack;
pub(crate) mod where_indices;
pub(crate) mod zeros_like;

use crate::op::OpDef;

pub use concat::concat;
pub use concat_offset::concat_offset;
pub use diagonals::DiagonalAlign;
pub use dynamic_stitch::dynamic_stitch;
pub use extract_image_patches::WindowPadding;
pub use lookup::LookupTable;
pub use meshgrid::{GridOrder, meshgrid};
pub use mirror_pad::Mirror;
pub use range::Bound;
pub use scalar::IntoScalar;
pub use slice_with::{Position, SliceItem};
pub use stack::stack;
pub use strided_slice::SliceMasks;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &bitcast::DEF,
    &bitcast_complex::DEF,
    &boolean_mask::DEF,
    &broadcast_args::DEF,
    &broadcast_args::GRADIENT,
    &broadcast_to::DEF,
    &check_numerics::DEF,
    &checked::DEF,
    &concat::DEF,
    &concat_offset::DEF,
    &conjugate_transpose::DEF,
    &data_format::DIM_MAP,
    &data_format::VEC_PERMUTE,
    &diag::DEF,
    &diag::PART,
    &dynamic_partition::DEF,
    &dynamic_stitch::DEF,
    &empty::DEF,
    &ensure_shape::DEF,
    &expand_dims::DEF,
    &extract_image_patches::DEF,
    &extract_image_patches::VOLUMES,
    &fill::DEF,
    &gather::DEF,
    &gather_nd::DEF,
    &identity::DEF,
    &inplace::ADD,
    &inplace::SUB,
    &inplace::UPDATE,
    &invert_permutation::DEF,
    &linspace::DEF,
    &list_diff::DEF,
    &matrix_band_part::DEF,
    &matrix_band_part::TRIL,
    &matrix_band_part::TRIU,
    &matrix_diag::DEF,
    &matrix_diag::WITH,
    &matrix_diag_part::DEF,
    &matrix_diag_part::WITH,
    &matrix_set_diag::DEF,
    &mirror_pad::DEF,
    &mirror_pad_grad::DEF,
    &one_hot::DEF,
    &ones_like::DEF,
    &pad::DEF,
    &pad::WITH,
    &parallel_concat::DEF,
    &range::DEF,
    &range::FLOATS,
    &rank::DEF,
    &reshape::DEF,
    &reverse::BY_FLAGS,
    &reverse::DEF,
    &reverse::FLAGS_OF_AXES,
    &reverse_sequence::DEF,
    &roll::DEF,
    &scan::SUM,
    &scan::PRODUCT,
    &scan::LOG_SUM_EXP,
    &scatter_nd::DEF,
    &sequence_mask::DEF,
    &shape::DEF,
    &shape_n::DEF,
    &size::DEF,
    &slice::DEF,
    &space_to_batch_nd::DEF,
    &space_to_batch_nd::BACK,
    &space_to_depth::DEF,
    &space_to_depth::BACK,
    &split::DEF,
    &split_sizes::DEF,
    &squeeze::DEF,
    &stack::DEF,
    &strided_slice::DEF,
    &strided_slice_grad::DEF,
    &strided_slice_update::DEF,
    &tensor_scatter::UPDATE,
    &tensor_scatter::ADD,
    &tensor_scatter::SUB,
    &tensor_scatter::MIN,
    &tensor_scatter::MAX,
    &tile::DEF,
    &transpose::DEF,
    &unique::DEF,
    &unique_slices::DEF,
    &unique_slices::COUNTED,
    &unique_with_counts::DEF,
    &unravel_index::DEF,
    &unstack::DEF,
    &where_indices::DEF,
    &zeros_like::DEF,
]];

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType, Dim, shape};

    use crate::eval::evaluate;
    use crate::graph::Graph;
    use crate::op::{OpDef, OperandMask};
    use crate::ops::testing::tensor;
    use crate::tensor::{Tensor, TensorView};

    /// Evaluates an op whose structure parameters are all operands.
    #[track_caller]
    fn fed(def: &'static OpDef, attrs: Attrs, operands: &[Tensor], sizes: &[usize], expected: &[i32]) {
        let given = OperandMask::all(def.operand_list().unwrap().len());
        let operands: Vec<TensorView<'_>> = operands.iter().map(Tensor::view).collect();
        let output =
            evaluate(def, given, &attrs.declared_by(def.attributes()), &operands).unwrap().swap_remove(0);
        assert_eq!(
            (output.sizes(), output.to_vec::<i32>().unwrap()),
            (sizes, expected.to_vec()),
            "{}",
            def.name()
        );
    }

    #[test]
    fn parameters_may_be_operands() {
        let none = Attrs::new;
        let x = || tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i32]);
        let ints = |values: &[i64]| tensor(&[values.len()], values);
        let int = |value: i32| tensor(&[], &[value]);
        fed(&super::reshape::DEF, none(), &[x(), ints(&[-1, 2])], &[3, 2], &[1, 2, 3, 4, 5, 6]);
        fed(&super::expand_dims::DEF, none(), &[x(), int(1)], &[2, 1, 3], &[1, 2, 3, 4, 5, 6]);
        fed(&super::transpose::DEF, none(), &[x(), ints(&[1, 0])], &[3, 2], &[1, 4, 2, 5, 3, 6]);
        fed(&super::broadcast_to::DEF, none(), &[int(7), ints(&[2])], &[2], &[7, 7]);
        fed(&super::slice::DEF, none(), &[x(), ints(&[1, 1]), ints(&[-1, 1])], &[1, 1], &[5]);
        fed(
            &super::strided_slice::DEF,
            Attrs::new().with("shrink_axis_mask", 1),
            &[x(), ints(&[-1, -1]), ints(&[0, 0]), ints(&[1, -2])],
            &[1],
            &[6],
        );
        fed(&super::reverse::DEF, none(), &[x(), ints(&[-1])], &[2, 3], &[3, 2, 1, 6, 5, 4]);
        fed(&super::tile::DEF, none(), &[x(), ints(&[1, 2])], &[2, 6], &[1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
        let paddings = || tensor(&[2, 2], &[0, 0, 1, 0i64]);
        fed(&super::pad::DEF, none(), &[x(), paddings()], &[2, 4], &[0, 1, 2, 3, 0, 4, 5, 6]);
        fed(&super::pad::WITH, none(), &[x(), paddings(), int(9)], &[2, 4], &[9, 1, 2, 3, 9, 4, 5, 6]);
        let reflect = Attrs::new().with("mode", "reflect");
        fed(&super::mirror_pad::DEF, reflect, &[x(), paddings()], &[2, 4], &[2, 1, 2, 3, 5, 4, 5, 6]);
        fed(&super::concat::DEF, none(), &[int(0), x(), x()], &[4, 3], &[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]);
        let parts = Attrs::new().with("num", 3);
        fed(&super::split::DEF, parts.clone(), &[int(1), x()], &[2, 1], &[1, 4]);
        fed(&super::split_sizes::DEF, parts, &[x(), ints(&[2, 0, 1]), int(-1)], &[2, 2], &[1, 2, 4, 5]);
        fed(&super::fill::DEF, none(), &[ints(&[2]), int(4)], &[2], &[4, 4]);
        fed(&super::range::DEF, none(), &[int(3), int(9), int(4)], &[2], &[3, 7]);
        fed(&super::gather::DEF, none(), &[x(), ints(&[2, 0]), int(1)], &[2, 2], &[3, 1, 6, 4]);
        let last = Attrs::new().with("axis", -1);
        fed(
            &super::one_hot::DEF,
            last,
            &[ints(&[1, 3]), int(3), int(1), int(0)],
            &[2, 3],
            &[0, 1, 0, 0, 0, 0],
        );
        fed(&super::scan::SUM, none(), &[x(), int(0)], &[2, 3], &[1, 2, 3, 5, 7, 9]);
    }

    #[test]
    fn builders_follow_the_elements_of_shape_tensors() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 4, ?]).unwrap();
        let text = |value: crate::Result<crate::Value<'_>>| value.unwrap().shape().to_string();
        let sizes = x.shape_tensor().unwrap();
        let n = sizes.slice_with(&[0.into()]).unwrap();
        let pair = crate::stack(&[n, n], 0).unwrap();
        assert_eq!(text(g.fill(pair, 1.5f32)), "[n, n]");
        assert_eq!(text(g.range(0i64, n, 1)), "[n]");
        assert_eq!(text(x.reshape([Dim::symbol("n"), Dim::known(-1)])), "[n, 4*?]");
        assert_eq!(text(x.t()), "[?, 4, n]");
        assert_eq!(text(x.gather(g.range(0, 3, 1), 1)), "[n, 3, ?]");
        assert_eq!(text(x.pad_with([1, 1, 0, 0, 0, 0], 2.0)), "[n+2, 4, ?]");
        assert_eq!(text(sizes.one_hot(5, true, false, 0)), "[5, 3]");
        let [a, b] = x.split::<2>(1).unwrap();
        assert_eq!(text(crate::concat(&[b, a, x], 1)), "[n, 8, ?]");
        let seven = g.range(0, 7, 1).unwrap().reverse([0]).unwrap();
        let known = g.read().const_fold(seven.index().unwrap()).unwrap();
        assert_eq!(known.to_vec::<i64>().unwrap(), [6, 5, 4, 3, 2, 1, 0]);
    }
}
