//! `Snapshot`: a stage of the compilation of a graph as plain data, from which every dump format is written.

use std::borrow::Cow;

use shapeflow_shape_fns::{Attr, Attribute, DType, TensorShape, counted};

use super::StageKind;
use super::checks::{checks, inner_label};
use super::place::{Place, Places, joined};
use super::provenance::Explainer;
use crate::error::is_library_line;
use crate::graph::{DimNames, Graph, GraphData, MetRegions, NodeIx, RESOURCE, RegionGraph, ValueIx};
use crate::op::Body;

/// A stage of the compilation of a graph as plain data: its text, and its nodes and kernels for the other formats.
///
/// A snapshot is a copy: it does not change with the graph. A snapshot holds no tensors, only the text of the first
/// elements of constants.
///
/// ```
/// use shapeflow::{DType, Graph, shape};
///
/// let g = Graph::new();
/// let _ = g.input("x", DType::F32, shape!["n", 3])?.relu()?;
/// let snapshot = g.snapshot();
/// assert!(snapshot.text().contains("%1: f32[n, 3] = relu(%0)"));
/// assert!(snapshot.to_dot().starts_with("digraph"));
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub(crate) stage: StageKind,
    pub(crate) text: String,
    pub(crate) nodes: Vec<NodeView>,
    pub(crate) guards: Vec<GuardView>,
    pub(crate) kernels: Vec<KernelView>,
    /// The number of the compiled program, which is part of the [`KernelKey`](super::KernelKey)s of its kernels; 0 for
    /// a graph that is not compiled.
    pub(crate) origin: u64,
}

/// The kind of a node, which decides how it is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NodeKind {
    Input,
    Constant,
    Op,
}

impl NodeKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            NodeKind::Input => "input",
            NodeKind::Constant => "constant",
            NodeKind::Op => "op",
        }
    }
}

/// An attribute of a node.
#[derive(Clone, Debug)]
pub(crate) struct AttrView {
    pub name: String,
    pub value: Attr,
    /// The value as text, with the names that shapes show for unknown dimensions.
    pub text: String,
}

/// A node of a snapshot.
#[derive(Clone, Debug)]
pub(crate) struct NodeView {
    pub kind: NodeKind,
    /// The name of the op. A node that stands in place of an op without a definition, or of a refused node, has the op
    /// type of the model.
    pub op: Cow<'static, str>,
    /// The names of the node's scopes, then the name of the node, separated by `/`. A node without a name has the name
    /// of its op. A composite op is a scope with the name of its result, and the result has the name of the scope.
    pub label: String,
    /// The full name of the innermost scope in pictures; empty for a node without scopes.
    pub path: String,
    /// Whether the label differs from the name of the op.
    pub named: bool,
    pub attrs: Vec<AttrView>,
    /// The attributes that the op declares.
    pub declared: &'static [Attribute],
    pub operands: Vec<ValueRef>,
    pub outputs: Vec<ValueView>,
    /// The line of the user's program that made the node; an imported node has none.
    pub location: Option<String>,
    /// The scopes and the composite ops around the node, innermost first, each with its line in the program.
    pub scopes: Vec<String>,
    /// The first elements of a constant, as text.
    pub content: Option<String>,
    /// If inference refused the node: the reason.
    pub error: Option<String>,
    /// The control-flow node whose inner graph contains the node.
    pub region: Option<usize>,
    /// The kernel that computes the node: a position in [`Snapshot::kernels`].
    pub kernel: Option<usize>,
}

/// A reference to a value: a node, and the number of an output of this node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct ValueRef {
    pub node: usize,
    pub output: usize,
}

/// An output of a node.
#[derive(Clone, Debug)]
pub(crate) struct ValueView {
    /// The name in the text of the stage, such as `%3`.
    pub name: String,
    pub dtype: DType,
    /// Whether the value stands for the handle of a variable or a table. Its dtype and shape have no meaning.
    pub is_handle: bool,
    pub shape: TensorShape,
    /// The shape as text, in which unknown dimensions have the names that the graph gives them.
    pub shape_text: String,
    /// The texts of the dimensions.
    pub dims: Vec<String>,
    /// Explains the origins of the unknown dimensions, one line for each step.
    pub provenance: Vec<String>,
    /// The position among the outputs of the compiled graph.
    pub result: Option<usize>,
}

/// A requirement that a run checks.
#[derive(Clone, Debug)]
pub(crate) struct GuardView {
    pub text: String,
    /// The node that has the requirement; `None` for a requirement that the program states.
    pub node: Option<usize>,
}

/// A step of a compiled program: a fused kernel, a matmul, or a host op.
#[derive(Clone, Debug)]
pub(crate) struct KernelView {
    /// The position among the steps of the program.
    pub step: usize,
    pub kind: KernelKind,
    /// The names of the fused ops.
    pub label: String,
    /// The text of the loops.
    pub loops: String,
    /// The values that the step stores, each with the reason why it is in memory.
    pub writes: Vec<String>,
    /// The code in Cranelift's intermediate representation, from [`StageKind::Clif`] on.
    pub clif: Option<String>,
    /// The machine instructions, at [`StageKind::Asm`].
    pub asm: Option<String>,
}

/// The kind of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KernelKind {
    /// A kernel that fuses ops.
    Fused,
    /// A matrix product.
    Matmul,
    /// A host op.
    Host,
}

impl KernelKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            KernelKind::Fused => "kernel",
            KernelKind::Matmul => "matmul",
            KernelKind::Host => "host",
        }
    }
}

/// Maximum number of elements of a constant that a snapshot shows.
const ELEMENTS: usize = 8;

impl Snapshot {
    /// Returns the stage that the snapshot shows.
    pub fn stage(&self) -> StageKind {
        self.stage
    }

    /// Returns the text of the stage.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Takes a snapshot of a graph without kernels.
    pub(crate) fn of_graph(data: &GraphData, stage: StageKind) -> Snapshot {
        let names = data.dim_names();
        let mut explainer = Explainer::new(data, &names);
        let places = Places::of(data);
        let nodes = (0..data.nodes.len())
            .map(|number| node_view(data, NodeIx(number as u32), &names, &places, &mut explainer));
        let mut snapshot = Snapshot {
            stage,
            text: data.text(),
            nodes: nodes.collect(),
            guards: Vec::new(),
            kernels: Vec::new(),
            origin: 0,
        };
        snapshot.add_checks(data, &names, 0);
        snapshot.add_regions(data, 0, &mut MetRegions::default());
        snapshot
    }

    /// Adds the requirements of a graph whose nodes stand from position `first` on.
    fn add_checks(&mut self, data: &GraphData, names: &DimNames, first: usize) {
        let views = checks(data, names).into_iter();
        let node = |node: NodeIx| first + node.index();
        self.guards.extend(views.map(|(text, origin)| GuardView { text, node: origin.map(node) }));
    }

    /// Adds the nodes and the requirements of the graphs inside the nodes of `data`. The nodes of `data` already stand
    /// from position `first` on. The name of each added node begins with the names of its outer node and of its graph,
    /// as if these were scopes. A graph that several nodes share is added once, for the first of them.
    fn add_regions(&mut self, data: &GraphData, first: usize, met: &mut MetRegions) {
        for number in 0..data.nodes.len() {
            let owner = first + number;
            for found in data.regions(NodeIx(number as u32)) {
                if !met.is_new(found) {
                    continue;
                }
                let RegionGraph { name: region, graph, .. } = found;
                let outer = self.nodes[owner].label.clone();
                let around = self.nodes[owner].inner_path(region);
                let values = self.nodes[owner].outputs.first().map_or("", |value| value.name.as_str());
                let values = format!("{values}.{region}.");
                let names = graph.dim_names();
                let mut explainer = Explainer::new(graph, &names);
                let places = Places::of(graph);
                let start = self.nodes.len();
                for number in 0..graph.nodes.len() {
                    let index = NodeIx(number as u32);
                    let mut view = node_view(graph, index, &names, &places, &mut explainer);
                    view.label = inner_label(&outer, region, &view.label);
                    view.path = joined(&around, &within_region(&view.path, region));
                    view.named = true;
                    view.region = Some(owner);
                    for operand in &mut view.operands {
                        operand.node += start;
                    }
                    for output in &mut view.outputs {
                        output.name.insert_str(0, &values);
                    }
                    self.nodes.push(view);
                }
                self.add_checks(graph, &names, start);
                self.add_regions(graph, start, met);
            }
        }
    }

    /// Adds the nodes of `graph` that inference refused. Refused nodes cannot be compiled, so snapshots of stages after
    /// [`StageKind::Graph`] lack them.
    #[must_use]
    pub fn with_refused(mut self, graph: &Graph) -> Snapshot {
        if self.stage == StageKind::Graph {
            return self;
        }
        let mut refused: Vec<NodeView> =
            graph.snapshot().nodes.into_iter().filter(|node| node.error.is_some()).collect();
        for node in &mut refused {
            // The operands have the numbers of `graph`. The values of the compiled graph have other numbers.
            node.operands.clear();
            for output in &mut node.outputs {
                output.name = format!("{}.{}", node.label, output.name);
            }
            let error = node.error.as_deref().unwrap_or_default();
            let text = format!("node {} is not compiled: {error}", node.label);
            self.text.truncate(self.text.trim_end().len());
            self.text.push_str(&format!("\n// {}\n", text.replace('\n', "\n// ")));
        }
        self.nodes.append(&mut refused);
        self
    }

    /// Marks the outputs of the compiled graph.
    pub(crate) fn mark_results(&mut self, data: &GraphData, outputs: &[ValueIx]) {
        for (number, value) in outputs.iter().enumerate() {
            let value = value_ref(data, *value);
            let view = self.nodes.get_mut(value.node).and_then(|node| node.outputs.get_mut(value.output));
            if let Some(view) = view {
                view.result.get_or_insert(number);
            }
        }
    }
}

impl ValueView {
    /// Returns dtype and shape, such as `f32[n, 3]`.
    pub(crate) fn type_text(&self) -> String {
        match self.is_handle {
            true => RESOURCE.to_string(),
            false => format!("{}{}", self.dtype, self.shape_text),
        }
    }
}

impl NodeView {
    /// Returns the last part of the label.
    pub(crate) fn short_label(&self) -> &str {
        self.label.rsplit('/').next().unwrap_or(&self.label)
    }

    /// Returns the full name of the scope of a branch or a loop body of this node.
    fn inner_path(&self, region: &str) -> String {
        joined(&joined(&self.path, self.short_label()), region)
    }

    /// Returns the attributes that pictures show. Pictures leave out attributes with the default value of the op. A
    /// bool attribute that the op does not declare has the default false: an import keeps such attributes of
    /// TensorFlow's ops.
    pub(crate) fn shown_attrs(&self) -> impl Iterator<Item = String> {
        let shown = self.attrs.iter().filter(|AttrView { name, value, .. }| {
            let declared = self.declared.iter().find(|attribute| attribute.name() == name);
            let is_default = match declared {
                Some(attribute) => attribute.is_default(value),
                None => matches!(value, Attr::Bool(false)),
            };
            !name.starts_with('_') && !is_default
        });
        shown.map(|attr| format!("{}={}", attr.name, attr.text))
    }

    /// Returns the attributes that pictures show as text, such as `axis=1, num=2`.
    pub(crate) fn attrs_text(&self) -> String {
        self.shown_attrs().collect::<Vec<_>>().join(", ")
    }
}

fn value_ref(data: &GraphData, value: ValueIx) -> ValueRef {
    let node = data.values[value.index()].node;
    ValueRef { node: node.index(), output: (value.0 - data.nodes[node.index()].first_output.0) as usize }
}

/// Returns the path of a node relative to the branch or the loop body that contains the node. The names of a closure's
/// nodes may begin with the name of the region already.
fn within_region(path: &str, region: &str) -> String {
    let names: Vec<&str> = path.split('/').collect();
    match names.iter().rposition(|name| *name == region) {
        Some(last) => names[last + 1..].join("/"),
        None => path.to_string(),
    }
}

fn node_view(
    data: &GraphData,
    index: NodeIx,
    names: &DimNames,
    places: &Places,
    explainer: &mut Explainer<'_>,
) -> NodeView {
    let node = &data.nodes[index.index()];
    let Place { label, path } = places.place(data, index);
    let stands_for = node.op.stands_for(node.attrs());
    // The op that the node stands for, or the regions of the node, say what the attributes say.
    let has_attrs = stands_for.is_none() && node.op.control().is_none();
    let attrs = if has_attrs { data.shown_attrs(node) } else { Default::default() };
    let outputs = node.values().map(|value| {
        let info = &data.values[value.index()];
        let shape = data.table.resolve_shape(&info.shape);
        ValueView {
            name: value.to_string(),
            dtype: info.dtype,
            is_handle: data.handles.contains(&value),
            provenance: explainer.lines(&info.shape),
            shape_text: names.shape(&shape),
            dims: shape.dims().unwrap_or_default().iter().map(|dim| names.dim_text(dim)).collect(),
            shape,
            result: None,
        }
    });
    NodeView {
        kind: match node.op.body {
            Body::Input => NodeKind::Input,
            Body::Constant => NodeKind::Constant,
            _ => NodeKind::Op,
        },
        named: label != node.op.name(),
        label,
        path,
        attrs: attrs
            .iter()
            .map(|(name, value)| AttrView {
                name: name.to_string(),
                value: value.clone(),
                text: names.scope(|| value.to_string()),
            })
            .collect(),
        declared: node.op.attributes(),
        operands: node.operands.iter().map(|operand| value_ref(data, *operand)).collect(),
        outputs: outputs.collect(),
        location: (!is_library_line(node.location)).then(|| node.location.to_string()),
        scopes: data
            .scope_chain(node.scope)
            .into_iter()
            .map(|(name, location)| match is_library_line(location) {
                true => name,
                false => format!("{name} at {location}"),
            })
            .collect(),
        content: data.constants.get(&index).map(|tensor| match tensor.len() {
            0..=ELEMENTS => tensor.elements_text(ELEMENTS),
            count => {
                format!("{} of {count}", tensor.elements_text(ELEMENTS), count = counted(count, "element"))
            }
        }),
        error: data.refused.get(&index).map(|error| error.message().to_string()),
        region: None,
        kernel: None,
        op: stands_for.map_or(node.op.name().into(), |op_type| op_type.to_string().into()),
    }
}

impl Graph {
    /// Takes a snapshot of the graph, for dumps.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, StageKind, shape};
    ///
    /// let g = Graph::new();
    /// let _ = g.input("x", DType::F32, shape!["n", 3])?.relu()?;
    /// assert_eq!(g.snapshot().stage(), StageKind::Graph);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of_graph(&self.read(), StageKind::Graph)
    }
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, shape};

    #[test]
    fn loop_bodies_are_scopes() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let _ = g.while_loop(
            &[x],
            |s| s[0].reduce_sum(0)?.less(100.0f32),
            |s| Ok([(s[0] * 2.0).ok()?.named("double")]),
        )?;
        let snapshot = g.snapshot();
        let double = snapshot.nodes.iter().find(|node| node.label.ends_with("body/double"));
        let double = double.expect("the body's nodes are shown");
        let owner = &snapshot.nodes[double.region.expect("the node is inside the loop")];
        assert!(double.label.starts_with(&owner.label), "{} {}", double.label, owner.label);
        assert!(double.operands.iter().all(|value| snapshot.nodes[value.node].region == double.region));
        Ok(())
    }
}
