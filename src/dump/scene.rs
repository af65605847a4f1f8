//! The scopes of a graph as JSON, which the HTML page draws. Each scope has a picture. If the reader of the page opens
//! a scope, its picture stands inside the picture of its parent.

use serde_json::{Value, json};

use super::Snapshot;
use super::labels::tenths;
use super::layout::{BoxLayout, Wire};
use super::outline::{Child, Outline, ScopeView};
use super::picture::{BoxContent, Picture};

impl Snapshot {
    /// Returns the scopes, the root first. Lengths are tenths of a pixel.
    ///
    /// ```text
    /// [{"name", "path", "parent", "nodes", "width", "height", "entries", "exits",
    ///   "boxes": [{"kind", "of", "x", "y", "width", "height", "label_height", "body_height", "svg"}],
    ///   "wires": [{"from": [box, output], "dx", "of", "trunk": [[x, top, bottom]],
    ///              "to": [[box, operand, dx, crossings passed]]}],
    ///   "loose": [[box, dx]]}]
    /// ```
    ///
    /// The field `of` of a box is the number of a scope if `kind` is `scope`, and the number of a node if `kind` is
    /// `node`, `entry` or `exit`. `label_height` is the height of the labels above the frame, and `body_height` the
    /// height of the frame. The entries are the first boxes, and the exits the last. The field `of` of a wire is the
    /// number of the node that makes the value. `dx` is the distance of the output or operand from the left edge of its
    /// box. A wire crosses each rank between its source and its lowest reader; `trunk` has the vertical lines of these
    /// crossings, from top to bottom. `crossings passed` is the number of crossings that the wire passes before it
    /// branches off to the reader, or -1 if the reader is too far for a wire. The operands in `loose` have no wire.
    pub(super) fn scene(&self) -> Value {
        let mut outline = Outline::of(self);
        // A scope whose children the outline has moved to its parent is not in the tree, and has no picture.
        let mut scopes = vec![Value::Null; outline.scopes.len()];
        let mut order = vec![0];
        let mut next = 0;
        while let Some(scope) = order.get(next) {
            let inner = outline.scopes[*scope].children.iter().filter_map(|child| match child {
                Child::Scope(inner) => Some(*inner),
                Child::Node(_) => None,
            });
            let inner: Vec<usize> = inner.collect();
            order.extend(inner);
            next += 1;
        }
        // Inner scopes come first, so that their sizes are known.
        for number in order.into_iter().rev() {
            let picture = self.picture(&outline, number);
            outline.scopes[number].open_size = picture.layout.open_size;
            scopes[number] = scope_json(&outline.scopes[number], &picture);
        }
        Value::Array(scopes)
    }
}

fn scope_json(scope: &ScopeView, picture: &Picture) -> Value {
    let BoxLayout { width, height, corners, wires, .. } = &picture.layout;
    let boxes = picture.boxes.iter().zip(corners).map(|((content, drawn), (x, y))| {
        let (kind, of) = match content {
            BoxContent::Child(Child::Node(node)) => ("node", *node),
            BoxContent::Child(Child::Scope(scope)) => ("scope", *scope),
            BoxContent::Entry(value) => ("entry", value.node),
            BoxContent::Exit(value) => ("exit", value.node),
        };
        json!({
            "kind": kind,
            "of": of,
            "x": tenths(*x),
            "y": tenths(*y),
            "width": tenths(drawn.width),
            "height": tenths(drawn.height()),
            "label_height": tenths(drawn.label_height()),
            "body_height": tenths(drawn.body_height),
            "svg": drawn.element(""),
        })
    });
    let count = |is_counted: fn(&BoxContent) -> bool| {
        picture.boxes.iter().filter(|(content, _)| is_counted(content)).count()
    };
    json!({
        "name": scope.name,
        "path": scope.path,
        "parent": scope.parent,
        "nodes": scope.nodes,
        "width": tenths(*width),
        "height": tenths(*height),
        "entries": count(|content| matches!(content, BoxContent::Entry(_))),
        "exits": count(|content| matches!(content, BoxContent::Exit(_))),
        "boxes": boxes.collect::<Vec<_>>(),
        "wires": wires.iter().map(|wire| wire_json(wire, picture)).collect::<Vec<_>>(),
        "loose": picture.loose.iter().map(|(place, x)| json!([place, tenths(*x)])).collect::<Vec<_>>(),
    })
}

fn wire_json(wire: &Wire, picture: &Picture) -> Value {
    let (source, output) = wire.source;
    let trunk = wire.trunk.iter().map(|part| [part.x, part.top, part.bottom].map(tenths));
    let readers = wire.readers.iter().map(|(reader, operand, passed)| {
        let dx = tenths(picture.sketch.boxes[*reader].operands[*operand].2);
        let passed = passed.map_or(-1, |passed| passed as i64);
        json!([reader, picture.positions[*reader][*operand], dx, passed])
    });
    json!({
        "from": [source, output],
        "dx": tenths(picture.sketch.boxes[source].outputs[output]),
        "of": picture.outputs[source][output].node,
        "trunk": trunk.collect::<Vec<_>>(),
        "to": readers.collect::<Vec<_>>(),
    })
}
