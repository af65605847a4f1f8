//! [`lookup`]: the shape function of a TensorFlow op type.

use std::sync::LazyLock;

use super::{
    array, control, ctc, image, linalg, math, nn, quantize, ragged, random, reduce, segment, sparse, string,
};
use crate::infer::registered::Registered;

/// The shape function of this TensorFlow op type.
///
/// ```
/// let tile = shapeflow_shape_fns::lookup("Tile").ok_or("unknown op")?;
/// assert_eq!(tile.operands, ["x", "multiples"]);
/// # Ok::<(), &str>(())
/// ```
pub fn lookup(tf_op: &str) -> Option<&'static Registered> {
    let all = registered();
    all.binary_search_by(|row| row.op.cmp(tf_op)).ok().and_then(|position| all.get(position))
}

/// Every registered op, in the order of op types.
pub fn registered() -> &'static [Registered] {
    static ALL: LazyLock<Vec<Registered>> = LazyLock::new(|| {
        let mut all = FAMILIES.concat();
        all.sort_unstable_by_key(|row| row.op);
        all
    });
    &ALL
}

/// The tables of all families; an op stands in one of them.
#[rustfmt::skip]
static FAMILIES: &[&[Registered]] = &[
    array::OPS,
    control::OPS,
    ctc::OPS,
    image::OPS,
    linalg::OPS,
    math::OPS,
    nn::OPS,
    quantize::OPS,
    ragged::OPS,
    random::OPS,
    reduce::OPS,
    segment::OPS,
    sparse::OPS,
    string::OPS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_op_stands_in_one_row_and_is_found() {
        let all = registered();
        let twice = all.windows(2).find(|pair| pair[0].op >= pair[1].op);
        assert!(twice.is_none(), "{twice:?}");
        assert!(all.iter().all(|row| lookup(row.op).is_some_and(|found| found.op == row.op)));
        assert!(lookup("NoSuchOp").is_none());
    }
}
