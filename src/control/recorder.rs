//! `Recorder`: records the nodes that a closure adds, and turns them into a region.

use std::any::Any;
use std::panic::Location;

use shapeflow_shape_fns::{DType, Dim, DimTable, Equality, IntoDim, TensorShape, Unknown};

use crate::compile::{CompileOptions, frontier, mark_definers};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::exec::Executable;
use crate::graph::{Graph, GraphData, OpenRegion, RegionGraph, Scope, Value, ValueIx, needed_nodes};
use crate::op::{Body, BodyRegion};
use crate::passes::{KnownEqualities, KnownInputs, Rebuilt, rebuild, subgraph};

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

    /// Returns the region with the operands that it captures, as [`Control::form`](crate::op::Control::form) does.
    pub(super) fn as_body<'a>(&'a self, captures: &'a [usize]) -> BodyRegion<'a> {
        let outputs = self.0.outputs.iter().map(|output| output.0).collect();
        BodyRegion { name: &self.0.name, graph: &self.0.graph, outputs, captures }
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
    /// Where each output comes from, for errors: the label of its node, and the line of the node.
    origins: Vec<(String, &'static Location<'static>)>,
}

impl Recorded<'_> {
    /// Adds to an error where an output comes from.
    pub(super) fn with_origin(&self, error: Error, output: usize) -> Error {
        let (label, location) = &self.origins[output];
        let text = format!("output {output} of {} comes from {label}", self.region.name());
        error.note(text, Some(*location))
    }
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
    ///
    /// # Errors
    /// Too many regions are around this one.
    pub(super) fn open(
        graph: &'g Graph,
        name: &str,
        is_scoped: bool,
        location: &'static Location<'static>,
    ) -> Result<Recorder<'g>> {
        let region = graph.open_region()?;
        let scope = is_scoped.then(|| Scope::enter(graph, name, location));
        let name = name.to_string();
        Ok(Recorder { _scope: scope, region, graph, name, parameters: Vec::new(), location })
    }

    /// Adds a parameter.
    pub(super) fn parameter(&mut self, name: String, dtype: DType, shape: &TensorShape) -> Value<'g> {
        let value = self.region.parameter(name, dtype, shape, self.location);
        self.parameters.push(value.index().expect("a value just made is not poisoned"));
        value
    }

    /// Adds a parameter that gets its first value from `source`, or from the rows of `source`.
    pub(super) fn parameter_of(
        &mut self,
        name: String,
        source: Value<'g>,
        dtype: DType,
        shape: &TensorShape,
    ) -> Value<'g> {
        let value = self.parameter(name, dtype, shape);
        if let (Ok(parameter), Ok(source)) = (value.index(), source.index()) {
            self.graph.write().parameter_sources.insert(parameter, source);
        }
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
                let error = Error::new(ErrorKind::ForeignValue, Phase::Build, message).at(self.location);
                return Err(value.named_as_foreign(error));
            }
            wanted.push(value.index()?);
        }
        let data = self.graph.read();
        let part = self.part(&data, &wanted)?;
        let captures = part.inputs[self.parameters.len()..].iter();
        let captures = captures.map(|value| Value::new(self.graph, *value)).collect();
        let is_outer = |dim: &Dim| self.region.is_known_outside(&data, dim);
        let shapes = part.shapes(&data, &wanted, &is_outer);
        let node = |value: &ValueIx| data.values[value.index()].node;
        let origins = wanted.iter().map(node);
        let origins =
            origins.map(|node| (data.node_label(node), data.nodes[node.index()].location)).collect();
        drop(data);
        let shapes = shapes.unwrap_or_else(|| outputs.iter().map(|value| value.shape()).collect());
        let results = outputs.iter().zip(&shapes);
        let results = results.map(|(value, shape)| (value.dtype(), self.region.outer_shape(shape))).collect();
        let copied = part.copied;
        let outputs = wanted.iter().map(|value| copied.values[value]).collect();
        let region = Region(RegionGraph { name: self.name.clone(), graph: copied.graph, outputs });
        Ok(Recorded { region, captures, results, origins })
    }

    /// Returns the shapes of pairs of values, as far as the nodes that compute these values determine them. The shapes
    /// have the dims of one graph, so that equal dims are equal sizes. They do not have the dims of the graph around
    /// the region.
    ///
    /// # Errors
    /// As [`Recorder::finish`].
    pub(super) fn shapes_of(
        &self,
        given: &[Value<'g>],
        returned: &[Value<'g>],
    ) -> Result<Vec<[TensorShape; 2]>> {
        let pairs = || given.iter().zip(returned);
        let data = self.graph.read();
        let is_own = |value: &&Value<'g>| value.graph().tag() == self.graph.tag();
        let wanted: Option<Vec<ValueIx>> = given
            .iter()
            .chain(returned)
            .map(|value| Some(value).filter(is_own).and_then(|value| value.index().ok()))
            .collect();
        if let Some(wanted) = wanted
            && self.has_unneeded_equalities(&data, &self.needed(&data, &wanted))
        {
            let part = self.part(&data, &wanted)?;
            if part.known.is_some() {
                let shape = |value: &Value<'g>| {
                    let new = part.copied.values[&value.index().expect("no value is poisoned")];
                    let graph = &part.copied.graph;
                    graph.table.resolve_shape(&graph.values[new.index()].shape)
                };
                return Ok(pairs().map(|(given, returned)| [shape(given), shape(returned)]).collect());
            }
        }
        drop(data);
        Ok(pairs().map(|(given, returned)| [given.shape(), returned.shape()]).collect())
    }

    /// Returns the shapes of values, as far as the nodes that compute these values determine them.
    ///
    /// # Errors
    /// A value is poisoned, or inference refuses a node.
    #[cfg(feature = "graphdef")]
    pub(super) fn shapes(&self, values: &[Value<'g>]) -> Result<Vec<TensorShape>> {
        let wanted: Vec<ValueIx> = values.iter().map(|value| value.index()).collect::<Result<_>>()?;
        let data = self.graph.read();
        let shapes = match self.has_unneeded_equalities(&data, &self.needed(&data, &wanted)) {
            true => self.part(&data, &wanted)?.shapes(&data, &wanted, &|_| true),
            false => None,
        };
        drop(data);
        Ok(shapes.unwrap_or_else(|| values.iter().map(|value| value.shape()).collect()))
    }

    /// Copies the nodes of the region that `wanted` needs to a graph of their own. Equalities of dims that only other
    /// nodes of the region require do not hold in this graph: a run does not check them.
    ///
    /// # Errors
    /// Inference refuses a node.
    fn part(&self, data: &GraphData, wanted: &[ValueIx]) -> Result<Part> {
        let marked = self.needed(data, wanted);
        if self.has_unneeded_equalities(data, &marked) || self.ties_names(data) {
            let known = data.table.with_first_equalities(self.region.equalities());
            let part = self.copy(data, wanted, marked.clone(), Some(known));
            // Inference may lack a number that only an equality of a dropped node gives.
            if part.is_ok() {
                return part;
            }
        }
        self.copy(data, wanted, marked, None)
    }

    /// Marks the nodes of the region that compute the `wanted` values, except inputs and constants.
    fn needed(&self, data: &GraphData, wanted: &[ValueIx]) -> Vec<bool> {
        let first = self.region.first_node().index();
        let mut marked = needed_nodes(data, wanted);
        for (number, marked) in marked.iter_mut().enumerate() {
            let is_given = matches!(data.nodes[number].op.body, Body::Input | Body::Constant);
            *marked &= number >= first && !is_given;
        }
        marked
    }

    /// Returns whether nodes of the region that are not marked require dims to be equal.
    fn has_unneeded_equalities(&self, data: &GraphData, marked: &[bool]) -> bool {
        self.equalities(data).iter().any(|equality| marked.get(equality.origin as usize) == Some(&false))
    }

    /// Returns whether a node of the region makes names of the program equal. A graph of these nodes that does not know
    /// of the equality yet records it, so that it lists the tie.
    fn ties_names(&self, data: &GraphData) -> bool {
        self.equalities(data).iter().any(|equality| !equality.symbol.is_anonymous())
    }

    /// Returns the equalities that the nodes of the region require.
    fn equalities<'d>(&self, data: &'d GraphData) -> &'d [Equality] {
        &data.table.equalities()[self.region.equalities()..]
    }

    /// Copies the `marked` nodes, and the nodes that define the symbolic dims of these nodes.
    ///
    /// # Errors
    /// Inference refuses a node.
    fn copy(
        &self,
        data: &GraphData,
        wanted: &[ValueIx],
        mut marked: Vec<bool>,
        known: Option<DimTable>,
    ) -> Result<Part> {
        let table = known.as_ref().unwrap_or(&data.table);
        mark_definers(data, table, &mut marked);
        let mut inputs = self.parameters.clone();
        let read_outside = wanted.iter().copied().filter(|value| {
            let node = data.values[value.index()].node;
            !marked[node.index()] && !data.constants.contains_key(&node)
        });
        for value in frontier(data, table, &marked).into_iter().chain(read_outside) {
            if !inputs.contains(&value) {
                inputs.push(value);
            }
        }
        debug_assert!(
            inputs[self.parameters.len()..].iter().all(|value| *value < self.region.first_value()),
            "a region reads only its parameters and values made before the region"
        );
        let first = self.region.first_node().index();
        let required: Vec<bool> =
            marked.iter().enumerate().map(|(number, marked)| *marked || number < first).collect();
        let equalities = known.as_ref().map(|table| KnownEqualities { table, required: &required });
        let copied = subgraph(data, &marked, &inputs, wanted, equalities)?;
        Ok(Part { copied, inputs, known })
    }
}

/// Nodes of a region as a graph of their own.
struct Part {
    copied: Rebuilt,
    /// The values of the graph around the nodes that are the inputs of the copy: the parameters, then the captures.
    inputs: Vec<ValueIx>,
    /// The equalities that hold although no node of the copy requires them; `None` if all equalities of the graph hold.
    known: Option<DimTable>,
}

impl Part {
    /// Returns the shapes of values in the dims of `data`, the graph that the nodes come from; `None` if all equalities
    /// of that graph hold, so that the values have their shapes there. A dim that no input has is unknown, and so is a
    /// dim for which `is_visible` does not hold.
    fn shapes(
        &self,
        data: &GraphData,
        wanted: &[ValueIx],
        is_visible: &dyn Fn(&Dim) -> bool,
    ) -> Option<Vec<TensorShape>> {
        let known = self.known.as_ref()?;
        let graph = &self.copied.graph;
        let shape = |value: &ValueIx| {
            let new = self.copied.values[value];
            graph.table.resolve_shape(&graph.values[new.index()].shape)
        };
        let mut named: Vec<(Dim, Dim)> = Vec::new();
        for input in &self.inputs {
            let (old, new) = (&data.values[input.index()].shape, shape(input));
            for (old, new) in old.dims().unwrap_or_default().iter().zip(new.dims().unwrap_or_default()) {
                let old = known.resolve(old);
                if is_visible(&old) {
                    named.push((new.clone(), old));
                }
            }
        }
        let find = |dim: &Dim| named.iter().find(|(new, _)| new == dim).map(|(_, old)| old.clone());
        let mut unknown: Vec<(Dim, Dim)> = Vec::new();
        let mut translated = |dim: &Dim| {
            if dim.is_known() {
                return dim.clone();
            }
            let mut has_all = true;
            let substituted = find(dim).or_else(|| {
                let named = dim.try_substitute(&mut |symbol| {
                    // Every graph has the same names.
                    let name = || (!symbol.is_anonymous()).then(|| Dim::from(symbol));
                    let old = find(&Dim::from(symbol)).or_else(name);
                    has_all &= old.is_some();
                    old
                });
                named.ok().filter(|_| has_all)
            });
            substituted.unwrap_or_else(|| {
                let found = unknown.iter().find(|(other, _)| other == dim).map(|(_, fresh)| fresh.clone());
                found.unwrap_or_else(|| {
                    let fresh = Unknown.into_dim();
                    unknown.push((dim.clone(), fresh.clone()));
                    fresh
                })
            })
        };
        let of_value = |value: &ValueIx| match shape(value).dims() {
            Some(dims) => TensorShape::new(dims.iter().map(&mut translated)),
            None => TensorShape::unranked(),
        };
        Some(wanted.iter().map(of_value).collect())
    }
}
