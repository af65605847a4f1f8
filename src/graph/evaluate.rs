//! `evaluate`: one node on tensors, by its shape function and the expression interpreter.
//!
//! This is the oracle that generated kernels are held against, and what folds constants.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};

use shapeflow_shape_fns::{Attrs, DType, Dim, PartialElements, TensorShape};
use smallvec::SmallVec;

use super::builder::panicked;
use super::{CONSTANT, Inner, Node, NodeIx, ValueIx, fold};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Axis, Env, Evaluator, Expr, Fault, Program, Scalar, scalar_dtype};
use crate::op::{Body, HostCx, HostOutput, OpRef, Operand, OutputAllocator};
use crate::tensor::{Tensor, TensorView};

/// An operand of known sizes, whose elements may be known.
pub(crate) struct SizedOperand<'a> {
    pub dtype: DType,
    pub sizes: &'a [usize],
    pub elements: Option<Box<PartialElements>>,
}

/// A graph of one node on operands of known sizes: what its shape function says of them.
///
/// Attributes must not hold symbols.
pub(crate) fn infer_sizes<'a>(
    op: &OpRef,
    given: u32,
    attrs: &Attrs,
    operands: impl IntoIterator<Item = SizedOperand<'a>>,
) -> Result<(Inner, Vec<ValueIx>)> {
    let location = Location::caller();
    let mut inner = Inner::default();
    let mut values = SmallVec::new();
    for operand in operands {
        let node = Node {
            op: OpRef::from(&CONSTANT),
            operands: SmallVec::new(),
            given: 0,
            first_output: ValueIx(0),
            outputs: 1,
            extra: None,
            location,
            scope: 0,
        };
        values.push(inner.push(node, [(operand.dtype, shape_of(operand.sizes), operand.elements)]));
    }
    let outputs: Vec<ValueIx> = inner
        .add(op, values, given, attrs, None, location)
        .map_err(|error| {
            // What a shape function refuses of sizes is what it had to accept of partial shapes.
            let error = error.with_phase(Phase::Run);
            if error.kind() == ErrorKind::Shape { error.with_kind(ErrorKind::Guard) } else { error }
        })?
        .collect();
    Ok((inner, outputs))
}

/// The outputs of `op` for concrete operands. Attributes must not hold symbols.
pub(crate) fn evaluate(
    op: &OpRef,
    given: u32,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
) -> Result<Vec<Tensor>> {
    evaluate_with(op, given, attrs, operands, &|_| false)
}

/// As [`evaluate`], with memory from `allocator` for the outputs of host kernels.
pub(crate) fn evaluate_into(
    op: &OpRef,
    given: u32,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    evaluate_node(op, given, attrs, operands, &|_| false, allocator)
}

/// As [`evaluate`], where the body may look into the operands for which `is_constant` holds: an expansion may be
/// another for a constant scalar.
pub(crate) fn evaluate_with(
    op: &OpRef,
    given: u32,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    is_constant: &dyn Fn(usize) -> bool,
) -> Result<Vec<Tensor>> {
    let made = evaluate_node(op, given, attrs, operands, is_constant, OutputAllocator::default())?;
    Ok(made
        .into_iter()
        .filter_map(|made| match made {
            HostOutput::Tensor(tensor) => Some(tensor),
            HostOutput::Borrowed => None,
        })
        .collect())
}

fn evaluate_node(
    op: &OpRef,
    given: u32,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    is_constant: &dyn Fn(usize) -> bool,
    allocator: OutputAllocator<'_>,
) -> Result<Vec<HostOutput>> {
    let sized = |is_known: &dyn Fn(usize) -> bool| {
        let operands = operands.iter().enumerate().map(|(number, view)| SizedOperand {
            dtype: view.dtype(),
            sizes: view.sizes(),
            elements: if is_known(number) { fold::elements_of(view) } else { None },
        });
        infer_sizes(op, given, attrs, operands)
    };
    let (mut inner, outputs) = sized(&|_| true).map_err(|error| {
        // Shapes that fit whatever the data are: some element is outside its axis.
        let places: SmallVec<[usize; 4]> = (0..32).filter(|place| given & (1 << place) != 0).collect();
        let is_parameter = |number: usize| {
            let declared = places.get(number).and_then(|&place| op.operand_list()?.get(place));
            matches!(declared, Some(Operand::Size(_) | Operand::Structure(_)))
        };
        let fits = error.kind() == ErrorKind::Guard && sized(&is_parameter).is_ok();
        if fits { error.with_kind(ErrorKind::Index) } else { error }
    })?;
    for (number, view) in operands.iter().enumerate().filter(|(number, _)| is_constant(*number)) {
        inner.constants.insert(NodeIx(number as u32), view.to_tensor()?);
    }
    let node = inner.values[outputs[0].at()].node;
    match &op.body {
        Body::Host(run) => run_host(op, attrs, operands, &inner, &outputs, allocator, &mut |cx| run(cx)),
        Body::HostWith(kernel) => {
            run_host(op, attrs, operands, &inner, &outputs, allocator, &mut |cx| kernel.run(cx))
        }
        _ => (0..outputs.len())
            .map(|output| {
                let template = inner.template(node, output)?;
                // Without scalars every element would be read as zero.
                let mut dtypes = template.order.iter().map(Expr::dtype);
                if let Some(dtype) = dtypes.find(|dtype| scalar_dtype(*dtype).is_none()) {
                    return Err(uncomputed(dtype, Phase::Run));
                }
                let info = &inner.values[outputs[output].at()];
                let Some(sizes) = info.shape.as_known() else {
                    let message = format!("sizes must be known when the op runs, got shape {}", info.shape);
                    return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
                };
                let mut result = Tensor::zeros(info.dtype, &sizes)?;
                let axes: Vec<Axis> = (0..template.rank as u32).map(Axis).collect();
                let program = Program::new(template.root(), &axes);
                fill(&mut result, &program, operands).map_err(|fault| fault_error(&fault))?;
                Ok(HostOutput::Tensor(result))
            })
            .collect(),
    }
}

/// Computes every element of `result`.
fn fill(result: &mut Tensor, program: &Program, views: &[TensorView<'_>]) -> Result<(), Fault> {
    let scalar = |source: u32, bytes: Option<&[u8]>| {
        let dtype = views.get(source as usize).map_or(DType::F32, |view| view.dtype());
        // A load that a body places outside its operand reads a zero, as nothing else is there.
        Ok(bytes.and_then(|bytes| Scalar::from_bytes(dtype, bytes)).unwrap_or_else(|| Scalar::zero(dtype)))
    };
    let load = |source: u32, index: &[i64]| {
        scalar(source, views.get(source as usize).and_then(|view| view.element_at(index)))
    };
    let load_flat = |source: u32, at: i64| {
        let view = views.get(source as usize);
        scalar(source, usize::try_from(at).ok().and_then(|at| view.and_then(|view| view.element(at))))
    };
    let dim = |dim: &Dim| dim.as_known().unwrap_or(0);
    let env = Env { load: &load, load_flat: &load_flat, dim: &dim, fused: crate::expr::fused_mul_add() };
    let mut evaluator = Evaluator::new(program, &env);
    let sizes: SmallVec<[usize; 6]> = result.sizes().iter().copied().collect();
    let count = result.len();
    let Ok(mut out) = result.view_mut() else { return Ok(()) };
    let mut position: SmallVec<[i64; 6]> = SmallVec::from_elem(0, sizes.len());
    for linear in 0..count {
        let scalar = evaluator.at(&position)?;
        if let Some(bytes) = out.element_mut(linear) {
            scalar.write_bytes(bytes);
        }
        for axis in (0..sizes.len()).rev() {
            position[axis] += 1;
            if (position[axis] as usize) < sizes[axis] {
                break;
            }
            position[axis] = 0;
        }
    }
    Ok(())
}

/// The error about elements that no body computes.
pub(crate) fn uncomputed(dtype: DType, phase: Phase) -> Error {
    let message = format!("no kernel computes {dtype}: kernels take bool, integers and floats");
    Error::new(ErrorKind::Compile, phase, message)
}

/// The message of a failed check.
pub(crate) fn fault_error(fault: &Fault) -> Error {
    match fault {
        Fault::Index { index, limit, axis } => Error::new(
            ErrorKind::Index,
            Phase::Run,
            format!("an index into axis {axis} must lie in [0, {limit}), got {index}"),
        ),
        Fault::DivideByZero => Error::new(
            ErrorKind::DivideByZero,
            Phase::Run,
            "an integer must not be divided by zero".to_string(),
        ),
    }
}

fn run_host(
    op: &OpRef,
    attrs: &Attrs,
    operands: &[TensorView<'_>],
    inner: &Inner,
    outputs: &[ValueIx],
    allocator: OutputAllocator<'_>,
    run: &mut dyn FnMut(&mut HostCx<'_>) -> Result<()>,
) -> Result<Vec<HostOutput>> {
    let promised: Vec<_> = outputs.iter().map(|value| &inner.values[value.at()]).collect();
    let mut cx = HostCx::new(operands, attrs, promised.iter().map(|info| info.dtype), allocator);
    catch_unwind(AssertUnwindSafe(|| run(&mut cx)))
        .unwrap_or_else(|panic| Err(panicked(op.name(), "kernel", &*panic)))
        .map_err(|error| error.with_phase(Phase::Run))?;
    cx.finish()
        .zip(promised)
        .enumerate()
        .map(|(number, (made, info))| {
            let (made, sizes) = made.ok_or_else(|| {
                Error::new(ErrorKind::Custom, Phase::Run, format!("the kernel must make output {number}"))
            })?;
            let shape = shape_of(&sizes);
            if !info.shape.is_compatible_with(&shape) {
                let message =
                    format!("output {number} must have shape {}, the kernel made {shape}", info.shape);
                return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
            }
            Ok(made)
        })
        .collect()
}

/// The shape that has these sizes.
pub(crate) fn shape_of(sizes: &[usize]) -> TensorShape {
    TensorShape::new(sizes.iter().map(|&size| Dim::known(size as i64)))
}
