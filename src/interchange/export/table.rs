//! Exports an op that looks elements up as TensorFlow's nodes on a table: one makes the table, one fills it, and one
//! reads it after it has been filled.

use shapeflow_shape_fns::DType;

use super::super::proto::{AttrKind, NodeDef};
use super::{Exporter, constant_def, put, typed_node};
use crate::error::Result;
use crate::graph::Node;
use crate::ops::integers::int_tensor;
use crate::tensor::Tensor;

impl Exporter<'_> {
    /// Exports a node that looks elements up in a table of constants. Returns `None` for any other node, and if the
    /// keys of operands are not a vector with one value for each key.
    pub(super) fn table_lookup(&mut self, node: &Node, name: &str) -> Result<Option<NodeDef>> {
        let data = self.data;
        let (Some(&elements), Some(&default)) = (node.operands.first(), node.operands.last()) else {
            return Ok(None);
        };
        let (elements, default) = (self.tensor_name(elements), self.tensor_name(default));
        let operands =
            node.op.table_operands().map(|positions| positions.map(|position| node.operands[position]));
        if let Some(operands) = operands {
            let constant = |operand: usize| data.constants.get(&data.values[operands[operand].index()].node);
            let (Some(keys), Some(values)) = (constant(0), constant(1)) else { return Ok(None) };
            if !is_table(keys, values) {
                return Ok(None);
            }
            let content = operands.map(|operand| self.tensor_name(operand));
            let types = [keys.dtype(), values.dtype()];
            return Ok(Some(self.table(name, content, types, [elements, default])));
        }
        let Some([keys, values]) = node.op.held_table() else { return Ok(None) };
        if !is_table(keys, values) {
            return self.row_lookup(name, [keys, values], [elements, default]).map(Some);
        }
        let content = [
            self.extra(&format!("{name}/keys"), constant_def(keys)?),
            self.extra(&format!("{name}/values"), constant_def(values)?),
        ];
        Ok(Some(self.table(name, content, [keys.dtype(), values.dtype()], [elements, default])))
    }

    /// Adds the nodes that make and fill a table, and returns the node that reads it. `content` names the keys and the
    /// values, `types` are their dtypes, and `read` names the elements to look up and the default value.
    fn table(&mut self, name: &str, content: [String; 2], types: [DType; 2], read: [String; 2]) -> NodeDef {
        let named = |names: [&'static str; 2]| -> [(&'static str, DType); 2] {
            [(names[0], types[0]), (names[1], types[1])]
        };
        let table = typed_node("HashTableV2", Vec::new(), &named(["key_dtype", "value_dtype"]));
        let table = self.extra(&format!("{name}/table"), table);
        let [keys, values] = content;
        let filled =
            typed_node("InitializeTableV2", vec![table.clone(), keys, values], &named(["Tkey", "Tval"]));
        let filled = self.extra(&format!("{name}/filled"), filled);
        let [elements, default] = read;
        let inputs = vec![table, elements, default, format!("^{filled}")];
        typed_node("LookupTableFindV2", inputs, &named(["Tin", "Tout"]))
    }

    /// Adds the nodes that look up the number of each value, and returns the node that gathers the values.
    /// TensorFlow's hash table has scalars as values. The default value follows the values of the table.
    fn row_lookup(
        &mut self,
        name: &str,
        [keys, values]: [&Tensor; 2],
        [elements, default]: [String; 2],
    ) -> Result<NodeDef> {
        // TensorFlow has no table from i32 to i64.
        let index = if keys.dtype() == DType::I32 { DType::I32 } else { DType::I64 };
        let count = keys.len();
        let numbers = int_tensor(index, &[count], 0..count)?;
        let past = int_tensor(index, &[], std::iter::once(count))?;
        let axis = Tensor::scalar(0i32);
        let mut constant = |part: &str, tensor: &Tensor| -> Result<String> {
            Ok(self.extra(&format!("{name}/{part}"), constant_def(tensor)?))
        };
        let content = [constant("keys", keys)?, constant("numbers", &numbers)?];
        let (past, values_name) = (constant("past", &past)?, constant("values", values)?);
        let axis = constant("axis", &axis)?;
        let found = self.table(name, content, [keys.dtype(), index], [elements, past]);
        let found = self.extra(&format!("{name}/found"), found);
        let dtype = values.dtype();
        let default =
            typed_node("ExpandDims", vec![default, axis.clone()], &[("T", dtype), ("Tdim", DType::I32)]);
        let default = self.extra(&format!("{name}/default"), default);
        let mut rows = typed_node(
            "ConcatV2",
            vec![values_name, default, axis.clone()],
            &[("T", dtype), ("Tidx", DType::I32)],
        );
        put(&mut rows, "N", AttrKind::I(2));
        let rows = self.extra(&format!("{name}/rows"), rows);
        let types = [("Tparams", dtype), ("Tindices", index), ("Taxis", DType::I32)];
        Ok(typed_node("GatherV2", vec![rows, found, axis], &types))
    }
}

/// Returns whether TensorFlow's hash table can have the keys and values: vectors of one length.
fn is_table(keys: &Tensor, values: &Tensor) -> bool {
    keys.sizes().len() == 1 && keys.sizes() == values.sizes()
}
