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

    /// Returns the two regions of a node that computes one of them; a bool, operand 0, chooses the region. Returns
    /// `None` for any other node, which is the default.
    fn selection(&self) -> Option<Selection<'_>> {
        None
    }

    /// Returns the regions of a loop that may be unrolled. Returns `None` for any other node, which is the default.
    fn unrolling(&self) -> Option<Unrolling<'_>> {
        None
    }
}

/// A region of a node of control flow.
pub(crate) struct BodyRegion<'a> {
    /// A `GraphData`, a type of the module `graph`. The inputs of the graph are the captures.
    pub graph: &'a dyn Any,
    /// The numbers of the values of the graph that are the results.
    pub outputs: Vec<u32>,
    /// For each input of the graph, the number of the node's operand that is passed to the input.
    pub captures: &'a [usize],
}

/// The two regions of a node that computes one of them. A bool chooses the region.
pub(crate) struct Selection<'a> {
    /// The region for false, then the region for true.
    pub regions: [BodyRegion<'a>; 2],
    /// The op that selects elements: its operands are the bool, the elements for true and the elements for false.
    pub select: &'static OpDef,
}

/// The regions of a loop without a limit and without a token.
pub(crate) struct Unrolling<'a> {
    /// The condition on the initial state.
    pub first_condition: BodyRegion<'a>,
    /// An iteration. The results are the next values of the state values that change, and whether the loop goes on with
    /// them. `sources`, and not the captures, give the inputs.
    pub step: BodyRegion<'a>,
    /// The source of each input of `step`.
    pub sources: &'a [LoopSource],
    /// The operands with the initial values of the state values that change. The result of the node with the number of
    /// such an operand is the last value. The other results are their initial values.
    pub changing: &'a [usize],
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

/// The compiled graphs inside a node of control flow.
pub(crate) type Programs = Vec<Option<Box<dyn Any + Send + Sync>>>;

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

    /// Returns the compiled graphs inside a compiled node of control flow.
    pub(crate) fn programs(&self) -> &[Option<Box<dyn Any + Send + Sync>>] {
        self.inside.as_ref().map_or(&[], |inside| &inside.1)
    }
}
