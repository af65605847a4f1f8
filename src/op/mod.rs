//! `OpDef`: what an op is, the same for built-in ops and for users'.

mod host;
mod registry;
mod tensorflow;

use std::fmt;
use std::sync::Arc;

use shapeflow_shape_fns::{Attrs, DType, ShapeFn};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;

pub use host::{HostCx, HostKernel};
pub(crate) use host::{HostOutput, OutputAllocator};
pub use registry::Registry;
pub use tensorflow::{Absent, TfOp};

/// An operand of an op and what its elements mean to the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operand {
    /// Elements that are computed with.
    Data(&'static str),
    /// Elements that become dimensions or offsets: shape, begin, paddings, depth.
    Size(&'static str),
    /// Elements that choose the loop nest: perm, axis.
    Structure(&'static str),
    /// Any number of data operands; the last entry of a list. Where several entries are variadic, each has as many
    /// operands, all of the first before all of the second.
    Variadic(&'static str),
}

impl Operand {
    /// The operand's name.
    pub const fn name(self) -> &'static str {
        match self {
            Operand::Data(name)
            | Operand::Size(name)
            | Operand::Structure(name)
            | Operand::Variadic(name) => name,
        }
    }
}

#[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an export asks it"))]
/// Which declared operand each of so many operands is, where a declaration says which entries are lists: one of every
/// other entry, and equally many of every list.
pub(crate) fn spread(is_list: &[bool], operands: usize) -> impl Iterator<Item = usize> {
    let lists = is_list.iter().filter(|list| **list).count();
    let several = operands.saturating_sub(is_list.len() - lists) / lists.max(1);
    let width =
        move |(place, list): (usize, &bool)| std::iter::repeat_n(place, if *list { several } else { 1 });
    is_list.iter().enumerate().flat_map(width).take(operands)
}

/// As [`spread`], where the names of lists end in `..`.
#[cfg(feature = "graphdef")]
pub(crate) fn spread_names(names: &[&str], operands: usize) -> Vec<usize> {
    let lists: Vec<bool> = names.iter().map(|name| name.ends_with("..")).collect();
    spread(&lists, operands).collect()
}

/// The dtypes of the outputs from those of the operands and the attributes.
pub type DTypeRule = fn(&[DType], &Attrs) -> Result<Vec<DType>>;

/// One element of output `output` at `index`, see [`LowerCx`].
pub type LowerFn = fn(&mut dyn LowerCx, usize, &[Index]) -> Expr;

/// Builds an op from others, see [`OpDef::composite`].
pub type CompositeFn = for<'g> fn(&CompositeCx<'_>, &[Value<'g>]) -> Result<Vec<Value<'g>>>;

/// How a matrix product reads its two operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MatMulSpec {
    pub transpose_a: bool,
    pub transpose_b: bool,
}

#[derive(Clone)]
pub(crate) enum Body {
    /// A graph input: fed.
    Input,
    /// A tensor kept in the graph.
    Constant,
    Compute(LowerFn),
    /// A matrix product: `lower` says what it means, the spec how it is run.
    Contraction {
        lower: LowerFn,
        spec: fn(&Attrs) -> MatMulSpec,
    },
    Host(fn(&mut HostCx<'_>) -> Result<()>),
    HostWith(Arc<dyn HostKernel>),
    Composite(CompositeFn),
    /// Shapes are inferred, but nothing computes the elements.
    Absent,
}

/// The definition of an op: name, operands, shape function, dtype rule and body.
///
/// Built by `const` functions, so that it can be a `static`:
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
    /// The names by which the shape function finds the operands, all of which are given.
    names: Option<&'static [&'static str]>,
    outputs: fn(&Attrs, usize) -> usize,
    shape_fn: Option<ShapeFn>,
    dtype_rule: DTypeRule,
    pub(crate) body: Body,
    reinterprets: bool,
    tensorflow: &'static [TfOp],
}

fn one_output(_: &Attrs, _: usize) -> usize {
    1
}

fn same_as_first(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtypes.first() {
        Some(dtype) => Ok(vec![*dtype]),
        None => Err(Error::new(ErrorKind::DType, Phase::Build, "an op without operands needs a dtype rule")),
    }
}

impl OpDef {
    pub(crate) const fn with_body(name: &'static str, body: Body) -> OpDef {
        OpDef {
            name,
            operands: None,
            names: None,
            outputs: one_output,
            shape_fn: None,
            dtype_rule: same_as_first,
            body,
            reinterprets: false,
            tensorflow: &[],
        }
    }

    /// An op whose every output element is a scalar expression of operand elements.
    pub const fn compute(name: &'static str, lower: LowerFn) -> OpDef {
        OpDef::with_body(name, Body::Compute(lower))
    }

    pub(crate) const fn contraction(
        name: &'static str,
        lower: LowerFn,
        spec: fn(&Attrs) -> MatMulSpec,
    ) -> OpDef {
        OpDef::with_body(name, Body::Contraction { lower, spec })
    }

    /// An op computed by a Rust function.
    pub const fn host(name: &'static str, run: fn(&mut HostCx<'_>) -> Result<()>) -> OpDef {
        OpDef::with_body(name, Body::Host(run))
    }

    /// An op computed by a Rust closure or a type of the user's that carries state.
    pub fn host_with(name: &'static str, kernel: impl HostKernel) -> OpDef {
        OpDef::with_body(name, Body::HostWith(Arc::new(kernel)))
    }

    /// An op that is made of other ops; dumps and errors still show it by its own name.
    pub const fn composite(name: &'static str, build: CompositeFn) -> OpDef {
        OpDef::with_body(name, Body::Composite(build))
    }

    /// An op without a body: shapes are inferred, a graph that needs its elements does not compile. The shape
    /// function finds the operands by these names.
    #[cfg_attr(not(feature = "graphdef"), expect(dead_code, reason = "only an import makes such ops"))]
    pub(crate) const fn absent(name: &'static str, operands: Option<&'static [&'static str]>) -> OpDef {
        let mut def = OpDef::with_body(name, Body::Absent);
        def.names = operands;
        def
    }

    /// Names the operands in order; without it, any number of data operands is taken.
    pub const fn operands(mut self, operands: &'static [Operand]) -> OpDef {
        self.operands = Some(operands);
        self
    }

    /// Counts the outputs from the attributes and the number of operands; one if it is not given.
    pub const fn outputs(mut self, count: fn(&Attrs, usize) -> usize) -> OpDef {
        self.outputs = count;
        self
    }

    /// Sets the shape function, run on partial shapes when the op is added and on sizes when it runs.
    pub const fn shape_fn(mut self, shape_fn: ShapeFn) -> OpDef {
        self.shape_fn = Some(shape_fn);
        self
    }

    /// Sets the dtype rule; without one, the result has the dtype of the first operand.
    pub const fn dtype_rule(mut self, rule: DTypeRule) -> OpDef {
        self.dtype_rule = rule;
        self
    }

    /// Promises that output 0 has the elements of operand 0 in the same row-major order.
    pub const fn reinterprets(mut self) -> OpDef {
        self.reinterprets = true;
        self
    }

    /// The TensorFlow op types that this op stands for.
    pub const fn tensorflow(mut self, spellings: &'static [TfOp]) -> OpDef {
        self.tensorflow = spellings;
        self
    }

    /// The op's name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The TensorFlow op types that this op stands for.
    pub fn tensorflow_ops(&self) -> &'static [TfOp] {
        self.tensorflow
    }

    pub(crate) fn operand_list(&self) -> Option<&'static [Operand]> {
        self.operands
    }

    pub(crate) fn operand_names(&self) -> Option<&'static [&'static str]> {
        self.names
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

    pub(crate) fn is_reinterpretation(&self) -> bool {
        self.reinterprets
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

/// A definition, static or shared.
#[derive(Clone)]
pub struct OpRef(Ref);

#[derive(Clone)]
enum Ref {
    Static(&'static OpDef),
    Shared(Arc<OpDef>),
}

impl OpRef {
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref::<OpDef>(self).addr()
    }
}

impl std::ops::Deref for OpRef {
    type Target = OpDef;
    fn deref(&self) -> &OpDef {
        match &self.0 {
            Ref::Static(def) => def,
            Ref::Shared(def) => def,
        }
    }
}

impl From<&'static OpDef> for OpRef {
    fn from(def: &'static OpDef) -> OpRef {
        OpRef(Ref::Static(def))
    }
}

impl From<Arc<OpDef>> for OpRef {
    fn from(def: Arc<OpDef>) -> OpRef {
        OpRef(Ref::Shared(def))
    }
}

impl From<&Arc<OpDef>> for OpRef {
    fn from(def: &Arc<OpDef>) -> OpRef {
        OpRef(Ref::Shared(def.clone()))
    }
}

/// What a composite body may ask besides its operands.
pub struct CompositeCx<'a> {
    pub(crate) attrs: &'a Attrs,
}

impl CompositeCx<'_> {
    /// The attributes the user gave.
    pub fn attrs(&self) -> &Attrs {
        self.attrs
    }
}
