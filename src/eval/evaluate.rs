//! `evaluate`: runs an op on tensors, by its shape function and the expression interpreter or its host kernel.

use shapeflow_shape_fns::{Attrs, DType, Dim, DimTable, OperandInfo, PartialElements, TensorShape};
use smallvec::SmallVec;

use super::handles::{HandleTable, handle_dtype, needed_handles};
use super::host::{Run, run_host};
use super::interpret::interpret;
use super::string_equality::compare_strings;
use super::{Call, Inference, Template, TypedCall, elements_of, shape_of};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::Scalar;
use crate::op::{Body, Cancel, HostOutput, OpDef, OperandMask, OutputAllocator};
use crate::tensor::{Tensor, TensorView};

/// An operand of known sizes. The elements may be known too.
pub(crate) struct SizedOperand<'a> {
    pub dtype: DType,
    pub sizes: &'a [usize],
    pub elements: Option<Box<PartialElements>>,
}

/// Dtype, shape and elements of each operand.
type KnownOperands = SmallVec<[(DType, TensorShape, Option<Box<PartialElements>>); 4]>;

fn infos(operands: &KnownOperands) -> SmallVec<[OperandInfo<'_>; 4]> {
    operands
        .iter()
        .map(|(dtype, shape, elements)| OperandInfo { shape, dtype: *dtype, value: elements.as_deref() })
        .collect()
}

/// The results of a call's shape function for operands of known sizes.
pub(crate) struct SizedInference {
    operands: KnownOperands,
    /// Dtype and shape of each output. A dimension that depends on data is unknown.
    pub outputs: SmallVec<[(DType, TensorShape); 2]>,
    /// Parameters that the shape function has normalized for the body.
    pub derived: Vec<(&'static str, Vec<Dim>)>,
    table: DimTable,
}

/// Checks the shape that the shape function gives for an output in a run, before the output is computed.
pub(super) type CheckShape<'a> = dyn Fn(usize, &TensorShape) -> Result<()> + 'a;

/// Infers the outputs of a call from known sizes. The attributes may hold symbols of the graph that have no value yet.
///
/// # Errors
/// `Guard`: the shape function refuses the sizes, although it accepted the partial shapes when the graph was built.
pub(crate) fn infer_sizes<'a>(
    op: &OpDef,
    given_operands: OperandMask,
    attrs: &Attrs,
    operands: impl IntoIterator<Item = SizedOperand<'a>>,
) -> Result<SizedInference> {
    let operands: KnownOperands = operands
        .into_iter()
        .map(|operand| (operand.dtype, shape_of(operand.sizes), operand.elements))
        .collect();
    let mut table = DimTable::of_run();
    let inferred = Call { op, given_operands, attrs, operands: infos(&operands) }.infer(&mut table);
    let Inference { dtypes, result } = inferred.map_err(|error| {
        let error = error.with_phase(Phase::Run);
        if error.kind() == ErrorKind::Shape { error.with_kind(ErrorKind::Guard) } else { error }
    })?;
    let derived = result.derived().map(|(name, dims)| (name, dims.to_vec())).collect();
    let shapes = result.into_outputs().map(|(shape, _)| shape);
    let outputs = dtypes.into_iter().zip(shapes).collect();
    Ok(SizedInference { operands, outputs, derived, table })
}

/// Computes the outputs of `op` for tensors. The attributes may hold symbols of the graph that have no value yet.
pub(crate) fn evaluate(
    op: &OpDef,
    given_operands: OperandMask,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
) -> Result<Vec<Tensor>> {
    evaluate_with(op, given_operands, attrs, operands, &|_| false, &|_, _| Ok(()), Cancel::default())
}

/// Computes the outputs as [`evaluate`] does. A host kernel stores its outputs in the memory of `allocator`.
pub(crate) fn evaluate_into(
    op: &OpDef,
    given_operands: OperandMask,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    check: &CheckShape<'_>,
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    evaluate_call(op, given_operands, attrs, operands, &|_| false, check, allocator)
}

/// Computes the outputs as [`evaluate`] does. The body may read the scalar operands for which `is_constant` is true,
/// and specialize its expression to their values. `cancel` is the token of the run, for host kernels.
pub(crate) fn evaluate_with(
    op: &OpDef,
    given_operands: OperandMask,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    is_constant: &dyn Fn(usize) -> bool,
    check: &CheckShape<'_>,
    cancel: Cancel<'_>,
) -> Result<Vec<Tensor>> {
    let allocator = OutputAllocator { cancel, ..OutputAllocator::default() };
    let made = evaluate_call(op, given_operands, attrs, operands, is_constant, check, allocator)?;
    let tensors = made.into_iter().map(|made| match made {
        HostOutput::Tensor(tensor) => tensor,
        HostOutput::Borrowed | HostOutput::SharesInput(_) => {
            unreachable!("the default allocator lends no memory")
        }
    });
    Ok(tensors.collect())
}

fn evaluate_call(
    op: &OpDef,
    given_operands: OperandMask,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    is_constant: &dyn Fn(usize) -> bool,
    check: &CheckShape<'_>,
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    // The shape function gets the elements of parameters only. The body or the host kernel checks the elements of data
    // operands.
    let is_parameter = |number: usize| {
        op.operands_of(given_operands).nth(number).is_some_and(|operand| operand.is_parameter())
    };
    let sized = operands.iter().enumerate().map(|(number, view)| SizedOperand {
        dtype: view.dtype(),
        sizes: view.sizes(),
        elements: if is_parameter(number) { elements_of(view) } else { None },
    });
    let inferred = infer_sizes(op, given_operands, attrs, sized)?;
    inferred.outputs.iter().enumerate().try_for_each(|(output, (_, shape))| check(output, shape))?;
    let promised: SmallVec<[(DType, &TensorShape); 2]> =
        inferred.outputs.iter().map(|(dtype, shape)| (*dtype, shape)).collect();
    let on_host =
        |run: Run<'_>, operands: &[TensorView<'_>], promised: &[(DType, &TensorShape)], allocator| {
            run_host(op.name(), run, attrs, operands, promised, allocator)
        };
    // A body that only moves or compares strings runs on handles, integers that stand for strings. `needed` says
    // which relations of the strings the handles must keep.
    let has_strings = operands.iter().any(|operand| operand.dtype() == DType::String);
    match (&op.body, op.string_handles().filter(|_| has_strings)) {
        (Body::Host(run), None) => return on_host(run, operands, &promised, allocator),
        (Body::HostWith(kernel), _) => return on_host(&|cx| kernel.run(cx), operands, &promised, allocator),
        (Body::Host(run), Some(needed)) => {
            let table = HandleTable::new(operands, needed)?;
            let handles: SmallVec<[(DType, &TensorShape); 2]> =
                promised.iter().map(|(dtype, shape)| (handle_dtype(*dtype), *shape)).collect();
            let made = on_host(run, &table.views(operands), &handles, allocator)?.into_iter().zip(&promised);
            return made.map(|(made, (dtype, _))| strings_of(&table, made, *dtype)).collect();
        }
        _ => {}
    }
    let scalar = |number: usize| {
        let view = &operands[number];
        let is_read = is_constant(number) && view.sizes().is_empty();
        view.element(0).filter(|_| is_read).and_then(|bytes| Scalar::from_bytes(view.dtype(), bytes))
    };
    let typed = TypedCall {
        call: Call { op, given_operands, attrs, operands: infos(&inferred.operands) },
        outputs: inferred.outputs.iter().map(|(dtype, shape)| (*dtype, shape)).collect(),
        derived: &inferred.derived,
        table: &inferred.table,
        scalar: &scalar,
    };
    let templates: SmallVec<[Template; 1]> =
        (0..promised.len()).map(|output| Template::new(&typed, output)).collect::<Result<_>>()?;
    if let ([template], [(_, shape)]) = (&templates[..], &promised[..])
        && has_strings
        && let Some(sizes) = shape.as_known()
        && let Some(equal) = compare_strings(template, &sizes, operands)?
    {
        return Ok(vec![HostOutput::Tensor(equal)]);
    }
    let needed = needed_handles(templates.iter().flat_map(|template| &template.order));
    let table = if has_strings { Some(HandleTable::new(operands, needed)?) } else { None };
    let handles = table.as_ref().map(|table| table.views(operands));
    let views = handles.as_deref().unwrap_or(operands);
    let made = promised.iter().zip(&templates).map(|((dtype, shape), template)| {
        let Some(sizes) = shape.as_known() else {
            let message = format!("sizes must be known when the op runs, got shape {shape}");
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        };
        if *dtype == DType::String && op.is_reinterpretation() {
            let strings = TensorView::from_strings(&sizes, operands[0].as_strings()?)?;
            return Ok(HostOutput::Tensor(strings.to_tensor()?));
        }
        let made = HostOutput::Tensor(interpret(template, handle_dtype(*dtype), &sizes, views)?);
        match &table {
            Some(table) => strings_of(table, made, *dtype),
            None => Ok(made),
        }
    });
    made.collect()
}

/// Replaces handles by strings in a result of `dtype`.
fn strings_of(table: &HandleTable<'_>, made: HostOutput, dtype: DType) -> Result<HostOutput> {
    match made {
        HostOutput::Tensor(handles) if dtype == DType::String => {
            Ok(HostOutput::Tensor(table.strings(&handles)?))
        }
        made => Ok(made),
    }
}
