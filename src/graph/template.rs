//! `Template`: an op's body lowered once over opaque operands.

use shapeflow_shape_fns::{Attr, Attrs, DType, Dim};
use smallvec::SmallVec;

use super::builder::panicked;
use super::{GraphData, Node, NodeIx, ValueIx};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{self, Axis, Expr, ExprKind, FoldOp, Index, LowerCx, Scalar};

/// One output of a node as an expression over its operands: axis `k` of the output is [`Axis`] `k`, axes of
/// folds follow, and the source of a load is the operand's number.
pub(crate) struct Template {
    /// The nodes of the expression, parts first and the root last.
    pub order: Vec<Expr>,
    /// Rank of the output.
    pub rank: usize,
}

impl Template {
    pub fn root(&self) -> &Expr {
        self.order.last().expect("an expression has a root")
    }
}

impl GraphData {
    /// Lowers output `output` of a compute node or a contraction.
    pub(crate) fn template(&self, index: NodeIx, output: usize) -> Result<Template> {
        let node = &self.nodes[index.at()];
        let refuse = |error: Error| {
            Err(error
                .with_phase(Phase::Compile)
                .with_op(node.op.name(), self.call_text(&node.op, &node.operands, node.attrs()))
                .with_node(self.node_name(index))
                .at(node.location))
        };
        let Some(lower) = node.op.lower_fn() else {
            return refuse(Error::new(ErrorKind::Compile, Phase::Compile, "the op has no compute body"));
        };
        let mut cx = NodeCx { data: self, node, next_axis: 0, error: None };
        let rank = cx.output_dims(output).len();
        cx.next_axis = rank as u32;
        let axes: SmallVec<[Index; 4]> = (0..rank as u32).map(|axis| Index::axis(Axis(axis))).collect();
        let lowered =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lower(&mut cx, output, &axes)));
        let root = match lowered {
            Ok(root) => root,
            Err(panic) => {
                return refuse(cx.error.unwrap_or_else(|| panicked(node.op.name(), "body", &*panic)));
            }
        };
        if let Some(error) = cx.error {
            return refuse(error);
        }
        let order: Vec<Expr> = expr::post_order([&root]).into_iter().cloned().collect();
        if let Err(message) = expr::verify(&order) {
            return refuse(Error::new(ErrorKind::DType, Phase::Compile, message));
        }
        let promised = self.values[node.first_output.at() + output].dtype;
        if root.dtype() != promised {
            let message =
                format!("the body must give {promised} as the dtype rule says, got {}", root.dtype());
            return refuse(Error::new(ErrorKind::DType, Phase::Compile, message));
        }
        Ok(Template { order, rank })
    }
}

struct NodeCx<'a> {
    data: &'a GraphData,
    node: &'a Node,
    next_axis: u32,
    error: Option<Error>,
}

impl NodeCx<'_> {
    fn fail(&mut self, message: String) {
        self.error.get_or_insert_with(|| Error::new(ErrorKind::Compile, Phase::Compile, message));
    }

    fn value(&self, operand: usize) -> Option<ValueIx> {
        self.node.operands.get(operand).copied()
    }

    fn dims_of(&self, value: ValueIx) -> Vec<Dim> {
        let shape = &self.data.values[value.at()].shape;
        shape.dims().unwrap_or_default().iter().map(|dim| self.data.table.resolve(dim)).collect()
    }
}

impl LowerCx for NodeCx<'_> {
    fn operands(&self) -> usize {
        self.node.operands.len()
    }

    fn dtype(&self, operand: usize) -> DType {
        self.value(operand).map_or(DType::F32, |value| self.data.values[value.at()].dtype)
    }

    fn dims(&self, operand: usize) -> Vec<Dim> {
        self.value(operand).map(|value| self.dims_of(value)).unwrap_or_default()
    }

    fn output_dtype(&self, output: usize) -> DType {
        self.data.values[self.node.first_output.at() + output].dtype
    }

    fn output_dims(&self, output: usize) -> Vec<Dim> {
        self.dims_of(ValueIx(self.node.first_output.0 + output as u32))
    }

    fn attrs(&self) -> &Attrs {
        self.node.attrs()
    }

    fn ints(&mut self, name: &str) -> Vec<i64> {
        let elements = match self.node.attrs().get(name) {
            Some(Attr::Elements(elements)) => elements.as_known(),
            Some(Attr::Ints(ints)) => Some(ints.to_vec()),
            Some(Attr::Int(int)) => Some(vec![*int]),
            Some(_) => None,
            None => self
                .node
                .operand_named(name)
                .and_then(|value| self.data.values[value.at()].elements.as_ref())
                .and_then(|elements| elements.as_known()),
        };
        elements.unwrap_or_else(|| {
            self.fail(format!("the body needs parameter {name} as known integers"));
            Vec::new()
        })
    }

    fn derived(&mut self, name: &str) -> Vec<Dim> {
        let found =
            self.node.derived().iter().find(|(other, _)| *other == name).map(|(_, dims)| dims.clone());
        match found {
            Some(dims) => dims.iter().map(|dim| self.data.table.resolve(dim)).collect(),
            None => {
                self.fail(format!("the shape function has not derived parameter {name}"));
                Vec::new()
            }
        }
    }

    fn operand(&mut self, operand: usize, index: &[Index]) -> Expr {
        let Some(value) = self.value(operand) else {
            self.fail(format!(
                "the body reads operand {operand}, but there are {}",
                self.node.operands.len()
            ));
            return Expr::constant(Scalar::zero(DType::F32));
        };
        let info = &self.data.values[value.at()];
        let dtype = info.dtype;
        if info.shape.rank() != Some(index.len()) {
            let shape = self.data.table.resolve_shape(&info.shape);
            self.fail(format!(
                "the body reads operand {operand} of shape {shape} at {} indices",
                index.len()
            ));
            return Expr::constant(Scalar::zero(dtype));
        }
        if let Some(tensor) = self.data.constants.get(&info.node)
            && tensor.sizes().is_empty()
            && let Some(scalar) = tensor.view().element(0).and_then(|bytes| Scalar::from_bytes(dtype, bytes))
        {
            return Expr::constant(scalar);
        }
        Expr::new(dtype, ExprKind::Load { source: operand as u32, index: index.iter().cloned().collect() })
    }

    fn operand_flat(&mut self, operand: usize, position: Index) -> Expr {
        if self.value(operand).is_none() {
            self.fail(format!(
                "the body reads operand {operand}, but there are {}",
                self.node.operands.len()
            ));
            return Expr::constant(Scalar::zero(DType::F32));
        }
        Expr::new(
            self.dtype(operand),
            ExprKind::LoadFlat { source: operand as u32, position: Box::new(position) },
        )
    }

    fn fold(
        &mut self,
        op: FoldOp,
        extents: &[Dim],
        body: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
    ) -> Expr {
        let axes: Box<[(Axis, Dim)]> = extents
            .iter()
            .enumerate()
            .map(|(i, extent)| (Axis(self.next_axis + i as u32), extent.clone()))
            .collect();
        self.next_axis += extents.len() as u32;
        let indices: SmallVec<[Index; 4]> = axes.iter().map(|(axis, _)| Index::axis(*axis)).collect();
        let element = body(self, &indices);
        if axes.is_empty() { element } else { element.fold(op, axes) }
    }

    fn checked_index(&mut self, value: Expr, limit: Dim, axis: usize) -> Index {
        if !matches!(value.dtype(), DType::I32 | DType::I64) {
            self.fail(format!("an index must be i32 or i64, got {}", value.dtype()));
            return Index::from(0);
        }
        Index::value(Expr::new(DType::I64, ExprKind::CheckIndex { value, limit, axis: axis as u32 }))
    }
}
