//! `Picture`: the boxes of one scope and the wires between them, laid out.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::counted;

use super::drawn::{BoxLine, Drawn, Stub};
use super::labels::{count, short, short_name, wrapped};
use super::layout::{BoxLayout, Pin, Sketch, SketchBox, lay_out};
use super::outline::{Child, Outline};
use super::snapshot::{NodeKind, NodeView, ValueRef};
use super::{Snapshot, StageKind};

/// Maximum number of characters of the title of a node or a scope, without an ellipsis.
const TITLE_CHARS: usize = 34;

/// Maximum number of characters of a line below the title, without an ellipsis.
const LINE_CHARS: usize = 40;

/// Maximum number of characters, without an ellipsis, of the elements of an unnamed constant, of the name of a named
/// constant in the box of its reader, and of the name of a value that enters or leaves the scope.
const CONSTANT_CHARS: usize = 22;

/// A named constant is shown with its dtype and shape instead of its elements if the text of the elements has at least
/// this number of characters.
const NAMED_CONSTANT_CHARS: usize = 12;

/// Maximum number of constants that a box shows, a line each.
const CONSTANTS: usize = 6;

/// The values that enter a scope have a box each if there are at most this many; otherwise none has a box. The same
/// limit holds for the values that leave the scope.
const MAX_BOUNDARY_VALUES: usize = 16;

/// What a box of a picture shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum BoxContent {
    Child(Child),
    /// A value from outside the scope.
    Entry(ValueRef),
    /// A value that nodes outside the scope read.
    Exit(ValueRef),
}

/// A scope as boxes and wires.
pub(super) struct Picture {
    pub boxes: Vec<(BoxContent, Drawn)>,
    /// The operands and outputs of each box, at the offsets where their wires arrive and leave.
    pub sketch: Sketch,
    pub layout: BoxLayout,
    /// For each box: the value of each output of the box.
    pub outputs: Vec<Vec<ValueRef>>,
    /// For each box and each of its operands in the sketch: the number of the operand among all operands of the box.
    pub positions: Vec<Vec<usize>>,
    /// The box and the offset of each operand without a wire. The source of such an operand has no box in the scope, or
    /// the source's box does not come before the operand's box, or the source's box lacks the output.
    pub loose: Vec<(usize, f64)>,
}

impl Snapshot {
    /// Draws a scope.
    pub(super) fn picture(&self, outline: &Outline, scope: usize) -> Picture {
        let view = &outline.scopes[scope];
        let all_or_none = |values: &indexmap::IndexSet<ValueRef>| match values.len() {
            0..=MAX_BOUNDARY_VALUES => values.iter().copied().collect(),
            _ => Vec::new(),
        };
        let (entries, exits): (Vec<ValueRef>, Vec<ValueRef>) =
            (all_or_none(&view.inputs), all_or_none(&view.outputs));
        let children = outline.in_order(scope, self);
        let mut contents: Vec<BoxContent> = entries.into_iter().map(BoxContent::Entry).collect();
        contents.extend(children.into_iter().map(BoxContent::Child));
        contents.extend(exits.into_iter().map(BoxContent::Exit));
        let places: FxHashMap<BoxContent, usize> =
            contents.iter().enumerate().map(|(place, content)| (*content, place)).collect();
        let outputs: Vec<Vec<ValueRef>> =
            contents.iter().map(|content| self.outputs_of(outline, *content)).collect();
        let mut picture = Picture {
            boxes: Vec::new(),
            sketch: Sketch::default(),
            layout: BoxLayout::default(),
            outputs,
            positions: vec![Vec::new(); contents.len()],
            loose: Vec::new(),
        };
        for (place, &content) in contents.iter().enumerate() {
            let operands = self.operands_of(outline, content);
            let drawn = self.drawn(outline, scope, content, &operands);
            let mut sketched = SketchBox {
                width: drawn.width,
                height: drawn.height(),
                open_size: match content {
                    BoxContent::Child(Child::Scope(scope)) => outline.scopes[scope].open_size,
                    _ => (0.0, 0.0),
                },
                operands: Vec::new(),
                outputs: (0..picture.outputs[place].len()).map(|output| drawn.departure(output)).collect(),
                pin: match content {
                    BoxContent::Entry(_) => Pin::Top,
                    BoxContent::Exit(_) => Pin::Bottom,
                    BoxContent::Child(_) => Pin::None,
                },
            };
            for (position, value) in operands.iter().enumerate() {
                let source = match outline.child_with(scope, value.node) {
                    Some(child) => places.get(&BoxContent::Child(child)),
                    None => places.get(&BoxContent::Entry(*value)),
                };
                let port = source.filter(|source| **source < place).and_then(|source| {
                    Some((*source, picture.outputs[*source].iter().position(|output| output == value)?))
                });
                match port {
                    Some((source, output)) => {
                        sketched.operands.push((source, output, drawn.arrival(position)));
                        picture.positions[place].push(position);
                    }
                    None => picture.loose.push((place, drawn.arrival(position))),
                }
            }
            picture.boxes.push((content, drawn));
            picture.sketch.boxes.push(sketched);
        }
        picture.layout = lay_out(&picture.sketch);
        picture
    }

    fn operands_of(&self, outline: &Outline, content: BoxContent) -> Vec<ValueRef> {
        match content {
            BoxContent::Child(Child::Node(node)) => {
                let operands = self.nodes[node].operands.iter().copied();
                operands.filter(|value| outline.scope_of[value.node].is_some()).collect()
            }
            BoxContent::Child(Child::Scope(scope)) => outline.scopes[scope].inputs.iter().copied().collect(),
            BoxContent::Entry(_) => Vec::new(),
            BoxContent::Exit(value) => vec![value],
        }
    }

    fn outputs_of(&self, outline: &Outline, content: BoxContent) -> Vec<ValueRef> {
        match content {
            BoxContent::Child(Child::Node(node)) => {
                (0..self.nodes[node].outputs.len()).map(|output| ValueRef { node, output }).collect()
            }
            BoxContent::Child(Child::Scope(scope)) => outline.scopes[scope].outputs.iter().copied().collect(),
            BoxContent::Entry(value) => vec![value],
            BoxContent::Exit(_) => Vec::new(),
        }
    }

    /// Returns dtype and shape of a value; empty for an output that a refused node lacks.
    fn type_of(&self, value: &ValueRef) -> String {
        self.nodes[value.node].outputs.get(value.output).map_or_else(String::new, |value| value.type_text())
    }

    /// Draws the box of `content` in the scope `within`.
    fn drawn(&self, outline: &Outline, within: usize, content: BoxContent, operands: &[ValueRef]) -> Drawn {
        let arrivals = operands.iter().map(|value| self.type_of(value)).collect();
        let drawn = match content {
            BoxContent::Child(Child::Node(node)) => {
                Drawn { arrivals, ..self.drawn_node(outline, within, node) }
            }
            BoxContent::Child(Child::Scope(scope)) => {
                let view = &outline.scopes[scope];
                let lines = vec![BoxLine { text: counted(count(view.nodes), "node"), constant: None }];
                Drawn {
                    class: "scope",
                    data: format!("data-scope=\"{scope}\""),
                    title: short_name(&view.name, TITLE_CHARS),
                    lines,
                    hint: view.path.clone(),
                    is_refused: view.is_refused,
                    arrivals,
                    stubs: view.outputs.iter().map(|_| None).collect(),
                    ..Drawn::default()
                }
            }
            BoxContent::Entry(value) | BoxContent::Exit(value) => {
                let label = &self.nodes[value.node].label;
                let (data, arrivals, stubs) = match content {
                    BoxContent::Entry(_) => ("entry", Vec::new(), vec![None]),
                    _ => ("exit", vec![String::new()], Vec::new()),
                };
                Drawn {
                    class: "edge",
                    data: format!("data-{data}=\"{}\"", value.node),
                    title: short_name(label.rsplit('/').next().unwrap_or(label), CONSTANT_CHARS),
                    hint: format!("{label}: {}", self.type_of(&value)),
                    arrivals,
                    stubs,
                    ..Drawn::default()
                }
            }
        };
        drawn.measured()
    }

    fn drawn_node(&self, outline: &Outline, within: usize, number: usize) -> Drawn {
        let node = &self.nodes[number];
        let (title, mut lines) = node.texts(&outline.scopes[within].path);
        let constants: Vec<usize> = node
            .operands
            .iter()
            .map(|value| value.node)
            .filter(|source| outline.scope_of[*source].is_none())
            .collect();
        lines.extend(constants.iter().take(CONSTANTS).map(|&constant| BoxLine {
            text: self.nodes[constant].constant_text(self.has_own_name(constant, node)),
            constant: Some(constant),
        }));
        if let Some(more) = constants.len().checked_sub(CONSTANTS).filter(|more| *more > 0) {
            lines.push(BoxLine { text: format!("and {}", counted(more, "more constant")), constant: None });
        }
        let stubs = node.outputs.iter().enumerate().map(|(output, value)| {
            let is_read = outline.is_read(&ValueRef { node: number, output });
            (value.result.is_some() || !is_read)
                .then(|| Stub { text: value.type_text(), result: value.result })
        });
        Drawn {
            class: node.kind.name(),
            data: format!("data-node=\"{number}\""),
            title,
            lines,
            hint: self.hint(node),
            kernel: node.kernel,
            is_refused: node.error.is_some(),
            stubs: stubs.collect(),
            ..Drawn::default()
        }
    }

    /// Returns whether the name of a constant tells what the constant is to its reader. Compilation merges equal
    /// constants, and the name that remains may come from another reader.
    fn has_own_name(&self, constant: usize, reader: &NodeView) -> bool {
        let path = &self.nodes[constant].path;
        let rest = reader.label.strip_prefix(path.as_str());
        let is_near = path.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.stage == StageKind::Graph || is_near
    }

    /// Returns the tooltip of a node.
    fn hint(&self, node: &NodeView) -> String {
        let values: Vec<String> =
            node.outputs.iter().map(|value| format!("{}: {}", value.name, value.type_text())).collect();
        let operands: Vec<&str> = node
            .operands
            .iter()
            .filter_map(|value| Some(self.nodes[value.node].outputs.get(value.output)?.name.as_str()))
            .collect();
        let line = node.location.as_deref().unwrap_or_default();
        let error = node.error.as_ref().map_or_else(String::new, |error| format!("error: {error}\n"));
        format!("{} = {}({})\n{error}{line}", values.join(", "), node.op, operands.join(", "))
    }
}

impl NodeView {
    /// Returns the title of the box and the lines below it. The name of the node omits the scope's path.
    fn texts(&self, scope: &str) -> (String, Vec<BoxLine>) {
        let line = |text: String| BoxLine { text, constant: None };
        let inner = self.label.strip_prefix(scope).and_then(|label| label.strip_prefix('/'));
        let label = match inner {
            Some(inner) => inner,
            None if self.path == scope => self.short_label(),
            None => &self.label,
        };
        let named = || short_name(label, TITLE_CHARS);
        match self.kind {
            NodeKind::Input => (named(), vec![line("input".to_string())]),
            NodeKind::Constant if self.named => (named(), Vec::new()),
            NodeKind::Constant => {
                (short(self.content.as_deref().unwrap_or_default(), CONSTANT_CHARS), Vec::new())
            }
            NodeKind::Op => {
                let mut lines = Vec::new();
                let shown: Vec<String> = self.shown_attrs().collect();
                if !shown.is_empty() {
                    lines.push(line(short(&shown.join(", "), LINE_CHARS)));
                }
                if self.named {
                    lines.push(line(short_name(label, LINE_CHARS)));
                }
                if let Some(error) = &self.error {
                    lines.extend(wrapped(&format!("error: {error}"), LINE_CHARS).into_iter().map(line));
                }
                (self.op.to_string(), lines)
            }
        }
    }

    /// Returns the line that shows this constant in the box of a node that reads it. The line has the name of the
    /// constant if `with_name`.
    fn constant_text(&self, with_name: bool) -> String {
        let content = self.content.as_deref().unwrap_or_default();
        if !self.named {
            return short(content, CONSTANT_CHARS);
        }
        if !with_name {
            return match (content.chars().count(), self.outputs.first()) {
                (NAMED_CONSTANT_CHARS.., Some(value)) => value.type_text(),
                _ => content.to_string(),
            };
        }
        let name = short_name(self.short_label(), CONSTANT_CHARS);
        match (content.chars().count(), self.outputs.first()) {
            (NAMED_CONSTANT_CHARS.., Some(value)) => format!("{name}: {}", value.type_text()),
            _ => format!("{name} = {content}"),
        }
    }
}
