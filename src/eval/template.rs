//! `Template`: the body of an op as an expression over elements of the operands.

use shapeflow_shape_fns::{Attr, Attrs, DType, Dim, DimTable, TensorShape, counted};
use smallvec::SmallVec;

use super::Call;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{self, Axis, Expr, ExprKind, Index, LowerCx, ReduceOp, Scalar, keep_checks};
use crate::op::caught;

/// One output of a call as an expression over its operands.
///
/// [`Axis`] `k` is axis `k` of the output; axes of reductions follow. The source of a load is an operand's number.
pub(crate) struct Template {
    /// The nodes of the expression: children before parents, the root last.
    pub order: Vec<Expr>,
    /// Rank of the output.
    pub rank: usize,
}

/// A call and the result of its inference. The context of the body takes its answers from them.
pub(crate) struct TypedCall<'a> {
    pub call: Call<'a>,
    /// Dtype and shape of each output.
    pub outputs: SmallVec<[(DType, &'a TensorShape); 2]>,
    /// Parameters that the shape function has normalized for the body.
    pub derived: &'a [(&'static str, Vec<Dim>)],
    /// What is known of the dimensions in these shapes.
    pub table: &'a DimTable,
    /// Returns the value of an operand, given by number, if the operand is a constant scalar.
    pub scalar: &'a dyn Fn(usize) -> Option<Scalar>,
}

impl Template {
    pub fn root(&self) -> &Expr {
        self.order.last().expect("an expression has a root")
    }

    /// Lowers output `output` of a call whose op has a compute body or is a contraction.
    ///
    /// # Errors
    /// The op has no such body, or the body panics, requests an operand, index or parameter that does not exist, or
    /// gives another dtype than the dtype rule.
    pub fn new(call: &TypedCall<'_>, output: usize) -> Result<Template> {
        let op = call.call.op;
        let Some(lower) = op.lower_fn() else {
            return Err(Error::new(ErrorKind::Compile, Phase::Compile, "the op has no compute body"));
        };
        let (promised, shape) = call.outputs[output];
        let is_ranked = call.call.operands.iter().all(|operand| operand.shape.rank().is_some());
        let Some(rank) = shape.rank().filter(|_| is_ranked) else {
            let message = "the ranks of the operands and results of a body must be known";
            return Err(Error::new(ErrorKind::Compile, Phase::Compile, message));
        };
        let mut cx = CallCx { typed: call, next_axis: rank as u32, checks: Vec::new(), error: None };
        let axes: SmallVec<[Index; 4]> = (0..rank as u32).map(|axis| Index::axis(Axis(axis))).collect();
        let lowered = caught(op.name(), "body", || Ok(lower(&mut cx, output, &axes)));
        if let Some(error) = cx.error {
            return Err(error);
        }
        let root = keep_checks(lowered?, &cx.checks, &mut Expr::new);
        let order: Vec<Expr> = expr::post_order([&root]).into_iter().cloned().collect();
        if let Err(message) = expr::verify(&order) {
            let has_strings = call.call.operands.iter().any(|operand| operand.dtype == DType::String);
            let help = match has_strings {
                true => format!(
                    "a compute body can move strings, but not compute with them: make a host op, or refuse strings in \
                     the dtype rule of {}",
                    op.name()
                ),
                false => format!(
                    "cast in the body of {0}, or refuse these dtypes in the dtype rule of {0}",
                    op.name()
                ),
            };
            let message = format!("in its body, {message}");
            return Err(Error::new(ErrorKind::DType, Phase::Compile, message).with_help(help));
        }
        if root.dtype() != promised {
            let message =
                format!("the body must give {promised} as the dtype rule says, got {}", root.dtype());
            return Err(Error::new(ErrorKind::DType, Phase::Compile, message));
        }
        Ok(Template { order, rank })
    }
}

/// The context of a call's body. The context keeps the error of the body's first invalid request, and answers every
/// invalid request with zeros.
struct CallCx<'a, 'c> {
    typed: &'a TypedCall<'c>,
    next_axis: u32,
    /// The checks of indices that the body has made. A check inside a reduction is here only while the body of this
    /// reduction is made.
    checks: Vec<Expr>,
    error: Option<Error>,
}

impl CallCx<'_, '_> {
    fn fail(&mut self, message: String) {
        self.error.get_or_insert_with(|| Error::new(ErrorKind::Compile, Phase::Compile, message));
    }

    fn dims_of(&self, shape: &TensorShape) -> Vec<Dim> {
        let dims = shape.dims().expect("`Template::new` requires known ranks");
        dims.iter().map(|dim| self.typed.table.resolve(dim)).collect()
    }

    /// Returns whether operand `operand` exists. If not, records an error.
    fn has_operand(&mut self, operand: usize) -> bool {
        let count = self.operands();
        if operand >= count {
            self.fail(format!(
                "the body must read one of the operands, numbered from 0, got operand {operand} of {}",
                counted(count, "operand")
            ));
        }
        operand < count
    }
}

impl LowerCx for CallCx<'_, '_> {
    fn operands(&self) -> usize {
        self.typed.call.operands.len()
    }

    fn dtype(&self, operand: usize) -> DType {
        self.typed.call.operands.get(operand).map_or(DType::F32, |info| info.dtype)
    }

    fn dims(&self, operand: usize) -> Vec<Dim> {
        self.typed.call.operands.get(operand).map(|info| self.dims_of(info.shape)).unwrap_or_default()
    }

    fn output_dtype(&self, output: usize) -> DType {
        self.typed.outputs[output].0
    }

    fn output_dims(&self, output: usize) -> Vec<Dim> {
        self.dims_of(self.typed.outputs[output].1)
    }

    fn attrs(&self) -> &Attrs {
        self.typed.call.attrs
    }

    fn ints(&mut self, name: &str) -> Vec<i64> {
        let call = &self.typed.call;
        let elements = match call.attrs.get(name) {
            Some(Attr::Elements(elements)) => elements.as_known(),
            Some(Attr::Ints(ints)) => Some(ints.to_vec()),
            Some(Attr::Int(int)) => Some(vec![*int]),
            Some(_) => None,
            None => {
                let operand = call.op.names_of(call.given_operands).iter().position(|other| *other == name);
                operand.and_then(|operand| call.operands.get(operand)?.value?.as_known())
            }
        };
        elements.unwrap_or_else(|| {
            self.fail(format!("the body needs parameter {name} as known integers"));
            Vec::new()
        })
    }

    fn derived(&mut self, name: &str) -> Vec<Dim> {
        match self.typed.derived.iter().find(|(other, _)| *other == name) {
            Some((_, dims)) => dims.iter().map(|dim| self.typed.table.resolve(dim)).collect(),
            None => {
                self.fail(format!("the shape function has not derived parameter {name}"));
                Vec::new()
            }
        }
    }

    fn operand(&mut self, operand: usize, index: &[Index]) -> Expr {
        if !self.has_operand(operand) {
            return Expr::constant(Scalar::zero(DType::F32));
        }
        let info = &self.typed.call.operands[operand];
        if info.shape.rank() != Some(index.len()) {
            let shape = self.typed.table.resolve_shape(info.shape);
            self.fail(format!(
                "the body reads operand {operand} of shape {shape} at {}",
                counted(index.len(), "index")
            ));
            return Expr::constant(Scalar::zero(self.dtype(operand)));
        }
        if let Some(scalar) = (self.typed.scalar)(operand) {
            return Expr::stored(info.dtype, scalar);
        }
        let load = ExprKind::Load { source: operand as u32, index: index.iter().cloned().collect() };
        Expr::new(info.dtype, load)
    }

    fn operand_flat(&mut self, operand: usize, position: Index) -> Expr {
        if !self.has_operand(operand) {
            return Expr::constant(Scalar::zero(DType::F32));
        }
        let load = ExprKind::LoadFlat { source: operand as u32, position: Box::new(position) };
        Expr::new(self.dtype(operand), load)
    }

    fn reduce(
        &mut self,
        op: ReduceOp,
        extents: &[Dim],
        body: &mut dyn FnMut(&mut dyn LowerCx, &[Index]) -> Expr,
    ) -> Expr {
        // Loops of one element are left out. If all loops are such loops, the first one stays.
        let is_unit = |extent: &Dim| extent.as_known() == Some(1);
        let are_units = extents.iter().all(is_unit);
        let mut axes: Vec<(Axis, Dim)> = Vec::with_capacity(extents.len());
        let mut indices: SmallVec<[Index; 4]> = SmallVec::with_capacity(extents.len());
        for (position, extent) in extents.iter().enumerate() {
            if !is_unit(extent) || are_units && position == 0 {
                let axis = Axis(self.next_axis + axes.len() as u32);
                axes.push((axis, extent.clone()));
                indices.push(Index::axis(axis));
            } else {
                indices.push(Index::from(0));
            }
        }
        self.next_axis += axes.len() as u32;
        let outer_checks = std::mem::take(&mut self.checks);
        let element = body(self, &indices);
        let checks = std::mem::replace(&mut self.checks, outer_checks);
        let element = keep_checks(element, &checks, &mut Expr::new);
        if axes.is_empty() { element } else { element.reduce(op, axes.into()) }
    }

    fn checked_index(&mut self, value: Expr, limit: Dim, axis: usize) -> Index {
        if !matches!(value.dtype(), DType::I32 | DType::I64) {
            self.fail(format!("an index must be i32 or i64, got {}", value.dtype()));
            return Index::from(0);
        }
        let check = Expr::new(DType::I64, ExprKind::CheckIndex { value, limit, axis: axis as u32 });
        self.checks.push(check.clone());
        Index::value(check)
    }
}
