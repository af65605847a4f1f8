//! Exports an op that looks elements up as TensorFlow's nodes on a table: one makes the table, one fills it, and one
//! reads it after it has been filled.

use shapeflow_shape_fns::DType;

use super::super::proto::NodeDef;
use super::{Exporter, constant_def};
use crate::error::Result;
use crate::graph::Node;
use crate::tensor::Tensor;

impl Exporter<'_> {
    /// Exports a node that looks elements up in a table of constants. Returns `None` for any other node, and if the
    /// keys and the values are not two vectors of one length.
    pub(super) fn table_lookup(&mut self, node: &Node, name: &str) -> Result<Option<NodeDef>> {
        let data = self.data;
        let (Some(elements), Some(default)) = (node.operands.first(), node.operands.last()) else {
            return Ok(None);
        };
        let operands =
            node.op.table_operands().map(|positions| positions.map(|position| node.operands[position]));
        let table = match operands {
            Some(operands) => {
                let constant =
                    |operand: usize| data.constants.get(&data.values[operands[operand].index()].node);
                constant(0).zip(constant(1)).map(|(keys, values)| [keys, values])
            }
            None => node.op.held_table(),
        };
        let Some([keys, values]) = table.filter(|[keys, values]| is_table(keys, values)) else {
            return Ok(None);
        };
        let types = [keys.dtype(), values.dtype()];
        let inputs = match operands {
            Some(operands) => operands.map(|operand| self.tensor_name(operand)),
            None => [
                self.extra(&format!("{name}/keys"), constant_def("", keys)?),
                self.extra(&format!("{name}/values"), constant_def("", values)?),
            ],
        };
        let named = |names: [&'static str; 2]| -> [(&'static str, DType); 2] {
            [(names[0], types[0]), (names[1], types[1])]
        };
        let table = self.typed_node(name, "HashTableV2", Vec::new(), &named(["key_dtype", "value_dtype"]));
        let table = self.extra(&format!("{name}/table"), table);
        let [keys, values] = inputs;
        let filled = self.typed_node(
            name,
            "InitializeTableV2",
            vec![table.clone(), keys, values],
            &named(["Tkey", "Tval"]),
        );
        let filled = self.extra(&format!("{name}/filled"), filled);
        let inputs =
            vec![table, self.tensor_name(*elements), self.tensor_name(*default), format!("^{filled}")];
        Ok(Some(self.typed_node(name, "LookupTableFindV2", inputs, &named(["Tin", "Tout"]))))
    }
}

/// Returns whether TensorFlow's hash table can have the keys and values: vectors of one length.
fn is_table(keys: &Tensor, values: &Tensor) -> bool {
    keys.sizes().len() == 1 && keys.sizes() == values.sizes()
}
