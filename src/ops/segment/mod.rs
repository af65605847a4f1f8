//! Segment reductions: the rows of a tensor with the same segment id are reduced to one row. Counts of numbers are sums
//! of ones whose ids are the numbers.
//!
//! ```
//! use shapeflow::Graph;
//!
//! let g = Graph::new();
//! let rows = g.constant([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
//! let sums = rows.segment_sum(g.constant([0, 0, 1])?)?;
//! let [y] = g.compile(sums)?.run(&[])?;
//! assert_eq!((y.sizes(), y.to_vec::<f32>()?), (&[2, 2][..], vec![4.0, 6.0, 5.0, 6.0]));
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod blocks;
mod counting;
mod reduce;

pub(crate) mod count_sparse;
pub(crate) mod counts;
pub(crate) mod histogram;
pub(crate) mod sorted;
pub(crate) mod sparse;
pub(crate) mod unsorted;

use crate::op::OpDef;

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[
    &[
        &count_sparse::DENSE,
        &count_sparse::RAGGED,
        &count_sparse::SPARSE,
        &counts::ALL_ELEMENTS,
        &counts::RAGGED,
        &counts::ROWS,
        &counts::SPARSE,
        &histogram::DEF,
        &sorted::MAX,
        &sorted::MEAN,
        &sorted::MIN,
        &sorted::PROD,
        &sorted::SUM,
        &unsorted::MAX,
        &unsorted::MIN,
        &unsorted::PROD,
        &unsorted::SUM,
    ],
    sparse::ALL,
];
