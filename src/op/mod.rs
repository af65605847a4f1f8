//! `OpDef`: the definition of an op. Built-in ops and users' ops have the same kind of definition.
//!
//! **In**: an op's name, declared operands, shape function, dtype rule and body, given by a `const` builder. **Out**:
//! [`OpDef`] and its parts; [`Registry`], definitions by name; [`HostCx`], what a host kernel works with.
//!
//! **Who calls it**: `ops` and users define ops; every later room asks the definition and never compares an op's name.
//!
//! **Absent**: the ops themselves, and evaluation. A definition is data and function pointers.

mod attributes;
mod body;
mod cancel;
mod caught;
mod control;
#[cfg(any(feature = "graphdef", feature = "strings"))]
pub(crate) mod dtype_number;
mod dtype_rule;
mod feature;
mod host;
mod host_threads;
mod op_ref;
mod operand;
mod prepared;
mod registry;
mod strings;
mod table;
mod tensorflow;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::{Attrs, DType, DimTable, OperandInfo, ShapeFn};
use smallvec::SmallVec;

use crate::error::Result;

use body::CompositeOnDTypes;
pub use body::{CompositeCx, CompositeFn, LowerFn};
pub(crate) use body::{ContractionSpec, ForwardsFn, WholeFn};
pub(crate) use cancel::Cancel;
pub(crate) use caught::caught;
pub(crate) use control::{
    BodyRegion, BranchesForm, CompiledControl, Control, ControlForm, LoopSource, Programs, RowsForm,
    WhileForm,
};
pub use dtype_rule::DTypeRule;
use dtype_rule::{one_float, same_as_first};
pub(crate) use feature::Feature;
pub use host::{HostCx, HostKernel};
pub(crate) use host::{HostOutput, OutputAllocator};
pub(crate) use host_threads::{HostThreads, Threads};
pub use op_ref::OpRef;
pub use operand::Operand;
pub(crate) use operand::OperandMask;
#[cfg(feature = "graphdef")]
pub(crate) use operand::{spread, spread_names};
pub(crate) use prepared::{NodePreparation, PreparedSlot};
pub use registry::Registry;
pub(crate) use strings::StringHandles;
#[cfg(feature = "graphdef")]
pub(crate) use tensorflow::PaddedInput;
pub(crate) use tensorflow::TfFunction;
pub use tensorflow::{Absent, TfOp};

/// How the outputs of an op are computed.
#[derive(Clone)]
pub(crate) enum Body {
    /// A graph input: the caller of a run passes its tensor.
    Input,
    /// A tensor that the graph holds.
    Constant,
    /// A scalar expression for each element.
    Compute(LowerFn),
    /// A matrix product. `lower` defines its meaning; `spec` selects the routine that runs it for f32 and f64.
    Contraction { lower: LowerFn, spec: fn(&Attrs) -> ContractionSpec },
    /// A Rust function.
    Host(fn(&mut HostCx<'_>) -> Result<()>),
    /// A Rust kernel with state.
    HostWith(Arc<dyn HostKernel>),
    /// Graphs inside the node. Compiling the graph around the node turns the body into `HostWith`.
    Control(Arc<dyn Control>),
    /// Nodes of other ops, which take the place of this op's node.
    Composite(CompositeFn),
    /// Nothing: shapes are inferred, but a graph that needs the elements does not compile.
    ShapeOnly,
}

/// The definition of an op: name, operands, shape function, dtype rule and body.
///
/// `const` functions build it, so that it can be a `static`:
///
/// ```
/// use shapeflow::{OpDef, Operand};
///
/// static CUBE: OpDef = OpDef::compute("cube", |cx, _output, index| {
///     let x = cx.operand(0, index);
///     x.clone() * x.clone() * x
/// })
/// .operands(&[Operand::Data("x")])
/// .shape_fn(shapeflow::shape_fns::common::unary);
/// assert_eq!(CUBE.name(), "cube");
/// ```
#[derive(Clone)]
pub struct OpDef {
    name: &'static str,
    operands: Option<&'static [Operand]>,
    /// For an op without a body, the names by which the shape function finds the operands. Such an op has an operand
    /// for every name.
    names: Option<&'static [&'static str]>,
    /// For an op without a body that stands in for an op of this crate: the message with which that op, which has the
    /// same name, refused the dtypes of the call. `None` if the dtypes are not the reason why this op has no body.
    refusal: Option<Arc<str>>,
    /// The attributes of a call that gives none. They hold the declaration of the op's attributes, for the defaults.
    no_attrs: Attrs,
    /// Whether a call may have any attributes: the definition does not declare the attributes of the op.
    takes_any_attrs: bool,
    /// Whether the op divides operand 0 by operand 1.
    divides: bool,
    /// Whether an export must not compute the op in a wider dtype and cast the results back, because they would differ,
    /// as the results of `next_after` would.
    is_never_widened: bool,
    /// Whether each call gives the element of an operand a name.
    names_size: bool,
    /// Whether users add the op only by methods with other names. Errors then name the method, not the op.
    is_internal: bool,
    /// The attributes that the messages of the op's errors contain already.
    message_attrs: &'static [&'static str],
    outputs: fn(&Attrs, usize) -> usize,
    shape_fn: Option<ShapeFn>,
    /// A stricter shape function, which only calls of builders must pass.
    builder_shape_fn: Option<ShapeFn>,
    dtype_rule: DTypeRule,
    pub(crate) body: Body,
    whole: Option<WholeFn>,
    reinterprets: bool,
    on_dtypes: Option<CompositeOnDTypes>,
    /// Whether the host kernel sees strings as i64 handles, and what the handles guarantee.
    string_handles: Option<StringHandles>,
    /// The feature of this crate that the kernel needs.
    feature: Option<Feature>,
    /// Whether output `k` of a call is operand `k`, unchanged.
    forwards: Option<ForwardsFn>,
    tensorflow: &'static [TfOp],
    tensorflow_function: Option<TfFunction>,
    /// The operands that are the keys and the values of a table.
    table_operands: Option<[usize; 2]>,
    /// For a compiled node of control flow: the graphs inside the node, as built and compiled.
    inside: Option<Arc<(Arc<dyn Control>, Programs)>>,
}

fn one_output(_: &Attrs, _: usize) -> usize {
    1
}

impl OpDef {
    pub(crate) const fn with_body(name: &'static str, body: Body) -> OpDef {
        OpDef {
            name,
            operands: None,
            names: None,
            refusal: None,
            no_attrs: Attrs::new(),
            takes_any_attrs: false,
            divides: false,
            is_never_widened: false,
            names_size: false,
            is_internal: false,
            message_attrs: &[],
            outputs: one_output,
            shape_fn: None,
            builder_shape_fn: None,
            dtype_rule: same_as_first,
            body,
            whole: None,
            reinterprets: false,
            on_dtypes: None,
            string_handles: None,
            feature: None,
            forwards: None,
            tensorflow: &[],
            tensorflow_function: None,
            table_operands: None,
            inside: None,
        }
    }

    /// Makes an op whose every output element is a scalar expression of operand elements.
    pub const fn compute(name: &'static str, lower: LowerFn) -> OpDef {
        OpDef::with_body(name, Body::Compute(lower))
    }

    pub(crate) const fn contraction(
        name: &'static str,
        lower: LowerFn,
        spec: fn(&Attrs) -> ContractionSpec,
    ) -> OpDef {
        OpDef::with_body(name, Body::Contraction { lower, spec })
    }

    /// Makes an op that a Rust function computes.
    pub const fn host(name: &'static str, run: fn(&mut HostCx<'_>) -> Result<()>) -> OpDef {
        OpDef::with_body(name, Body::Host(run))
    }

    /// Makes an op that a Rust closure, or a user's type with state, computes.
    pub fn host_with(name: &'static str, kernel: impl HostKernel) -> OpDef {
        OpDef::with_body(name, Body::HostWith(Arc::new(kernel)))
    }

    /// Makes an op that is composed of other ops. Dumps and errors show it by its own name.
    pub const fn composite(name: &'static str, build: CompositeFn) -> OpDef {
        OpDef::with_body(name, Body::Composite(build))
    }

    /// Makes an op without a body. The shapes of the op's results are inferred, but a graph that needs
    /// elements of these results does not compile. The shape function finds the operands by the names `operands`.
    pub(crate) const fn absent(name: &'static str, operands: Option<&'static [&'static str]>) -> OpDef {
        let mut def = OpDef::with_body(name, Body::ShapeOnly);
        def.names = operands;
        def.takes_any_attrs = true;
        def
    }

    /// Sets the message with which the op that this op stands in for refused the dtypes of a call.
    #[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an import makes such ops"))]
    pub(crate) fn refused_because(mut self, message: &str) -> OpDef {
        self.refusal = Some(message.into());
        self
    }

    /// Returns the message with which the op that this op stands in for refused the dtypes of the call; `None` if the
    /// dtypes are not the reason why this op has no body.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Declares the operands in order. An op without a declaration takes any number of data operands.
    pub const fn operands(mut self, operands: &'static [Operand]) -> OpDef {
        self.operands = Some(operands);
        self
    }

    /// Declares that the op divides operand 0 by operand 1. A builder call with integers and a constant zero among the
    /// divisors is refused.
    pub(crate) const fn divides(mut self) -> OpDef {
        self.divides = true;
        self
    }

    /// Declares that an export must not compute the op in a wider dtype and cast the results back.
    pub(crate) const fn never_widened(mut self) -> OpDef {
        self.is_never_widened = true;
        self
    }

    #[cfg(feature = "graphdef")]
    pub(crate) fn is_never_widened(&self) -> bool {
        self.is_never_widened
    }

    /// Declares that each call gives the element of an operand a name. If a value needs the name, it needs all calls
    /// that give the name, so that a run compares the elements.
    pub(crate) const fn names_size(mut self) -> OpDef {
        self.names_size = true;
        self
    }

    pub(crate) fn is_name_of_size(&self) -> bool {
        self.names_size
    }

    /// Declares that users add the op only by methods with other names, for example methods that check their operands.
    /// Errors name the method, not the op.
    pub(crate) const fn internal(mut self) -> OpDef {
        self.is_internal = true;
        self
    }

    /// Declares the attributes that the messages of the op's errors contain already. The text of the call in such an
    /// error leaves them out.
    pub(crate) const fn message_attrs(mut self, names: &'static [&'static str]) -> OpDef {
        self.message_attrs = names;
        self
    }

    /// Sets the function that counts the outputs from the attributes and the number of operands. The default is one
    /// output. An op with another number of outputs needs a dtype rule, which gives the dtype of each output.
    pub const fn outputs(mut self, count: fn(&Attrs, usize) -> usize) -> OpDef {
        self.outputs = count;
        self
    }

    /// Sets the shape function. The function runs on partial shapes when a node is added, and on sizes when the graph
    /// runs. A size that it gives for partial shapes is a promise: a run fails if the function gives another size then.
    pub const fn shape_fn(mut self, shape_fn: ShapeFn) -> OpDef {
        self.shape_fn = Some(shape_fn);
        self
    }

    /// Sets a stricter shape function, which a call must pass when it is added to a graph. A run does not use it:
    /// TensorFlow refuses some calls only if it knows their shapes before a run.
    pub(crate) const fn builder_shape_fn(mut self, shape_fn: ShapeFn) -> OpDef {
        self.builder_shape_fn = Some(shape_fn);
        self
    }

    /// Sets the dtype rule. The default gives the result the dtype of the first operand.
    pub const fn dtype_rule(mut self, rule: DTypeRule) -> OpDef {
        self.dtype_rule = rule;
        self
    }

    /// Says which feature of this crate the kernel needs. A graph with the op does not compile without it.
    pub(crate) const fn feature(mut self, feature: Feature) -> OpDef {
        self.feature = Some(feature);
        self
    }

    /// Returns the feature that the op needs and this build lacks.
    pub(crate) fn missing_feature(&self) -> Option<&Feature> {
        self.feature.as_ref().filter(|feature| !feature.is_present)
    }

    /// Accepts operands of one floating dtype, which the result has too. A formula with fractions needs this rule: no
    /// integer is 0.5.
    pub const fn floats(self) -> OpDef {
        self.dtype_rule(one_float)
    }

    /// Promises that output 0 has the elements of operand 0 in the same row-major order, so that both can share memory.
    pub const fn reinterprets(mut self) -> OpDef {
        self.reinterprets = true;
        self
    }

    /// Sets the function that runs a call of a compute op that shares no kernel with other ops. It is faster than a
    /// kernel, and gives the bits that the body gives. The op has one output, and reads elements of operand 0 only.
    pub(crate) const fn whole(mut self, run: WholeFn) -> OpDef {
        self.whole = Some(run);
        self
    }

    /// Sets how a call whose first operand has one of these dtypes is made of other ops. Other calls have the body of
    /// the op.
    pub(crate) const fn on_dtypes(mut self, is_one: fn(DType) -> bool, build: CompositeFn) -> OpDef {
        self.on_dtypes = Some((is_one, build));
        self
    }

    /// Sets the function that says of a call whether each output `k` is operand `k`, unchanged. The compiler removes
    /// such a call.
    pub(crate) const fn forwards(mut self, forwards: ForwardsFn) -> OpDef {
        self.forwards = Some(forwards);
        self
    }

    /// Sets the TensorFlow op types that this op implements.
    pub const fn tensorflow(mut self, spellings: &'static [TfOp]) -> OpDef {
        self.tensorflow = spellings;
        self
    }

    /// Sets the function of TensorFlow ops by which an export writes the op, for which TensorFlow has no op.
    pub(crate) const fn in_tensorflow(mut self, function: TfFunction) -> OpDef {
        self.tensorflow_function = Some(function);
        self
    }

    /// Returns the function of TensorFlow ops by which an export writes the op, if there is one.
    #[cfg(feature = "graphdef")]
    pub(crate) fn tensorflow_function(&self) -> Option<TfFunction> {
        self.tensorflow_function
    }

    /// Returns the op's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the TensorFlow op types that this op implements.
    pub fn tensorflow_ops(&self) -> &'static [TfOp] {
        self.tensorflow
    }

    /// Returns the attributes of a call that the messages of its errors do not contain.
    pub(crate) fn attrs_not_in_message<'a>(&self, attrs: &'a Attrs) -> Cow<'a, Attrs> {
        let mut shown = Cow::Borrowed(attrs);
        for name in self.message_attrs.iter().filter(|name| attrs.get(name).is_some()) {
            shown.to_mut().remove(name);
        }
        shown
    }

    pub(crate) fn is_internal(&self) -> bool {
        self.is_internal
    }

    pub(crate) fn is_division(&self) -> bool {
        self.divides
    }

    pub(crate) fn operand_list(&self) -> Option<&'static [Operand]> {
        self.operands
    }

    #[cfg(feature = "graphdef")]
    pub(crate) fn operand_names(&self) -> Option<&'static [&'static str]> {
        self.names
    }

    /// Returns the declared operands that a call passes as values, in order. `given_operands` is the set of their
    /// indices; the call passes all other operands as attributes, or omits them.
    pub(crate) fn operands_of(&self, given_operands: OperandMask) -> impl Iterator<Item = Operand> + use<> {
        let declared = self.operands.unwrap_or_default().iter().copied().enumerate();
        declared.filter(move |(entry, _)| given_operands.contains(*entry)).map(|(_, operand)| operand)
    }

    /// Returns the names of the operands that a call passes as values, in order. The shape function finds the operands
    /// by these names. See [`OpDef::operands_of`] for `given_operands`.
    pub(crate) fn names_of(&self, given_operands: OperandMask) -> SmallVec<[&'static str; 4]> {
        match self.names {
            Some(names) => SmallVec::from_slice(names),
            None => self.operands_of(given_operands).map(Operand::name).collect(),
        }
    }

    pub(crate) fn output_count(&self, attrs: &Attrs, operands: usize) -> usize {
        (self.outputs)(attrs, operands)
    }

    pub(crate) fn infer_dtypes(&self, operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
        (self.dtype_rule)(operands, attrs)
    }

    pub(crate) fn shape_function(&self) -> Option<ShapeFn> {
        self.shape_fn
    }

    /// Returns the stricter shape function of calls that are added to a graph, if there is one.
    pub(crate) fn stricter_shape_function(&self) -> Option<ShapeFn> {
        self.builder_shape_fn
    }

    /// Returns how a call whose first operand has this dtype is made of other ops; `None` if the op has a body for it.
    pub(crate) fn composition(&self, first: Option<DType>) -> Option<CompositeFn> {
        match self.body {
            Body::Composite(build) => Some(build),
            _ => self.on_dtypes.filter(|(is_one, _)| first.is_some_and(is_one)).map(|(_, build)| build),
        }
    }

    /// Returns whether each output `k` of a call on these operands is operand `k`, as far as `table` knows.
    pub(crate) fn forwards_operands(&self, operands: &[OperandInfo<'_>], table: &DimTable) -> bool {
        self.forwards.is_some_and(|forwards| forwards(operands, table))
    }

    /// Returns the function that runs a call that shares no kernel with other ops.
    pub(crate) fn whole_fn(&self) -> Option<WholeFn> {
        self.whole
    }

    pub(crate) fn is_reinterpretation(&self) -> bool {
        self.reinterprets
    }

    /// Returns whether kernels compute a result of this dtype from the expression of its elements. A contraction of f32
    /// or f64 is a product of matrices instead.
    pub(crate) fn is_expression(&self, dtype: DType) -> bool {
        match self.body {
            Body::Compute(_) => true,
            Body::Contraction { .. } => !matches!(dtype, DType::F32 | DType::F64),
            _ => false,
        }
    }

    pub(crate) fn lower_fn(&self) -> Option<LowerFn> {
        match self.body {
            Body::Compute(lower) | Body::Contraction { lower, .. } => Some(lower),
            _ => None,
        }
    }
}

impl fmt::Debug for OpDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpDef({})", self.name)
    }
}
