//! Adding a node: dtypes and shapes are inferred, and a refused call leaves nothing.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use shapeflow_shape_fns::{
    Attrs, DType, Dim, InferenceContext, InferenceResult, Mark, OperandInfo, PartialElements, ShapeError,
    ShapeFn, SymbolKind,
};
use smallvec::SmallVec;

use super::builder::panicked;
use super::{Extra, GraphData, Node, NodeIx, ValueIx, fold};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{Body, OpRef, Operand};

/// How much of a graph existed, to take back what a refused call has added.
pub(super) struct Checkpoint {
    nodes: usize,
    values: usize,
    errors: usize,
    mark: Mark,
}

impl GraphData {
    pub(super) fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            nodes: self.nodes.len(),
            values: self.values.len(),
            errors: self.errors.len(),
            mark: self.table.begin(),
        }
    }

    pub(super) fn rollback(&mut self, to: Checkpoint) {
        for node in to.nodes..self.nodes.len() {
            self.constants.remove(&NodeIx(node as u32));
        }
        self.nodes.truncate(to.nodes);
        self.values.truncate(to.values);
        self.errors.truncate(to.errors);
        self.table.rollback(to.mark);
    }

    /// Infers and adds one node; on error nothing has changed.
    pub(crate) fn add(
        &mut self,
        op: &OpRef,
        operands: SmallVec<[ValueIx; 2]>,
        given: u32,
        attrs: &Attrs,
        name: Option<String>,
        location: &'static Location<'static>,
    ) -> Result<impl Iterator<Item = ValueIx> + use<>> {
        let op = op.clone();
        if let Some(list) = op.operand_list() {
            for (place, operand) in list.iter().enumerate() {
                if matches!(operand, Operand::Data(_)) && given & (1 << place) == 0 {
                    let message = format!("operand {} must be given", operand.name());
                    return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
                }
            }
        }
        let Some(shape_fn) = op.shape_function() else {
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, "the op needs a shape function"));
        };
        let dtypes: SmallVec<[DType; 4]> =
            operands.iter().map(|value| self.values[value.at()].dtype).collect();
        let count = || (op.infer_dtypes(&dtypes, attrs), op.output_count(attrs, operands.len()));
        let (output_dtypes, outputs) = catch_unwind(AssertUnwindSafe(count))
            .map_err(|panic| panicked(op.name(), "dtype rule", &*panic))?;
        let output_dtypes = output_dtypes?;
        if output_dtypes.len() != outputs {
            let message = format!("the dtype rule must give {outputs} dtypes, got {}", output_dtypes.len());
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }

        let mark = self.table.begin();
        self.table.set_origin(self.nodes.len() as u32);
        let mut node = Node {
            op,
            operands,
            given,
            first_output: ValueIx(0),
            outputs: 0,
            extra: None,
            location,
            scope: self.scope,
        };
        let symbolised = self.symbolise_parameters(&node);
        match self.infer(&node, attrs, shape_fn, outputs) {
            Ok(result) => {
                self.table.commit(mark);
                if !attrs.is_empty() || result.derived().len() > 0 || name.is_some() {
                    let derived = result.derived().map(|(name, dims)| (name, dims.to_vec())).collect();
                    node.extra = Some(Box::new(Extra { attrs: attrs.clone(), derived, name }));
                }
                let outputs_known = output_dtypes
                    .into_iter()
                    .zip(result.into_outputs())
                    .map(|(dtype, (shape, elements))| (dtype, shape, elements.map(Box::new)));
                let first = self.push(node, outputs_known);
                Ok((first.0..first.0 + outputs as u32).map(ValueIx))
            }
            Err(error) => {
                self.table.rollback(mark);
                for value in symbolised {
                    self.values[value.at()].elements = None;
                }
                Err(error)
            }
        }
    }

    /// Gives the unknown elements of size operands symbols that a run binds, and folds parameters that
    /// depend on constants alone.
    fn symbolise_parameters(&mut self, node: &Node) -> SmallVec<[ValueIx; 2]> {
        let mut changed = SmallVec::new();
        if matches!(node.op.body, Body::Absent) {
            for &value in &node.operands {
                if self.values[value.at()].elements.is_none() {
                    self.values[value.at()].elements = fold::constant_elements(self, value);
                }
            }
            return changed;
        }
        let Some(list) = node.op.operand_list() else { return changed };
        let given =
            list.iter().enumerate().filter(|(i, _)| node.given & (1 << i) != 0).map(|(_, operand)| operand);
        for (operand, &value) in given.zip(&node.operands) {
            if matches!(operand, Operand::Data(_) | Operand::Variadic(_)) {
                continue;
            }
            if self.values[value.at()].elements.is_none()
                && let Some(elements) = fold::constant_elements(self, value)
            {
                self.values[value.at()].elements = Some(elements);
                continue;
            }
            let info = &self.values[value.at()];
            if !matches!(operand, Operand::Size(_)) || info.elements.is_some() || !info.dtype.is_integer() {
                continue;
            }
            let Some(sizes) = self.table.resolve_shape(&info.shape).as_known() else { continue };
            let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
            let Some(count) = count.filter(|count| *count <= MAX_SYMBOLIC_ELEMENTS) else { continue };
            let elements: Vec<Dim> = (0..count).map(|_| self.table.fresh(SymbolKind::Integer)).collect();
            let Ok(elements) = PartialElements::with_sizes(&sizes, elements) else { continue };
            self.values[value.at()].elements = Some(Box::new(elements));
            changed.push(value);
        }
        changed
    }

    fn infer(
        &mut self,
        node: &Node,
        attrs: &Attrs,
        shape_fn: ShapeFn,
        outputs: usize,
    ) -> Result<InferenceResult> {
        let names = node.operand_names();
        let values = &self.values;
        let operands: SmallVec<[OperandInfo<'_>; 4]> = node
            .operands
            .iter()
            .map(|value| {
                let info = &values[value.at()];
                OperandInfo { shape: &info.shape, dtype: info.dtype, value: info.elements.as_deref() }
            })
            .collect();
        let table = &mut self.table;
        let mut cx = InferenceContext::new(&names, &operands, attrs, table, outputs);
        catch_unwind(AssertUnwindSafe(|| shape_fn(&mut cx)))
            .unwrap_or_else(|panic| {
                Err(ShapeError::new(
                    panicked(node.op.name(), "shape function", &*panic).message().to_string(),
                ))
            })
            .and_then(|()| cx.finish())
            .map_err(Error::from)
    }
}

/// Size operands longer than this keep unknown elements.
const MAX_SYMBOLIC_ELEMENTS: usize = 64;
