//! Sparse tensors: `indices [count, rank]`, `values [count]` and the sizes `shape [rank]` of the dense tensor.
//!
//! ```
//! use shapeflow::Graph;
//!
//! let g = Graph::new();
//! let indices = g.constant([[1i64, 0], [0, 2]])?;
//! let (values, shape) = (g.constant([5.0f32, 7.0])?, g.constant([2i64, 3])?);
//! let [indices, values] = indices.sparse_reorder(values, shape)?;
//! let [indices, values] = g.compile(&[indices, values])?.run(&[])?;
//! assert_eq!(indices.to_vec::<i64>()?, [0, 2, 1, 0]);
//! assert_eq!(values.to_vec::<f32>()?, [7.0, 5.0]);
//! # Ok::<(), shapeflow::Error>(())
//! ```

pub(crate) mod concat;
pub(crate) mod cross;
pub(crate) mod cross_features;
pub(crate) mod edit_distance;
pub(crate) mod fill_empty_rows;
pub(crate) mod fill_empty_rows_grad;
pub(crate) mod gradient;
mod groups;
pub(crate) mod matmul;
mod operand;
pub(crate) mod reduce;
pub(crate) mod reorder;
pub(crate) mod reshape;
pub(crate) mod set_operation;
pub(crate) mod set_size;
pub(crate) mod slice;
pub(crate) mod softmax;
pub(crate) mod split;
pub(crate) mod to_dense;
pub(crate) mod union;
pub(crate) mod with_dense;

use crate::op::OpDef;

pub use concat::sparse_concat;
pub use set_operation::SetOperation;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[&[
    &concat::DEF,
    &cross::DEF,
    &cross::HASHED,
    &cross::TEXT,
    &edit_distance::DEF,
    &fill_empty_rows::DEF,
    &fill_empty_rows_grad::DEF,
    &gradient::ADD,
    &gradient::SLICE,
    &matmul::DEF,
    &reduce::MAX,
    &reduce::MAX_SPARSE,
    &reduce::SUM,
    &reduce::SUM_SPARSE,
    &reorder::DEF,
    &reshape::DEF,
    &set_operation::DENSE,
    &set_operation::DENSE_SPARSE,
    &set_operation::SPARSE,
    &set_size::DEF,
    &slice::DEF,
    &softmax::DEF,
    &split::DEF,
    &to_dense::DEF,
    &union::ADD,
    &union::MAXIMUM,
    &union::MINIMUM,
    &with_dense::ADD,
    &with_dense::ADD_TO_DENSE,
    &with_dense::DIV,
    &with_dense::MUL,
]];
