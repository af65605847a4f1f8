//! `Drawn`: a box of a picture, with its texts and its size, and its SVG element.

use std::fmt::Write;

use super::labels::{escaped, number, point, short, width};
use super::palette;

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
/// Maximum number of characters of the text at a wire, without an ellipsis.
const WIRE_CHARS: usize = 30;
/// Maximum width of the row of operand shapes above a box, and of the row of stubs below a box. A wider row has no
/// shapes.
const WIDEST: f64 = 460.0;
/// Distance between the wires at a box that has no room for their shapes.
const WIRE_DISTANCE: f64 = 16.0;

/// A box with its texts and sizes.
#[derive(Default)]
pub(super) struct Drawn {
    /// The class of the box: `op`, `input`, `constant`, `scope`, `edge`.
    pub class: &'static str,
    /// The attributes that tell what the box shows, such as `data-node="3"`.
    pub data: String,
    pub title: String,
    pub lines: Vec<BoxLine>,
    pub hint: String,
    pub kernel: Option<usize>,
    pub is_refused: bool,
    /// For each operand of the box, except the constants that the box shows as lines: the text above the box, where the
    /// wire of the operand ends. The text is empty if there is no room for it.
    pub arrivals: Vec<String>,
    /// For each output, the short line that ends below the box. An output has this line if the output leaves the graph,
    /// or if no node reads the output.
    pub stubs: Vec<Option<Stub>>,
    /// Whether the row below the box has room for the shapes of the stubs.
    pub has_room_below: bool,
    /// Width of the box, with the rows above and below it.
    pub width: f64,
    /// Height of the box, without the rows above and below it.
    pub body_height: f64,
}

/// A line below the title of a box.
pub(super) struct BoxLine {
    pub text: String,
    /// The constant that the line shows.
    pub constant: Option<usize>,
}

/// The end of an output that no wire leaves.
pub(super) struct Stub {
    /// The dtype and the shape of the output.
    pub text: String,
    /// The position of the output among the outputs of the graph.
    pub result: Option<usize>,
}

impl Stub {
    /// Returns the text below the box. Without room for shapes, an output of the graph has only its number.
    fn shown(&self, has_room: bool) -> String {
        match (self.result, has_room) {
            (Some(result), true) => format!("→ output {result}: {}", self.text),
            (Some(result), false) => format!("→ {result}"),
            (None, true) => self.text.clone(),
            (None, false) => String::new(),
        }
    }
}

impl Drawn {
    /// Shortens the texts at the wires, and measures the box.
    pub(super) fn measured(mut self) -> Drawn {
        for text in &mut self.arrivals {
            *text = short(text, WIRE_CHARS);
        }
        let lines = self.lines.iter().map(|line| width(&line.text, TEXT_FONT_SIZE)).fold(0.0, f64::max);
        let title = width(&self.title, TITLE_FONT_SIZE);
        let mut box_width = (title.max(lines) + 2.0 * PAD).max(46.0);
        if self.stubs.iter().any(Option::is_some) {
            let row_width = |has_room| {
                let stubs = self.stubs.iter().flatten();
                let widths = stubs.map(|stub| width(&stub.shown(has_room), TEXT_FONT_SIZE) + 12.0);
                widths.fold(WIRE_DISTANCE, f64::max) * self.stubs.len() as f64
            };
            self.has_room_below = self.stubs.len() == 1 || row_width(true) <= WIDEST;
            box_width = box_width.max(row_width(self.has_room_below));
        }
        let widest = self.arrivals.iter().map(|text| width(text, TEXT_FONT_SIZE)).fold(0.0, f64::max) + 14.0;
        let count = self.arrivals.len();
        if widest * count as f64 > WIDEST {
            self.arrivals = vec![String::new(); count];
            box_width = box_width.max(WIRE_DISTANCE * count as f64);
        } else {
            box_width = box_width.max(widest * count as f64);
        }
        self.width = box_width.ceil();
        self.body_height = TITLE_HEIGHT + LINE_HEIGHT * self.lines.len() as f64 + 7.0;
        self
    }

    /// Returns the height of the row above the box.
    pub(super) fn label_height(&self) -> f64 {
        if self.arrivals.iter().any(|text| !text.is_empty()) { LABEL_ROW } else { 0.0 }
    }

    /// Returns the height with the rows above and below the box.
    pub(super) fn height(&self) -> f64 {
        self.label_height()
            + self.body_height
            + if self.stubs.iter().any(Option::is_some) { STUB } else { 0.0 }
    }

    /// Returns the offset from the left edge of the box at which the wire of an operand arrives.
    pub(super) fn arrival(&self, operand: usize) -> f64 {
        self.width * (operand as f64 + 0.5) / self.arrivals.len().max(1) as f64
    }

    /// Returns the offset from the left edge of the box at which the wire of an output leaves.
    pub(super) fn departure(&self, output: usize) -> f64 {
        self.width * (output as f64 + 0.5) / self.stubs.len().max(1) as f64
    }

    /// Returns the SVG element of the box, whose upper left corner is the origin. `place` is an attribute that moves
    /// the element.
    pub(super) fn element(&self, place: &str) -> String {
        let mut out = String::new();
        let (kernel, fill) = match self.kernel {
            Some(kernel) => (
                format!(" in-kernel\" data-kernel=\"{kernel}\" style=\"--hue:{}", palette::hue(kernel)),
                palette::light(kernel),
            ),
            None => (String::new(), "#f4f5f7".to_string()),
        };
        let refused = if self.is_refused { " refused" } else { "" };
        let _ = write!(
            out,
            "<g class=\"node {}{refused}{kernel}\" {}{place}><title>{}</title>",
            self.class,
            self.data,
            escaped(&self.hint),
        );
        let mut write = |class: &str, x: f64, y: f64, data: &str, text: &str| {
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\"{data}>{}</text>",
                number(x),
                number(y),
                escaped(text)
            );
        };
        for (position, text) in self.arrivals.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            write("shape", self.arrival(position), LABEL_ROW - 5.5, "", text);
        }
        let (top, bottom) = (self.label_height(), self.label_height() + self.body_height);
        for (output, stub) in self.stubs.iter().enumerate() {
            let Some(stub) = stub else { continue };
            let class = if stub.result.is_some() { "shape result" } else { "shape" };
            let text = stub.shown(self.has_room_below);
            if !text.is_empty() {
                write(class, self.departure(output), bottom + 24.0, "", &text);
            }
        }
        let round = if self.class == "op" || self.class == "scope" {
            5.0
        } else {
            (self.body_height / 2.0).min(14.0)
        };
        let _ = write!(
            out,
            "<rect class=\"box\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{fill}\" stroke=\"#8a94a3\"/>",
            number(top),
            number(self.width),
            number(self.body_height),
            number(round),
        );
        let mut write = |class: &str, y: f64, data: &str, text: &str| {
            let _ = write!(
                out,
                "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"middle\"{data}>{}</text>",
                number(self.width / 2.0),
                number(y),
                escaped(text)
            );
        };
        let first = top + TITLE_HEIGHT - 2.0;
        write("title", first, "", &self.title);
        for (number, line) in self.lines.iter().enumerate() {
            let y = first + LINE_HEIGHT * (number + 1) as f64;
            match line.constant {
                Some(node) => write("line constant", y, &format!(" data-constant=\"{node}\""), &line.text),
                None => write("line", y, "", &line.text),
            }
        }
        for (output, _) in self.stubs.iter().enumerate().filter(|(_, stub)| stub.is_some()) {
            let _ = write!(
                out,
                "<path class=\"wire\" d=\"M{} v12\" fill=\"none\" stroke=\"#9aa4b2\"/>",
                point((self.departure(output), bottom)),
            );
        }
        out.push_str("</g>");
        out
    }
}
