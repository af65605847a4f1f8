//! `Control`: an op that holds graphs. `CompiledControl`: the result of compiling these graphs.

use std::any::Any;
use std::sync::Arc;

use super::{Body, HostKernel, OpDef};
use crate::error::Result;

/// The graphs inside a node of control flow: branches, or the condition and the body of a loop.
///
/// A graph is built before the options of its compilation are known. Therefore the node holds graphs, and compiling
/// the graph around the node turns them into a kernel.
pub(crate) trait Control: Send + Sync + 'static {
    /// Compiles the graphs inside the node. `options` are the `CompileOptions` of the graph around the node, a type of
    /// the module `compile`.
    ///
    /// # Errors
    /// A graph inside the node cannot be compiled.
    fn compile(&self, options: &dyn Any) -> Result<CompiledControl>;

    /// Returns the graphs inside the node. Each graph is a `RegionGraph`, a type of the module `graph`.
    fn regions(&self) -> Vec<&dyn Any>;

    /// Returns the number of operands before the captures: the selector of a branch, or the initial state and the rows
    /// of a loop. Regions read the other operands because their closures use values of the graph around them.
    fn own_operands(&self) -> usize;

    /// Returns what the node computes, in terms of its regions.
    fn form(&self) -> ControlForm<'_>;
}

/// What a node of control flow computes, in terms of its regions.
#[cfg_attr(not(feature = "graphdef"), allow(dead_code, reason = "only the export reads all parts"))]
pub(crate) enum ControlForm<'a> {
    Branches(BranchesForm<'a>),
    While(WhileForm<'a>),
    Rows(RowsForm<'a>),
    /// The node computes the region once. Input `i` of the region is operand `i`; `captures` is empty.
    Call(BodyRegion<'a>),
}

/// A region of a node of control flow.
#[cfg_attr(not(feature = "graphdef"), allow(dead_code, reason = "only the export reads all parts"))]
pub(crate) struct BodyRegion<'a> {
    /// The name in messages and dumps: `then`, `body`.
    pub name: &'a str,
    /// A `GraphData`, a type of the module `graph`.
    pub graph: &'a dyn Any,
    /// The numbers of the values of the graph that are the results.
    pub outputs: Vec<u32>,
    /// For each input of the graph, the number of the node's operand that is passed to the input. Empty for the body of
    /// a loop, whose inputs `sources` gives.
    pub captures: &'a [usize],
}

/// A node that computes one of its regions. Operand 0 chooses the region.
pub(crate) struct BranchesForm<'a> {
    /// The regions, in the order of the numbers that choose them. If the chooser is a bool: the region for false, then
    /// the region for true.
    pub regions: Vec<BodyRegion<'a>>,
    /// The op that selects elements, if the chooser is a bool: its operands are the bool, the elements for true and the
    /// elements for false.
    pub select: Option<&'static OpDef>,
}

/// A loop with a condition. The first operands are the initial state.
pub(crate) struct WhileForm<'a> {
    /// The condition. An input that stands for an initial state value takes the current one.
    pub condition: BodyRegion<'a>,
    /// An iteration. The results are the next values of the state values that change, and whether the loop goes on with
    /// them. `sources`, and not the captures, give the inputs.
    pub step: BodyRegion<'a>,
    /// The source of each input of `step`.
    pub sources: &'a [LoopSource],
    /// The numbers of the state values that change. Operand `i` is the initial value of state value `i`. Result `i` is
    /// its last value if it changes, otherwise its initial value.
    pub changing: &'a [usize],
    /// The maximum number of iterations of a run.
    pub limit: Option<u64>,
    /// Whether a cancellation token may end the loop before its condition does.
    pub has_token: bool,
}

/// A loop over rows. The first operands are the initial state, and the next operands are the tensors with the rows.
#[cfg_attr(not(feature = "graphdef"), allow(dead_code, reason = "only the export reads all parts"))]
pub(crate) struct RowsForm<'a> {
    /// An iteration. The results are the next values of the state values that change, then the outputs. `sources`, and
    /// not the captures, give the inputs.
    pub body: BodyRegion<'a>,
    /// The source of each input of `body`. [`LoopSource::Operand`] of an operand with rows means its row of the current
    /// iteration.
    pub sources: &'a [LoopSource],
    /// As [`WhileForm::changing`].
    pub changing: &'a [usize],
    /// The number of state values. The node has their last values as its first results.
    pub states: usize,
    /// The number of operands with rows.
    pub xs: usize,
    /// Whether the outputs are joined along axis 0, and give two results each: the joined rows and the row splits.
    /// Otherwise the outputs are stacked, and give one result each.
    pub is_joined: bool,
    /// The maximum number of iterations of a run.
    pub limit: Option<u64>,
}

/// The source of an input of a loop body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LoopSource {
    /// A state value that changes, by its position among the state values that change.
    State(usize),
    /// An operand of the loop.
    Operand(usize),
}

/// A compiled node of control flow.
pub(crate) struct CompiledControl {
    pub kernel: Arc<dyn HostKernel>,
    /// The compiled graphs inside the node, in the order of [`Control::regions`]. Each graph is an `Executable`, a type
    /// of the module `exec`; `None` for a graph that computes nothing.
    pub programs: Programs,
}

/// A compiled graph inside a node of control flow.
pub(crate) type Program = Option<Box<dyn Any + Send + Sync>>;

/// The compiled graphs inside a node of control flow.
pub(crate) type Programs = Vec<Program>;

impl OpDef {
    /// Returns the definition of the compiled form of a node of control flow: its body is the kernel.
    pub(crate) fn with_compiled(&self, control: Arc<dyn Control>, compiled: CompiledControl) -> OpDef {
        let inside = Some(Arc::new((control, compiled.programs)));
        OpDef { body: Body::HostWith(compiled.kernel), inside, ..self.clone() }
    }

    /// Returns the graphs inside a node of control flow, compiled or not.
    pub(crate) fn control(&self) -> Option<&dyn Control> {
        match (&self.body, &self.inside) {
            (Body::Control(control), _) => Some(&**control),
            (_, Some(inside)) => Some(&*inside.0),
            _ => None,
        }
    }

    /// Returns the number of operands before the captures, see [`Control::own_operands`]. Returns `usize::MAX` for an
    /// op without regions, because none of its operands is a capture.
    pub(crate) fn own_operands(&self) -> usize {
        self.control().map_or(usize::MAX, Control::own_operands)
    }

    /// Returns the compiled graphs inside a compiled node of control flow.
    pub(crate) fn programs(&self) -> &[Program] {
        self.inside.as_ref().map_or(&[], |inside| &inside.1)
    }
}
