//! The ops, by family.
//!
//! **In**: the arguments of builder methods. An op consists of its builder method on [`Value`](crate::Value), its
//! [`OpDef`] with dtype rule and body, and tests.
//!
//! **Out**: [`Registry::builtin`], which holds every op by name, and Rust's operators on values.
//!
//! **Who calls it**: programs call builder methods; `interchange` looks ops up by name. No other room names an op.
//!
//! **Absent**: shape functions, which have their own crate.
//!
//! An elementwise op is a row of a table (see `elementwise`); any other op is a file. A family's `ALL` lists its ops,
//! file by file. "Fuses into kernels" in the docs of an op means that its body is a scalar expression, which the
//! compiler fuses with its neighbours; "runs on the host" means that a Rust function computes it between kernels.

pub(crate) mod array;
pub(crate) mod broadcast;
pub(crate) mod derived;
mod dtypes;
pub(crate) mod elementwise;
pub(crate) mod host_params;
pub(crate) mod linalg;
pub(crate) mod logical;
pub(crate) mod math;
pub(crate) mod nn;
mod operators;
pub(crate) mod positions;
pub(crate) mod ragged;
#[cfg(test)]
mod recorded_values;
pub(crate) mod reduce;
pub(crate) mod row_major;
pub(crate) mod rows;
pub(crate) mod segment;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod widen;

use crate::op::{OpDef, Registry};
pub use ragged::{IntoRaggedAxes, IntoRaggedOperand};

pub use array::{
    Bound, IntoScalar, Mirror, SliceItem, SliceMasks, WindowPadding, concat, dynamic_stitch, stack,
};

/// The families of ops.
static FAMILIES: [&[&[&OpDef]]; 8] =
    [array::ALL, linalg::ALL, logical::ALL, math::ALL, nn::ALL, ragged::ALL, reduce::ALL, segment::ALL];

/// Returns the ops of this crate.
fn defs() -> impl Iterator<Item = &'static OpDef> {
    FAMILIES.into_iter().flatten().copied().flatten().copied()
}

impl Registry {
    /// Makes a registry of all ops of this crate.
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
            assert!(names.insert(def.name()), "two ops are named {}", def.name());
            for spelling in def.tensorflow_ops() {
                // Two ops may share a spelling if their dtypes differ, as ranges of integers and of floats do.
                let is_new = spellings.insert(spelling.op_type);
                assert!(is_new || def.name() == "float_range", "two ops import {}", spelling.op_type);
            }
        }
        assert_eq!(Registry::builtin().iter().count(), names.len());
    }

    /// For every dtype that a dtype rule accepts, and at every rank, the body must have the dtype that the rule gives.
    #[test]
    fn bodies_have_the_dtypes_of_dtype_rules() {
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
            assert!(lowered.contains(def.name()), "{} accepts no operands", def.name());
        }
    }
}
