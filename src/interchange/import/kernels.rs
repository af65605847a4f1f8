//! `Kernels`: the definitions that an op type may stand for.

use std::collections::HashMap;

use shapeflow_shape_fns::{Attr, Attrs, DType, Registered};

use crate::op::{OpDef, OpRef, Registry, TfOp};

/// The definitions that an op type may stand for.
pub(super) struct Kernels {
    by_type: HashMap<&'static str, Vec<(OpRef, TfOp)>>,
    /// Definitions with TensorFlow's shape function of one spelling, where it is stricter.
    adapted: HashMap<(&'static str, &'static str), OpRef>,
    /// Definitions without a body.
    shapes_only: HashMap<&'static str, OpRef>,
}

impl Kernels {
    pub(super) fn new(ops: &Registry) -> Kernels {
        let mut by_type: HashMap<&'static str, Vec<(OpRef, TfOp)>> = HashMap::new();
        for def in ops.defs() {
            for spelling in def.tensorflow_ops() {
                by_type.entry(spelling.op_type).or_default().push((def.clone(), *spelling));
            }
        }
        // By name, so that nothing depends on the order of a hash table.
        by_type.values_mut().for_each(|defs| defs.sort_by_key(|(def, _)| def.name()));
        Kernels { by_type, adapted: HashMap::new(), shapes_only: HashMap::new() }
    }

    pub(super) fn knows(&self, op_type: &str) -> bool {
        self.by_type.contains_key(op_type)
    }

    pub(super) fn candidates(&self, op_type: &str) -> Vec<(OpRef, TfOp)> {
        self.by_type.get(op_type).cloned().unwrap_or_default()
    }

    /// The definition with the shape function that the spelling has.
    pub(super) fn adapted(&mut self, def: &OpRef, row: &'static Registered) -> OpRef {
        let own = def.shape_function();
        if own.is_none_or(|own| std::ptr::fn_addr_eq(own, row.shape_fn)) {
            return def.clone();
        }
        let adapted = || OpRef::from(std::sync::Arc::new(OpDef::clone(def).shape_fn(row.shape_fn)));
        self.adapted.entry((def.name(), row.op)).or_insert_with(adapted).clone()
    }

    pub(super) fn shapes_only(&mut self, row: &'static Registered) -> OpRef {
        let made = || {
            let def = OpDef::absent(row.op, Some(row.operands)).shape_fn(row.shape_fn);
            let def =
                def.outputs(|attrs, _| types(attrs).len()).dtype_rule(|_, attrs| Ok(types(attrs).to_vec()));
            OpRef::from(std::sync::Arc::new(def))
        };
        self.shapes_only.entry(row.op).or_insert_with(made).clone()
    }
}

/// What the outputs of a definition without a body are.
fn types(attrs: &Attrs) -> &[DType] {
    match attrs.get("dtypes") {
        Some(Attr::DTypes(dtypes)) => dtypes,
        _ => &[],
    }
}
