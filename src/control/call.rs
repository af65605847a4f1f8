//! `Function`: a graph that several nodes run, compiled once.

use std::any::Any;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::{DType, Dim, IntoDim, Symbol, TensorShape, Unknown};

use super::branch::compile_options;
use super::node::add_node;
use super::recorder::{Recorder, Region};
use crate::error::Result;
use crate::exec::Executable;
use crate::graph::{Graph, Value};
use crate::op::{CompiledControl, Control, ControlForm, HostCx, HostKernel};
use crate::tensor::{Tensor, TensorView};

/// A size of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Size {
    Known(i64),
    /// An unknown size. Sizes with the same number are equal in every call. The numbers count from 0, in the order in
    /// which the parameters mention them first.
    Unknown(usize),
}

/// The dtype of a parameter, and its sizes if its rank is known.
pub(crate) type ParameterType = (DType, Option<Vec<Size>>);

/// A graph that several nodes run. The graph reads nothing but its parameters and constants.
pub(crate) struct Function {
    region: Arc<Region>,
    /// The symbol of each unknown size of the parameters.
    sizes: Vec<Symbol>,
    /// The dtypes and shapes of the results. They mention symbols of `sizes`, and free symbols.
    results: Vec<(DType, TensorShape)>,
}

impl Graph {
    /// Records the nodes that `build` adds as a function with these parameters. Returns `None` if the function reads
    /// values of the graph around it, or returns nothing: then no node can run it.
    ///
    /// # Errors
    /// `build` fails, or inference refuses the function.
    pub(crate) fn record_function<'g>(
        &'g self,
        name: &str,
        parameters: &[ParameterType],
        build: &mut dyn FnMut(&[Value<'g>]) -> Result<Vec<Value<'g>>>,
        location: &'static Location<'static>,
    ) -> Result<Option<Function>> {
        let mut recorder = Recorder::open(self, name, false, location)?;
        // The dims of the unknown sizes.
        let mut dims: Vec<Dim> = Vec::new();
        let mut values = Vec::with_capacity(parameters.len());
        for (number, (dtype, sizes)) in parameters.iter().enumerate() {
            let dim = |size: &Size| match *size {
                Size::Known(size) => Dim::known(size),
                Size::Unknown(number) => {
                    if number == dims.len() {
                        dims.push(Unknown.into_dim());
                    }
                    dims[number].clone()
                }
            };
            let shape = match sizes {
                Some(sizes) => TensorShape::new(sizes.iter().map(dim)),
                None => TensorShape::unranked(),
            };
            let value = recorder.parameter(format!("{name}.{number}"), *dtype, &shape);
            // The parameter has a symbol of the region for each new dim.
            for (size, dim) in sizes.iter().flatten().zip(value.shape().dims().unwrap_or_default()) {
                if let Size::Unknown(number) = *size {
                    dims[number] = dim.clone();
                }
            }
            values.push(value);
        }
        let outputs = build(&values)?;
        let sizes: Vec<Symbol> =
            dims.iter().map(|dim| dim.as_symbol().expect("the size of a parameter is a symbol")).collect();
        let results = own_shapes(&outputs, recorder.shapes(&outputs)?, &sizes);
        let recorded = recorder.finish(&outputs)?;
        if !recorded.captures.is_empty() || outputs.is_empty() {
            return Ok(None);
        }
        Ok(Some(Function { region: Arc::new(recorded.region), sizes, results }))
    }

    /// Adds a node that runs a function. The arguments have the dtypes, ranks and known sizes of the parameters, and
    /// `sizes` has the dim of each unknown size.
    ///
    /// # Errors
    /// An argument is poisoned or belongs to another graph.
    pub(crate) fn call_function<'g>(
        &'g self,
        function: &Function,
        arguments: &[Value<'g>],
        sizes: &[Dim],
        location: &'static Location<'static>,
    ) -> Result<Vec<Value<'g>>> {
        let mut actual = |symbol: Symbol| {
            function.sizes.iter().position(|size| *size == symbol).map(|number| sizes[number].clone())
        };
        let results: Vec<(DType, TensorShape)> =
            function.results.iter().map(|(dtype, shape)| (*dtype, shape.substitute(&mut actual))).collect();
        let control = Arc::new(FunctionCall(function.region.clone()));
        add_node(self, "call", control, arguments, &results, location)
    }
}

/// Returns the dtypes and shapes of values of an open region. A symbol of `shapes` that is not among `sizes` becomes
/// free, because each call has a size of its own for it.
fn own_shapes(values: &[Value<'_>], shapes: Vec<TensorShape>, sizes: &[Symbol]) -> Vec<(DType, TensorShape)> {
    let mut free: FxHashMap<Symbol, Dim> = FxHashMap::default();
    let mut renamed = |symbol: Symbol| {
        (!sizes.contains(&symbol)).then(|| free.entry(symbol).or_insert_with(|| Unknown.into_dim()).clone())
    };
    let results = values.iter().zip(shapes);
    results.map(|(value, shape)| (value.dtype(), shape.substitute(&mut renamed))).collect()
}

/// A node that runs a function.
struct FunctionCall(Arc<Region>);

impl Control for FunctionCall {
    fn compile(&self, options: &dyn Any) -> Result<CompiledControl> {
        let options = compile_options(options);
        let compiled = options.compiled_once(Arc::as_ptr(&self.0) as usize, &mut || {
            let program = self.0.compile(options)?;
            Ok(Arc::new(Compiled {
                program,
                has_run: AtomicBool::new(false),
                name: self.0.name().to_string(),
            }))
        })?;
        let compiled: Arc<Compiled> = compiled.downcast().expect("the key of a function is its own");
        let programs = vec![Some(compiled.program.to_any())];
        Ok(CompiledControl { kernel: Arc::new(CallKernel(compiled)), programs })
    }

    fn own_operands(&self) -> usize {
        usize::MAX
    }

    fn regions(&self) -> Vec<&dyn Any> {
        vec![self.0.as_any()]
    }

    fn form(&self) -> ControlForm<'_> {
        ControlForm::Call(self.0.as_body(&[]))
    }
}

/// A compiled function, which all its calls share.
struct Compiled {
    program: Executable,
    /// Whether the program has run since its memory was freed.
    has_run: AtomicBool,
    name: String,
}

struct CallKernel(Arc<Compiled>);

impl HostKernel for CallKernel {
    fn trim(&self) {
        // Many calls share the program, and each asks once.
        if self.0.has_run.swap(false, Ordering::Relaxed) {
            self.0.program.trim();
        }
    }

    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let Compiled { program, has_run, name } = &*self.0;
        has_run.store(true, Ordering::Relaxed);
        let inputs: Vec<TensorView<'_>> =
            (0..cx.inputs()).map(|number| cx.input(number)).collect::<Result<_>>()?;
        let results: Vec<Tensor> = program
            .run_until(&inputs, cx.cancel())
            .map_err(|error| error.note(format!("in function {name}"), None))?;
        for (number, tensor) in results.into_iter().enumerate() {
            cx.set_output(number, tensor)?;
        }
        Ok(())
    }
}
