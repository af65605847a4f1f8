//! [`lookup`]: finds the shape function of a TensorFlow op type.

use std::sync::LazyLock;

use super::{
    array, audio, control, ctc, image, linalg, math, media, nn, quantize, ragged, random, reduce, segment,
    sparse, string,
};
use crate::infer::registered::Registered;

/// Returns the registry row of a TensorFlow op type, or `None` if the op is not registered.
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

/// Returns all registered ops, sorted by op type.
pub fn registered() -> &'static [Registered] {
    static ALL: LazyLock<Vec<Registered>> = LazyLock::new(|| {
        let mut all = FAMILIES.concat();
        all.sort_unstable_by_key(|row| row.op);
        all
    });
    &ALL
}

/// The tables of all families. Each op has a row in exactly one table.
#[rustfmt::skip]
static FAMILIES: &[&[Registered]] = &[
    array::OPS,
    audio::OPS,
    control::OPS,
    ctc::OPS,
    image::OPS,
    linalg::OPS,
    math::OPS,
    media::OPS,
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
    fn every_op_has_exactly_one_row_and_lookup_finds_it() {
        let all = registered();
        let unordered = all.windows(2).find(|pair| pair[0].op >= pair[1].op);
        assert!(unordered.is_none(), "{unordered:?}");
        assert!(all.iter().all(|row| lookup(row.op).is_some_and(|found| found.op == row.op)));
        assert!(lookup("NoSuchOp").is_none());
    }
}
