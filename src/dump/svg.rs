//! Dumps as SVG pictures, which follow the reader's choice of a light or dark theme.

use std::fmt::Write;

use super::Snapshot;
use super::labels::{number, point};
use super::layout::{Crossing, Wire};
use super::outline::Outline;
use super::picture::Picture;

/// Colors and fonts of the drawing. The HTML page uses them too.
pub(super) const STYLE: &str = include_str!("page/graph.css");

/// Height of the end of a wire between the label at a box and the box.
const TICK: f64 = 3.0;

impl Snapshot {
    /// Returns the graph of this snapshot as an SVG picture: a layered layout. The text beside a wire is the dtype and
    /// the shape of the tensor, and each kernel has a color. A constant that nodes read is a line of text in the boxes
    /// of these nodes. A constant has a box only if it is an output of the graph, if no node reads it, or if it has an
    /// error.
    pub fn to_svg(&self) -> String {
        let picture = self.picture(&Outline::flat(self), 0);
        let mut content = String::from("<g class=\"wires\">\n");
        for wire in &picture.layout.wires {
            picture.write_wire(&mut content, wire);
        }
        content.push_str("</g>\n<g class=\"nodes\">\n");
        for ((_, drawn), (x, y)) in picture.boxes.iter().zip(&picture.layout.corners) {
            content.push_str(&drawn.element(&format!(
                " transform=\"translate({},{})\"",
                number(*x),
                number(*y)
            )));
            content.push('\n');
        }
        content.push_str("</g>\n");
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" width=\"{w}\" height=\"{h}\" \
             viewBox=\"0 0 {w} {h}\">\n<style>{STYLE}</style>\n\
             <rect class=\"paper\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{content}</svg>\n",
            w = number(picture.layout.width),
            h = number(picture.layout.height),
        )
    }
}

impl Picture {
    /// Draws a wire: the trunk that all readers share, and a branch to each reader.
    fn write_wire(&self, out: &mut String, wire: &Wire) {
        let (source, output) = wire.source;
        let corner = self.layout.corners[source];
        let drawn = &self.boxes[source].1;
        let start = (corner.0 + drawn.departure(output), corner.1 + drawn.label_height() + drawn.body_height);
        let mut write = |path: &str, dash: &str| {
            let _ =
                writeln!(out, "<path class=\"wire\"{dash} d=\"{path}\" fill=\"none\" stroke=\"#9aa4b2\"/>");
        };
        if !wire.trunk.is_empty() {
            let mut path = String::new();
            trunk(&mut path, start, &wire.trunk);
            write(&path, "");
        }
        for (reader, operand, passed) in &wire.readers {
            let (corner, drawn) = (self.layout.corners[*reader], &self.boxes[*reader].1);
            let arrives =
                (corner.0 + self.sketch.boxes[*reader].operands[*operand].2, corner.1 + drawn.label_height());
            let Some(passed) = passed else {
                // The reader is too far for a wire. A dashed line above the box shows that an operand arrives.
                let path = format!("M{} v14", point((arrives.0, corner.1 - 14.0)));
                write(&path, " stroke-dasharray=\"2 3\"");
                continue;
            };
            let from = match passed.checked_sub(1).and_then(|last| wire.trunk.get(last)) {
                Some(crossing) => (crossing.x, crossing.bottom),
                None => start,
            };
            // The last part of the wire is vertical. The label stands there, and the wire does not cross it.
            let has_label = drawn.label_height() > 0.0;
            let top = if has_label { corner.1 } else { arrives.1 - 4.0 };
            let mut path = format!("M{}", point(from));
            curve(&mut path, from, (arrives.0, top));
            if has_label {
                let _ = write!(path, " M{}", point((arrives.0, arrives.1 - TICK)));
            }
            let _ = write!(path, " V{}", number(arrives.1));
            write(&path, "");
        }
    }
}

/// Appends a path from `from` through the layers of boxes that the wire passes. The path is vertical within each layer.
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

#[cfg(test)]
mod tests {
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
}
