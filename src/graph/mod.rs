//! `Graph`: an append-only dataflow graph in SSA form. A node gets its dtypes, shapes and source line when it is added.
//!
//! **In**: builder calls: inputs, constants, and ops by way of [`OpBuilder`]. A call is a transaction: it adds a node
//! with the results of inference, or it fails and changes nothing. **Out**: [`GraphData`], the nodes and values that
//! later modules read; [`Value`], a handle to build with; texts (`Display`, [`Graph::explain`]).
//!
//! **Who calls it**: programs, `interchange` and the builder methods of `ops`; `passes` makes new graphs from old ones;
//! `lower`, `exec` and `dump` read.
//!
//! **Absent**: execution. The graph runs no op itself: `eval` infers shapes, and computes the values of constant
//! expressions. The only ops that this module names are `input` and `constant`. The operands of the nodes are the only
//! record of edges.

mod assumptions;
mod builder;
mod call;
mod call_frame;
mod const_fold;
mod constant;
pub mod dataflow;
mod dim;
mod dim_names;
mod display;
mod explain;
mod guards;
mod insert;
mod leaves;
mod name_ties;
mod needed_nodes;
mod node;
mod operand;
mod operand_source;
mod param;
mod poison;
mod ragged;
mod region;
mod scope;
mod value;

use std::borrow::Cow;
use std::cell::{Ref, RefCell, RefMut};
use std::collections::{BTreeMap, BTreeSet};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::{FxHashMap, FxHashSet};
use shapeflow_shape_fns::{DType, Dim, DimTable, PartialElements, Symbol, SymbolKind, TensorShape};

use crate::error::{Error, ErrorKind, Phase, Result, is_library_line};
use crate::op::{Body, OpDef, OpRef};
use crate::tensor::Tensor;

pub use builder::OpBuilder;
pub(crate) use builder::SHOWN_OPERANDS;
pub(crate) use call::operand_info;
pub(crate) use call_frame::CallFrame;
pub use constant::{ConstantArray, ConstantScalar, IntoConstant};
pub use dim_names::DimNames;
pub(crate) use display::RESOURCE;
pub use guards::GraphGuard;
pub use name_ties::NameTie;
pub(crate) use needed_nodes::{definer, needed_nodes};
pub(crate) use node::{CallOrigin, Extra, Node, NodeIx, ValueInfo, ValueIx};
pub use operand::{IntoOperand, IntoShapeArg};
pub(crate) use operand_source::{OperandSource, Source, dtype_of_scalars, one_dtype};
pub use param::{IntoOptionalParam, IntoParam, Param, ParamElement};
pub(crate) use poison::Poison;
pub use ragged::{AnyValue, RaggedValue, RowPartitionValue};
pub(crate) use ragged::{Encodings, Partitions};
pub(crate) use region::{MetRegions, OpenRegion, RegionGraph, graph_of};
pub use scope::Scope;
pub use value::{Value, ValueId};

pub(crate) static INPUT: OpDef = OpDef::with_body("input", Body::Input);
pub(crate) static CONSTANT: OpDef = OpDef::with_body("constant", Body::Constant);

static NEXT_TAG: AtomicU32 = AtomicU32::new(1);

/// A dataflow graph. Every method takes `&self`; a graph can be sent to another thread but not shared.
///
/// ```
/// use shapeflow::{shape, DType, Graph};
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape!["b", 3])?;
/// let y = (x * 2.0 + 1.0).relu()?;
/// assert_eq!(y.shape().to_string(), "[b, 3]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
pub struct Graph {
    data: RefCell<GraphData>,
    tag: u32,
    created: &'static Location<'static>,
}

/// A scope in the tree of scopes.
#[derive(Clone)]
pub(crate) struct ScopeFrame {
    /// The index in [`GraphData::scopes`] of the scope around this scope.
    pub parent: u32,
    pub name: Cow<'static, str>,
    pub location: &'static Location<'static>,
    /// Whether a call of a composite op opened the scope.
    pub is_call: bool,
    /// Whether the guard of the scope is dropped.
    pub is_closed: bool,
}

/// The nodes and values of a graph: the intermediate representation that later modules read.
#[derive(Default)]
pub(crate) struct GraphData {
    pub nodes: Vec<Node>,
    pub values: Vec<ValueInfo>,
    /// The facts about dimensions: equalities and guards.
    pub table: DimTable,
    /// The tensors of the constants, by node.
    pub constants: FxHashMap<NodeIx, Tensor>,
    /// The names that the program gave the outputs of nodes with several outputs.
    pub output_names: FxHashMap<ValueIx, String>,
    pub input_names: FxHashSet<String>,
    /// Names and values of the inputs, in the order of their calls.
    pub inputs: Vec<(String, ValueIx)>,
    /// The tree of scopes; index 0 is the root.
    pub scopes: Vec<ScopeFrame>,
    /// The index in `scopes` of the innermost open scope.
    pub scope: u32,
    /// The caller's line of the open call (a builder method that runs now). Each node that the method adds gets this
    /// line.
    pub call: Option<&'static Location<'static>>,
    /// The calls that added several nodes each.
    pub calls: Vec<Arc<CallFrame>>,
    /// The index in `calls` of the innermost open call.
    pub open_frame: Option<u32>,
    /// Whether the graph refuses a call that ties two names of dimensions.
    pub strict: bool,
    /// Names that the program assumes to be equal, with the lines of the calls of [`Graph::assume_eq`].
    pub assumed: Vec<([String; 2], &'static Location<'static>)>,
    /// The names of dimensions in the regions that are closed, as the program declared them.
    pub names_of_regions: FxHashSet<Symbol>,
    /// For a parameter of an open region: the value outside that gives the parameter its first sizes. Errors explain
    /// sizes of the parameter by this value.
    pub parameter_sources: FxHashMap<ValueIx, ValueIx>,
    /// The number of open regions.
    pub open_regions: u32,
    /// The poisoned values (the results of refused operators).
    pub poisons: Vec<Poison>,
    /// The errors of imported nodes that inference refused. A node of unknown shape stands in place of each refused
    /// node.
    pub refused: BTreeMap<NodeIx, Error>,
    /// The values of imported nodes that stand for handles of variables or tables. Their dtype and shape have no
    /// meaning.
    pub handles: BTreeSet<ValueIx>,
    /// Row partitions of ragged values.
    pub partitions: Partitions,
    /// Pairs of equal dims that no node of this graph shows. A pass made this graph from another one and left out the
    /// nodes that showed the equalities. Other nodes still rely on them.
    pub relied: Vec<[Dim; 2]>,
    /// For a symbol that is a number by [`GraphData::relied`]: the label and the line of the call that showed this.
    pub relied_causes: FxHashMap<Symbol, (String, &'static Location<'static>)>,
}

impl Default for Graph {
    #[track_caller]
    fn default() -> Graph {
        Graph::new()
    }
}

impl Graph {
    /// Makes an empty graph.
    #[track_caller]
    pub fn new() -> Graph {
        Graph {
            data: RefCell::default(),
            tag: NEXT_TAG.fetch_add(1, Ordering::Relaxed),
            created: Location::caller(),
        }
    }

    pub(crate) fn read(&self) -> Ref<'_, GraphData> {
        self.data.borrow()
    }

    pub(crate) fn write(&self) -> RefMut<'_, GraphData> {
        self.data.borrow_mut()
    }

    pub(crate) fn tag(&self) -> u32 {
        self.tag
    }

    pub(crate) fn created(&self) -> &'static Location<'static> {
        self.created
    }

    /// Starts a node of the given op; the builder adds it: `graph.op(&DEF).data(x).attr("axis", 0).finish()`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Registry, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 4])?;
    /// let softmax = Registry::builtin().get("softmax").expect("softmax is built in");
    /// let y = g.op(softmax).data(x).attr("axis", -1).finish()?;
    /// assert_eq!(y.shape().to_string(), "[n, 4]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn op<'g>(&'g self, def: impl Into<OpRef>) -> OpBuilder<'g> {
        OpBuilder::new(self, def.into())
    }

    /// Opens a scope. Until the returned guard drops, names get the prefix `name/`, and errors and dumps show the
    /// caller's line. Guards may drop in any order.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let scope = g.scope("encoder");
    /// let _ = x.relu()?.named("active");
    /// drop(scope);
    /// assert!(g.to_string().contains("// encoder/active"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    #[track_caller]
    pub fn scope(&self, name: impl AsRef<str>) -> Scope<'_> {
        Scope::enter(self, name.as_ref(), Location::caller())
    }

    /// Returns the value with this id.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let id = g.input("x", DType::F32, shape!["n"])?.id();
    /// assert_eq!(g.value(id)?.dtype(), DType::F32);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The id belongs to another graph.
    #[track_caller]
    pub fn value(&self, id: ValueId) -> Result<Value<'_>> {
        if id.graph != self.tag || id.index.index() >= self.read().values.len() {
            let message = format!("the id must belong to this graph, made at {}", self.created);
            return Err(Error::new(ErrorKind::ForeignValue, Phase::Build, message).at(Location::caller()));
        }
        Ok(Value::new(self, id.index))
    }

    /// Checks that a value belongs to this graph. `what` names the value in the error: `the predicate`.
    ///
    /// # Errors
    /// The value belongs to another graph.
    pub(crate) fn check_own(&self, what: &str, value: Value<'_>) -> Result<()> {
        if value.graph().tag == self.tag {
            return Ok(());
        }
        let message = format!(
            "{what} must belong to the graph made at {}, got a value of the graph made at {}",
            self.created,
            value.graph().created
        );
        Err(value.named_as_foreign(Error::new(ErrorKind::ForeignValue, Phase::Build, message)))
    }

    /// Checks that an operand belongs to this graph. The error shows where an operand of another graph comes from.
    ///
    /// # Errors
    /// The operand belongs to another graph.
    pub(crate) fn check_operand(&self, value: Value<'_>) -> Result<()> {
        if value.graph().tag == self.tag {
            return Ok(());
        }
        let message = format!(
            "operands must belong to one graph, got values of the graphs made at {} and at {}",
            self.created,
            value.graph().created
        );
        Err(value.named_as_foreign(Error::new(ErrorKind::ForeignValue, Phase::Build, message)))
    }

    /// Returns the error about an unknown dimension without a name that belongs to another graph, or to a region that
    /// is closed.
    pub(crate) fn foreign_dim(&self) -> Error {
        let message = format!(
            "a dimension without a name must belong to the graph made at {}, got a dimension of \
             another graph or of a complete branch or loop body",
            self.created
        );
        Error::new(ErrorKind::ForeignValue, Phase::Build, message)
            .with_help("give the dimension a name: a name may stand in every graph")
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.read().nodes.len()
    }

    /// Returns whether the graph has no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether two dimensions are equal: always (`Some(true)`), never (`Some(false)`), or depending on the run
    /// (`None`).
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", "m"])?;
    /// let [n, m] = [x.dim(0)?, x.dim(1)?];
    /// assert_eq!(g.same_dim(&n, &m), None);
    /// assert_eq!(g.same_dim(&n, &(&n + 1)), Some(false));
    /// let _ = x.matmul(x)?; // the number of columns equals the number of rows
    /// assert_eq!(g.same_dim(&n, &m), Some(true));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn same_dim(&self, a: &Dim, b: &Dim) -> Option<bool> {
        self.read().table.same(a, b)
    }
}

/// Reserves room for one more element. A full list grows by a quarter; doubling would leave up to half of a large
/// graph's memory unused.
fn make_room<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 4).max(64));
    }
}

impl GraphData {
    /// Appends a node with the given outputs. No other function appends nodes.
    pub(crate) fn push(
        &mut self,
        mut node: Node,
        outputs: impl IntoIterator<Item = (DType, TensorShape, Option<Box<PartialElements>>)>,
    ) -> ValueIx {
        let index = NodeIx(self.nodes.len() as u32);
        let first = ValueIx(self.values.len() as u32);
        node.first_output = first;
        if let Some(call) = self.call.filter(|_| is_library_line(node.location)) {
            node.location = call;
        }
        make_room(&mut self.nodes);
        make_room(&mut self.values);
        for (dtype, shape, elements) in outputs {
            self.values.push(ValueInfo { node: index, dtype, shape, elements });
        }
        node.outputs = self.values.len() as u32 - first.0;
        self.nodes.push(node);
        first
    }

    /// Returns whether inference has equated a symbolic element of `value` with another dimension. The run must check
    /// this equality.
    pub(crate) fn has_equated_elements(&self, value: ValueIx) -> bool {
        let elements = self.values[value.index()].elements.iter().flat_map(|elements| elements.elements());
        let mut symbols =
            elements.filter(|e| e.as_symbol().is_some_and(|symbol| symbol.kind() == SymbolKind::Integer));
        symbols.any(|element| self.table.resolve(element) != *element)
    }

    pub(crate) fn node_of(&self, value: ValueIx) -> &Node {
        &self.nodes[self.values[value.index()].node.index()]
    }

    /// Returns the names and lines of a scope and of the scopes around it, innermost first.
    pub(crate) fn scope_chain(&self, frame: u32) -> Vec<(String, &'static Location<'static>)> {
        self.frames_around(frame).map(|scope| (scope.name.to_string(), scope.location)).collect()
    }

    /// Returns the scopes of [`GraphData::scope_chain`] that an error shows: those of the program.
    pub(crate) fn scopes_of_error(&self, frame: u32) -> Vec<(String, &'static Location<'static>)> {
        self.frames_around(frame)
            .filter(|scope| !scope.is_call)
            .map(|scope| (scope.name.to_string(), scope.location))
            .collect()
    }

    fn frames_around(&self, frame: u32) -> impl Iterator<Item = &ScopeFrame> {
        let outer = |frame: u32| self.scopes.get(frame as usize).filter(|_| frame != 0);
        std::iter::successors(outer(frame), move |scope| outer(scope.parent))
    }

    /// Returns the name of a node, prefixed with its scopes: its own name, or else its op's name and the number of its
    /// first value. The name is unique unless the user gave one name to several nodes.
    pub(crate) fn node_name(&self, index: NodeIx) -> String {
        let node = &self.nodes[index.index()];
        let mut name = self.node_label(index);
        if node.own_name().is_none() {
            name.push('_');
            name.push_str(&node.first_output.0.to_string());
        }
        name
    }

    /// Returns the name of a value, prefixed with its scopes: the name that the program gave it, or else the name of
    /// its node. If only another output of the node was named by the program, the name is the op's name and the number
    /// of the value, so that no two outputs have one name.
    pub(crate) fn value_name(&self, value: ValueIx) -> String {
        let index = self.values[value.index()].node;
        let node = &self.nodes[index.index()];
        if node.outputs == 1 || node.own_name().is_none() {
            return self.node_name(index);
        }
        match self.output_names.get(&value) {
            Some(name) => self.scope_text(node.scope) + name,
            None => format!("{}{}_{}", self.scope_text(node.scope), node.op.name(), value.0),
        }
    }

    /// Returns the names of a scope and of the scopes around it, each with a slash after it.
    fn scope_text(&self, scope: u32) -> String {
        let scopes = self.scope_chain(scope).into_iter().rev();
        scopes.map(|(name, _)| name + "/").collect()
    }

    /// Returns the name of a node for texts that people read, prefixed with its scopes: its own name, or else its op's
    /// name.
    pub(crate) fn node_label(&self, index: NodeIx) -> String {
        let node = &self.nodes[index.index()];
        self.scope_text(node.scope) + node.own_name().unwrap_or(node.op.name())
    }
}
