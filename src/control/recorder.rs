//! `Recorder`: records the nodes that a closure adds, and turns them into a region.

use std::any::Any;
use std::panic::Location;

use shapeflow_shape_fns::{DType, TensorShape};

use crate::compile::{CompileOptions, frontier, mark_definers};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::Executable;
use crate::graph::{Graph, OpenRegion, RegionGraph, Scope, Value, ValueIx, needed_nodes};
use crate::op::{Body, BodyRegion};
use crate::passes::{KnownInputs, rebuild, subgraph};

/// A graph inside a node.
pub(super) struct Region(RegionGraph);

impl Region {
    /// Compiles the region.
    ///
    /// # Errors
    /// The graph cannot be compiled.
    pub(super) fn compile(&self, options: &CompileOptions) -> Result<Executable> {
        let RegionGraph { name, graph, outputs } = &self.0;
        let rebuilt = rebuild(graph, outputs, &KnownInputs::default())?;
        let outputs: Vec<ValueIx> = outputs.iter().map(|value| rebuilt.values[value]).collect();
        let names = (0..outputs.len()).map(|number| format!("{name}:{number}")).collect();
        Executable::of_whole(rebuilt.graph, outputs, names, options)
    }

    /// Returns the graph, as [`Control::regions`](crate::op::Control::regions) does.
    pub(super) fn as_any(&self) -> &dyn Any {
        &self.0
    }

    /// Returns the name in messages: `then`, `body`.
    pub(super) fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the region with the operands that it captures, for passes over the graph around it.
    pub(super) fn for_passes<'a>(&'a self, captures: &'a [usize]) -> BodyRegion<'a> {
        let outputs = self.0.outputs.iter().map(|output| output.0).collect();
        BodyRegion { graph: &self.0.graph, outputs, captures }
    }

    /// Returns the number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.0.outputs.len()
    }
}

/// A region, the outer values that it reads, and the types of its outputs.
pub(super) struct Recorded<'g> {
    pub region: Region,
    /// The values of the outer graph that the region reads.
    pub captures: Vec<Value<'g>>,
    /// The dtype and the shape of each output, in the dims of the outer graph.
    pub results: Vec<(DType, TensorShape)>,
}

/// Records a region. All nodes that are added while the recorder lives belong to the region.
pub(super) struct Recorder<'g> {
    // Rust drops fields in their order, so the scope closes before the region.
    _scope: Option<Scope<'g>>,
    region: OpenRegion<'g>,
    graph: &'g Graph,
    name: String,
    parameters: Vec<ValueIx>,
    location: &'static Location<'static>,
}

impl<'g> Recorder<'g> {
    /// Opens a region. If `is_scoped`, the names of the region's nodes begin with the name of the region.
    pub(super) fn open(
        graph: &'g Graph,
        name: &str,
        is_scoped: bool,
        location: &'static Location<'static>,
    ) -> Recorder<'g> {
        let region = graph.open_region();
        let scope = is_scoped.then(|| Scope::enter(graph, name.to_string().into(), location));
        Recorder { _scope: scope, region, graph, name: name.to_string(), parameters: Vec::new(), location }
    }

    /// Adds a parameter.
    pub(super) fn parameter(&mut self, name: String, dtype: DType, shape: &TensorShape) -> Value<'g> {
        let value = self.region.parameter(name, dtype, shape, self.location);
        self.parameters.push(value.index().expect("a value just made is not poisoned"));
        value
    }

    /// Closes the region.
    ///
    /// # Errors
    /// An output is poisoned or belongs to another graph; or inference refuses the region as a graph of its own.
    pub(super) fn finish(self, outputs: &[Value<'g>]) -> Result<Recorded<'g>> {
        let mut wanted = Vec::with_capacity(outputs.len());
        for value in outputs {
            if value.graph().tag() != self.graph.tag() {
                let message = format!(
                    "a closure must return values of the graph made at {}, got a value of the graph made at {}",
                    self.graph.created(),
                    value.graph().created()
                );
                return Err(Error::new(ErrorKind::ForeignValue, Phase::Build, message).at(self.location));
            }
            wanted.push(value.index()?);
        }
        let results = outputs.iter().map(|value| (value.dtype(), self.region.outer_shape(*value))).collect();
        let data = self.graph.read();
        let first = self.region.first_node().index();
        let mut marked = needed_nodes(&data, &wanted);
        for (number, marked) in marked.iter_mut().enumerate() {
            let is_given = matches!(data.nodes[number].op.body, Body::Input | Body::Constant);
            *marked &= number >= first && !is_given;
        }
        // Also marks the nodes that define the symbolic dims of marked nodes.
        mark_definers(&data, &mut marked);
        let mut inputs = self.parameters.clone();
        let read_outside = wanted.iter().copied().filter(|value| {
            let node = data.values[value.index()].node;
            !marked[node.index()] && !data.constants.contains_key(&node)
        });
        for value in frontier(&data, &marked).into_iter().chain(read_outside) {
            if !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        debug_assert!(
            inputs[self.parameters.len()..].iter().all(|value| *value < self.region.first_value()),
            "a region reads only its parameters and values made before the region"
        );
        let copied = subgraph(&data, &marked, &inputs, &wanted)?;
        let captures = inputs[self.parameters.len()..].iter().map(|value| Value::new(self.graph, *value));
        let captures = captures.collect();
        drop(data);
        let outputs = wanted.iter().map(|value| copied.values[value]).collect();
        let region = Region(RegionGraph { name: self.name.clone(), graph: copied.graph, outputs });
        Ok(Recorded { region, captures, results })
    }
}
