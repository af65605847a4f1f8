//! Dumps as SVG pictures, which follow the reader's choice of a light or dark theme.

use std::fmt::Write;

use rustc_hash::FxHashMap;

use super::labels::{escaped, short, short_name, width, wrapped};
use super::layout::{Crossing, Layout, Sketch, SketchBox, Wire, lay_out};
use super::snapshot::{Edge, NodeKind, NodeView};
use super::{Snapshot, palette};

/// Colours and fonts of the drawing. The HTML page uses them too.
pub(super) const STYLE: &str = include_str!("page/graph.css");

const TITLE_FONT_SIZE: f64 = 13.0;
const TEXT_FONT_SIZE: f64 = 11.0;
const TITLE_HEIGHT: f64 = 19.0;
const LINE_HEIGHT: f64 = 14.0;
/// Distance between a text and the left or right edge of its box.
const PAD: f64 = 10.0;
/// Height of the row above a box that shows the shapes of its operands.
const LABEL_ROW: f64 = 17.0;
/// Height of the row below a box for stubs: the ends of outputs that leave the graph or that no node reads.
const STUB: f64 = 30.0;
/// Maximum numbers of characters: of a title, a line below it, the text at a wire, the elements of an unnamed constant.
const TITLE_CHARS: usize = 34;
const LINE_CHARS: usize = 40;
const WIRE_CHARS: usize = 30;
const CONSTANT_CHARS: usize = 22;
/// Maximum width of the row of operand shapes above a box. A wider row is omitted.
const WIDEST: f64 = 460.0;

/// A node with its texts and sizes.
struct Drawn {
    title: String,
    lines: Vec<String>,
    /// By operand: the text at the end of its wire; empty if there is no room.
    arrivals: Vec<String>,
    /// By output: the text of its stub below the box, if the output leaves the graph or no node reads it.
    stubs: Vec<Option<String>>,
    /// Width of the box, with the rows above and below it.
    width: f64,
    /// Height of the box, without the rows above and below it.
    body: f64,
}

/// A drawing of a snapshot: the content of an `svg` element.
pub(super) struct Scene {
    pub width: f64,
    pub height: f64,
    pub content: String,
}

impl Snapshot {
    /// Returns the graph of the stage as an SVG picture: a layered layout with shapes at the wires and a colour for
    /// each kernel.
    pub fn to_svg(&self) -> String {
        let scene = self.scene();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{}</svg>\n",
            scene.content,
            w = number(scene.width),
            h = number(scene.height),
        )
    }

    /// Draws the graph.
    pub(super) fn scene(&self) -> Scene {
        let readers = self.readers();
        let drawn: Vec<Drawn> =
            self.nodes.iter().enumerate().map(|(number, _)| self.drawn(number, &readers)).collect();
        let boxes = drawn.iter().zip(&self.nodes).map(|(drawn, node)| SketchBox {
            width: drawn.width,
            height: drawn.height(),
            operands: node
                .operands
                .iter()
                .enumerate()
                .map(|(position, edge)| (edge.node, edge.output, drawn.arrival(position)))
                .collect(),
            outputs: (0..node.outputs.len()).map(|output| drawn.departure(output)).collect(),
        });
        let layout = lay_out(&Sketch { boxes: boxes.collect() });
        let mut content = String::from("<g class=\"wires\">\n");
        for wire in &layout.wires {
            self.write_wire(&mut content, wire, &layout, &drawn);
        }
        content.push_str("</g>\n<g class=\"nodes\">\n");
        for (number, drawn) in drawn.iter().enumerate() {
            self.write_node(&mut content, number, &layout, drawn);
        }
        content.push_str("</g>\n");
        Scene { width: layout.width, height: layout.height, content }
    }

    /// Chooses the texts of a node, and measures its box.
    fn drawn(&self, number: usize, readers: &FxHashMap<Edge, usize>) -> Drawn {
        let node = &self.nodes[number];
        let (title, lines) = node.texts();
        let mut arrivals: Vec<String> = node
            .operands
            .iter()
            .map(|edge| match self.nodes[edge.node].outputs.get(edge.output) {
                Some(value) => short(&value.type_text(), WIRE_CHARS),
                None => String::new(),
            })
            .collect();
        let stubs: Vec<Option<String>> = node
            .outputs
            .iter()
            .enumerate()
            .map(|(output, value)| {
                let is_read = readers.contains_key(&Edge { node: number, output });
                let text = short(&value.type_text(), WIRE_CHARS);
                match value.result {
                    Some(result) => Some(format!("→ output {result}: {text}")),
                    None if !is_read => Some(text),
                    None => None,
                }
            })
            .collect();
        let wide =
            |texts: &[String], size: f64| texts.iter().map(|text| width(text, size)).fold(0.0, f64::max);
        let mut box_width = (width(&title, TITLE_FONT_SIZE) + 2.0 * PAD)
            .max(wide(&lines, TEXT_FONT_SIZE) + 2.0 * PAD)
            .max(46.0);
        if !stubs.iter().all(Option::is_none) {
            let widest = stubs.iter().flatten().map(|text| width(text, TEXT_FONT_SIZE)).fold(0.0, f64::max);
            box_width = box_width.max((widest + 12.0) * stubs.len() as f64);
        }
        let widest = wide(&arrivals, TEXT_FONT_SIZE) + 14.0;
        if widest * arrivals.len() as f64 > WIDEST {
            arrivals = vec![String::new(); arrivals.len()];
            box_width = box_width.max(16.0 * arrivals.len() as f64);
        } else {
            box_width = box_width.max(widest * arrivals.len() as f64);
        }
        let body = TITLE_HEIGHT + LINE_HEIGHT * lines.len() as f64 + 7.0;
        Drawn { title, lines, arrivals, stubs, width: box_width.ceil(), body }
    }

    /// Draws a wire: the trunk that all readers share, and a branch to each reader.
    fn write_wire(&self, out: &mut String, wire: &Wire, layout: &Layout, drawn: &[Drawn]) {
        let (source, output) = wire.source;
        let start = (
            layout.corners[source].0 + drawn[source].departure(output),
            layout.corners[source].1 + drawn[source].top() + drawn[source].body,
        );
        let class = match self.nodes[source].kind {
            NodeKind::Constant => "wire constant",
            _ => "wire",
        };
        let mut write = |path: &str, readers: &str| {
            let _ = writeln!(
                out,
                "<path class=\"{class}\" data-from=\"{source}\"{readers} d=\"{path}\" fill=\"none\" stroke=\"#9aa4b2\"/>"
            );
        };
        if !wire.trunk.is_empty() {
            let mut path = String::new();
            trunk(&mut path, start, &wire.trunk);
            write(&path, "");
        }
        for (reader, operand, passed) in &wire.readers {
            let corner = layout.corners[*reader];
            let arrives = (corner.0 + drawn[*reader].arrival(*operand), corner.1 + drawn[*reader].top());
            let labelled = !drawn[*reader].arrivals[*operand].is_empty();
            let Some(passed) = passed else {
                // The reader is too far for a wire. A dashed line above the box shows that an operand arrives.
                write(
                    &format!(
                        "M{} v{}",
                        point((arrives.0, corner.1 - 14.0)),
                        number(arrives.1 - corner.1 + 14.0)
                    ),
                    &format!(" data-to=\"{reader}\" stroke-dasharray=\"2 3\""),
                );
                continue;
            };
            let from = match passed.checked_sub(1).and_then(|last| wire.trunk.get(last)) {
                Some(crossing) => (crossing.x, crossing.bottom),
                None => start,
            };
            // The last part of the wire is vertical, and the label stands there.
            let top = if labelled { corner.1 } else { arrives.1 - 4.0 };
            let mut path = format!("M{}", point(from));
            curve(&mut path, from, (arrives.0, top));
            let _ = write!(path, " V{}", number(arrives.1));
            write(&path, &format!(" data-to=\"{reader}\""));
        }
    }

    /// Draws the box of a node with its texts and stubs.
    fn write_node(&self, out: &mut String, index: usize, layout: &Layout, drawn: &Drawn) {
        let node = &self.nodes[index];
        let (x, y) = layout.corners[index];
        let kind = node.kind.name();
        let (kernel, fill) = match node.kernel {
            Some(kernel) => (
                format!(" in-kernel\" data-kernel=\"{kernel}\" style=\"--hue:{}", palette::hue(kernel)),
                palette::light(kernel),
            ),
            None => (String::new(), "#f4f5f7".to_string()),
        };
        let refused = if node.error.is_some() { " refused" } else { "" };
        let _ = write!(
            out,
            "<g class=\"node {kind}{refused}{kernel}\" data-node=\"{index}\" transform=\"translate({},{})\"><title>{}</title>",
            number(x),
            number(y),
            escaped(&self.hint(node)),
        );
        for (position, text) in drawn.arrivals.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let _ = write!(
                out,
                "<text class=\"shape\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                number(drawn.arrival(position)),
                number(LABEL_ROW - 5.5),
                escaped(text)
            );
        }
        let top = drawn.top();
        let round = if node.kind == NodeKind::Op { 5.0 } else { (drawn.body / 2.0).min(14.0) };
        let _ = write!(
            out,
            "<rect class=\"box\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{fill}\" stroke=\"#8a94a3\"/>\
             <text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            number(top),
            number(drawn.width),
            number(drawn.body),
            number(round),
            number(drawn.width / 2.0),
            number(top + TITLE_HEIGHT - 2.0),
            escaped(&drawn.title),
        );
        for (line, text) in drawn.lines.iter().enumerate() {
            let _ = write!(
                out,
                "<text class=\"line\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                number(drawn.width / 2.0),
                number(top + TITLE_HEIGHT - 2.0 + LINE_HEIGHT * (line + 1) as f64),
                escaped(text),
            );
        }
        let bottom = top + drawn.body;
        for (output, text) in drawn.stubs.iter().enumerate() {
            let (Some(text), Some(value)) = (text, node.outputs.get(output)) else { continue };
            let class = if value.result.is_some() { "shape result" } else { "shape" };
            let _ = write!(
                out,
                "<path class=\"wire\" d=\"M{} v12\" fill=\"none\" stroke=\"#9aa4b2\"/>\
                 <text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                point((drawn.departure(output), bottom)),
                number(drawn.departure(output)),
                number(bottom + 24.0),
                escaped(text)
            );
        }
        out.push_str("</g>\n");
    }

    /// Returns the tooltip of a node.
    fn hint(&self, node: &NodeView) -> String {
        let values: Vec<String> =
            node.outputs.iter().map(|value| format!("{}: {}", value.name, value.type_text())).collect();
        let operands: Vec<&str> = node
            .operands
            .iter()
            .filter_map(|edge| Some(self.nodes[edge.node].outputs.get(edge.output)?.name.as_str()))
            .collect();
        let line = node.location.as_deref().unwrap_or_default();
        let error = node.error.as_ref().map_or_else(String::new, |error| format!("error: {error}\n"));
        format!("{} = {}({})\n{error}{line}", values.join(", "), node.op, operands.join(", "))
    }
}

impl Drawn {
    /// Returns the height of the row above the box.
    fn top(&self) -> f64 {
        if self.arrivals.iter().any(|text| !text.is_empty()) { LABEL_ROW } else { 0.0 }
    }

    fn height(&self) -> f64 {
        self.top() + self.body + if self.stubs.iter().any(Option::is_some) { STUB } else { 0.0 }
    }

    /// Returns the offset from the left edge of the box at which the wire of an operand arrives.
    fn arrival(&self, operand: usize) -> f64 {
        self.width * (operand as f64 + 0.5) / self.arrivals.len().max(1) as f64
    }

    /// Returns the offset from the left edge of the box at which the wire of an output leaves.
    fn departure(&self, output: usize) -> f64 {
        self.width * (output as f64 + 0.5) / self.stubs.len().max(1) as f64
    }
}

impl NodeView {
    /// Returns the title of the box and the lines below it.
    fn texts(&self) -> (String, Vec<String>) {
        let name = || short_name(&self.label, LINE_CHARS);
        match self.kind {
            NodeKind::Input => (short_name(&self.label, TITLE_CHARS), vec!["input".to_string()]),
            NodeKind::Constant => {
                let content = self.content.as_deref().unwrap_or_default();
                match self.named {
                    true => (short_name(&self.label, TITLE_CHARS), Vec::new()),
                    false => (short(content, CONSTANT_CHARS), Vec::new()),
                }
            }
            NodeKind::Op => {
                let mut lines = Vec::new();
                // Attributes that are false are omitted, because most flags are false by default.
                let shown =
                    self.attrs.iter().filter(|(name, value)| value != "false" && !name.starts_with('_'));
                let shown: Vec<String> = shown.map(|(name, value)| format!("{name}={value}")).collect();
                if !shown.is_empty() {
                    lines.push(short(&shown.join(", "), LINE_CHARS));
                }
                if self.named {
                    lines.push(name());
                }
                if let Some(error) = &self.error {
                    lines.extend(wrapped(&format!("error: {error}"), LINE_CHARS));
                }
                (self.op.to_string(), lines)
            }
        }
    }
}

/// Appends a path from `from` through all crossings. The path is vertical within each crossing.
fn trunk(path: &mut String, from: (f64, f64), crossings: &[Crossing]) {
    let _ = write!(path, "M{}", point(from));
    let mut end = from;
    for crossing in crossings {
        curve(path, end, (crossing.x, crossing.top));
        let _ = write!(path, " V{}", number(crossing.bottom));
        end = (crossing.x, crossing.bottom);
    }
}

/// Appends a curve that is vertical at both ends.
fn curve(path: &mut String, from: (f64, f64), to: (f64, f64)) {
    if (from.0 - to.0).abs() < 0.5 {
        let _ = write!(path, " L{}", point(to));
        return;
    }
    let bend = ((to.1 - from.1) * 0.55).clamp(8.0, 60.0);
    let (a, b) = ((from.0, from.1 + bend), (to.0, to.1 - bend));
    let _ = write!(path, " C{} {} {}", point(a), point(b), point(to));
}

fn point((x, y): (f64, f64)) -> String {
    format!("{} {}", number(x), number(y))
}

/// Formats a number with at most one decimal.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}{}.{}", if tenths < 0 { "-" } else { "" }, (tenths / 10).abs(), rest.abs()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Graph, Result, shape};

    #[test]
    fn names_are_escaped() -> Result<()> {
        let g = Graph::new();
        let x = g.input("<script>&\"'\u{1}", DType::F32, shape!["b", 4])?;
        let _ = x.relu()?.named("</text><a>");
        let svg = g.snapshot().to_svg();
        assert!(!svg.contains("<script>") && !svg.contains("</text><a>"), "{svg}");
        assert!(svg.contains("&lt;script&gt;&amp;&quot;&#39;\u{fffd}"));
        assert!(svg.contains(">f32[b, 4]</text>"));
        Ok(())
    }

    #[test]
    fn equal_graphs_give_equal_pictures() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["b", 4])?;
        let _ = (x.softmax(-1)? * x + 1.0).ok()?;
        assert_eq!(g.snapshot().to_svg(), g.snapshot().to_svg());
        Ok(())
    }

    #[test]
    fn numbers_have_at_most_one_decimal() {
        let texts: Vec<String> = [1.0, 1.25, -0.5, -12.04, 0.04].into_iter().map(number).collect();
        assert_eq!(texts, ["1", "1.3", "-0.5", "-12", "0"]);
    }
}
