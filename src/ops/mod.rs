//! The ops, by family.
//!
//! **In**: nothing but the rooms below: an op is its builder method on `Value`, its `OpDef` with dtype rule and body, and
//! tests. **Out**: [`Registry::builtin`], every op by name; Rust's operators on values.
//!
//! **Who calls it**: programs call builder methods; `interchange` looks ops up by name. No other room names an op.
//!
//! **Absent**: shape functions, which are a crate of their own.
//!
//! An elementwise op is a row (see `elementwise`); any other op is a file. A family's `ALL` lists its ops, file by file.

pub(crate) mod array;
pub(crate) mod broadcast;
pub(crate) mod derived;
mod dtypes;
pub(crate) mod elementwise;
pub(crate) mod given;
pub(crate) mod linalg;
pub(crate) mod logical;
pub(crate) mod math;
pub(crate) mod nn;
mod operators;
pub(crate) mod positions;
#[cfg(test)]
mod recorded;
pub(crate) mod reduce;
pub(crate) mod row_major;
pub(crate) mod rows;
pub(crate) mod segment;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod wide;

use crate::op::{OpDef, Registry};

pub use array::{
    Bound, IntoScalar, Mirror, SliceItem, SliceMasks, WindowPadding, concat, dynamic_stitch, stack,
};

/// The families of ops.
static FAMILIES: [&[&[&OpDef]]; 7] =
    [array::ALL, linalg::ALL, logical::ALL, math::ALL, nn::ALL, reduce::ALL, segment::ALL];

/// Every op of this crate.
fn defs() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.into_iter().flatten().copied().flatten().copied()
}

impl Registry {
    /// Every op of this crate.
    pub fn builtin() -> Registry {
        defs().fold(Registry::default(), Registry::with)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::op::{OpRef, Operand, Registry};
    use crate::{DType, Dim, Graph};

    #[test]
    fn no_two_ops_share_a_name_or_a_tensorflow_spelling() {
        let (mut names, mut spellings) = (HashSet::new(), HashSet::new());
        for def in super::defs() {
            assert!(names.insert(def.name()), "{} is there twice", def.name());
            for spelling in def.tensorflow_ops() {
                // Two ops may share a spelling where their dtypes differ: a range of integers and one of floats.
                let is_new = spellings.insert(spelling.op_type);
                assert!(is_new || def.name() == "float_range", "{} is there twice", spelling.op_type);
            }
        }
        assert_eq!(Registry::builtin().iter().count(), names.len());
    }

    /// What the dtype rule promises, the body must give: for every dtype that is accepted, and at every rank.
    #[test]
    fn bodies_keep_the_promises_of_dtype_rules() {
        let mut lowered = HashSet::new();
        let families =
            [super::linalg::ALL, super::logical::ALL, super::math::ALL, super::nn::ALL, super::reduce::ALL];
        for def in families.into_iter().flatten().copied().flatten() {
            let count = def
                .operand_list()
                .unwrap()
                .iter()
                .filter(|operand| matches!(operand, Operand::Data(_)))
                .count();
            for (dtype, rank) in DType::all().flat_map(|dtype| (0..4).map(move |rank| (dtype, rank))) {
                for first in [dtype, DType::Bool] {
                    let graph = Graph::new();
                    let mut call = graph.op(OpRef::from(*def)).attr("dtype", DType::I16);
                    for operand in 0..count {
                        let shape = vec![Dim::symbol("n"); rank];
                        let dtype = if operand == 0 { first } else { dtype };
                        call = call.data(graph.input(&format!("x{operand}"), dtype, shape).unwrap());
                    }
                    let Ok(value) = call.finish() else { continue };
                    if !dtype.is_complex() && !dtype.is_quantized() && dtype != DType::String {
                        let data = graph.read();
                        let node = data.values[value.index().unwrap().at()].node;
                        let template = data.template(node, 0);
                        assert!(template.is_ok(), "{}: {}", def.name(), template.err().unwrap());
                        lowered.insert(def.name());
                    }
                }
            }
            assert!(lowered.contains(def.name()), "{} takes no operands", def.name());
        }
    }
}
