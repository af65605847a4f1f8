//! `print`: passes a value on, and writes elements of other values to a sink in each run.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{escaped, marks_of, number_text};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, HostKernel, OpDef, Operand};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::TensorView;

/// The function that gets the texts of print ops. The default writes to standard error.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use shapeflow::PrintSink;
///
/// let lines = Arc::new(Mutex::new(Vec::new()));
/// let kept = lines.clone();
/// let sink = PrintSink::new(move |text| kept.lock().unwrap().push(text.to_string()));
/// # let _ = sink;
/// ```
#[derive(Clone)]
pub struct PrintSink(Arc<dyn Fn(&str) + Send + Sync>);

impl PrintSink {
    /// Makes a sink of a function. A run calls the function with each text, which ends its own lines. Runs on several
    /// threads may call the function at the same time.
    pub fn new(write: impl Fn(&str) + Send + Sync + 'static) -> PrintSink {
        PrintSink(Arc::new(write))
    }
}

impl Default for PrintSink {
    fn default() -> PrintSink {
        PrintSink::new(|text| eprint!("{text}"))
    }
}

impl fmt::Debug for PrintSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PrintSink")
    }
}

/// What a print op writes, and where.
///
/// ```
/// use shapeflow::PrintOptions;
///
/// let options = PrintOptions { first_runs: Some(10), ..PrintOptions::default() };
/// assert_eq!(options.elements, Some(3));
/// ```
#[derive(Clone, Debug)]
pub struct PrintOptions {
    /// The number of runs that write. `None` means that all runs write.
    pub first_runs: Option<u64>,
    /// The number of elements of each value that are written. `None` means all elements.
    pub elements: Option<usize>,
    /// The function that gets the text.
    pub sink: PrintSink,
}

impl Default for PrintOptions {
    /// All runs write 3 elements of each value to standard error.
    fn default() -> PrintOptions {
        PrintOptions { first_runs: None, elements: Some(3), sink: PrintSink::default() }
    }
}

impl<'g> Value<'g> {
    /// Returns the same elements. Each run that computes them writes a line: `message`, and the first elements of each
    /// of `values` in brackets.
    ///
    /// `[..] -> [..]`, any dtype; complex and qi32 elements show as `?`. As TensorFlow's `Print`, whose text has
    /// the same form. Runs on the host.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use shapeflow::{DType, Graph, PrintOptions, PrintSink, Tensor, shape};
    ///
    /// let written = Arc::new(Mutex::new(String::new()));
    /// let text = written.clone();
    /// let sink = PrintSink::new(move |line| text.lock().unwrap().push_str(line));
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n"])?;
    /// let y = x.print("x = ", &[x], PrintOptions { sink, ..PrintOptions::default() })? * 2.0;
    /// g.compile(y)?.run::<1>(&[Tensor::from([0.5f32, 1.0, 2.0, 3.0]).view()])?;
    /// assert_eq!(*written.lock().unwrap(), "x = [0.5 1 2...]\n");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A value is of another graph. The run fails if the function of the sink panics.
    #[doc(alias = "debug")]
    #[track_caller]
    pub fn print(self, message: &str, values: &[Value<'g>], options: PrintOptions) -> Result<Value<'g>> {
        let def = Arc::new(line_op(message.to_string(), options));
        self.graph().op(def).data(self).data_all(values).finish_at(Location::caller())
    }
}

/// Makes an op that passes its first operand on and writes a line of the others.
pub(crate) fn line_op(message: String, options: PrintOptions) -> OpDef {
    OpDef::host_with("print", PrintedLine { message, options, runs: AtomicU64::new(0) })
        .operands(&[Operand::Data("input"), Operand::Variadic("data..")])
        .shape_fn(shape_fns::array::identity)
        .dtype_rule(|dtypes, _| Ok(dtypes.iter().take(1).copied().collect()))
}

/// Makes an op that writes a string scalar and `end`. The result is the bool scalar `true`.
#[cfg(feature = "graphdef")]
pub(crate) fn text_op(end: String, sink: PrintSink) -> OpDef {
    let run = move |cx: &mut HostCx<'_>| {
        let text = super::params::scalar(cx, 0)?;
        (sink.0)(&format!("{}{end}", String::from_utf8_lossy(text)));
        cx.set_output(0, crate::tensor::Tensor::scalar(true))
    };
    OpDef::host_with("print_text", run)
        .operands(&[Operand::Data("input")])
        .shape_fn(|cx| {
            cx.with_rank(0, 0)?;
            shape_fns::array::identity(cx)
        })
        .dtype_rule(|dtypes, _| {
            super::params::check_strings(dtypes, 1)?;
            Ok(vec![shapeflow_shape_fns::DType::Bool])
        })
}

struct PrintedLine {
    message: String,
    options: PrintOptions,
    /// The number of runs so far.
    runs: AtomicU64,
}

impl HostKernel for PrintedLine {
    fn run(&self, cx: &mut HostCx<'_>) -> Result<()> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        if self.options.first_runs.is_none_or(|runs| run < runs) {
            let mut text = self.message.clone();
            for operand in 1..cx.inputs() {
                let data = RowMajor::new(cx.input(operand)?)?;
                let shown = Shown::new(data.view(), self.options.elements);
                text.push_str(&format!("[{}]", shown.text()));
            }
            text.push('\n');
            (self.options.sink.0)(&text);
        }
        let same = cx.input(0)?.to_tensor()?;
        cx.set_output(0, same)
    }
}

/// The first elements of a row-major tensor.
struct Shown<'a> {
    view: TensorView<'a>,
    limit: usize,
    next: usize,
    text: String,
}

impl<'a> Shown<'a> {
    fn new(view: TensorView<'a>, limit: Option<usize>) -> Shown<'a> {
        let limit = limit.unwrap_or(usize::MAX).min(view.len());
        Shown { view, limit, next: 0, text: String::new() }
    }

    fn text(mut self) -> String {
        if let Some(marks) = marks_of(&self.view, self.limit) {
            return marks;
        }
        if self.view.sizes().is_empty() && self.limit > 0 {
            self.element();
        } else if !self.view.sizes().is_empty() {
            self.axis(0);
        }
        if self.view.len() > self.limit {
            self.text.push_str("...");
        }
        self.text
    }

    /// Writes the elements of axis `axis` from the next element on.
    fn axis(&mut self, axis: usize) {
        let is_last = axis + 1 == self.view.sizes().len();
        for number in 0..self.view.sizes()[axis] {
            if self.next >= self.limit {
                // The outermost axis ends with the text.
                if is_last && axis > 0 {
                    self.text.push_str("...");
                }
                return;
            }
            if is_last {
                self.text.push_str(if number > 0 { " " } else { "" });
                self.element();
            } else {
                self.text.push('[');
                self.axis(axis + 1);
                self.text.push(']');
            }
        }
    }

    fn element(&mut self) {
        let bytes = self.view.element(self.next).expect("the position is in the tensor");
        self.next += 1;
        match number_text(self.view.dtype(), bytes) {
            Some(text) => self.text.push_str(&text),
            None => self.text.push_str(&String::from_utf8_lossy(&escaped(bytes))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use shapeflow_shape_fns::DType;

    use super::*;
    use crate::graph::Graph;
    use crate::tensor::Tensor;

    fn shown(tensor: &Tensor, limit: Option<usize>) -> String {
        Shown::new(tensor.view(), limit).text()
    }

    /// The texts that TensorFlow 2.21 writes.
    #[test]
    fn texts_equal_those_of_tensorflow() {
        let thirds = Tensor::from([[0.0f32, 1.0 / 3.0, 2.0 / 3.0], [1.0, 4.0 / 3.0, 5.0 / 3.0]]);
        assert_eq!(shown(&thirds, Some(3)), "[0 0.333333343 0.666666687]...");
        let numbers = Tensor::from([[0.0f32, 1.0, 2.0], [3.0, 4.0, 5.0]]);
        assert_eq!(shown(&numbers, Some(4)), "[0 1 2][3...]...");
        assert_eq!(shown(&numbers, None), "[0 1 2][3 4 5]");
        let cube = Tensor::from([[[0.0f64, 1.0], [2.0, 3.0]], [[4.0, 5.0], [6.0, 7.0]]]);
        assert_eq!(shown(&cube, Some(5)), "[[0 1][2 3]][[4...]]...");
        assert_eq!(shown(&cube, Some(100)), "[[0 1][2 3]][[4 5][6 7]]");
        assert_eq!(shown(&Tensor::from([0, 1, 2, 3, 4]), Some(3)), "0 1 2...");
        assert_eq!(shown(&Tensor::from([0, 1, 2, 3, 4]), Some(0)), "...");
        assert_eq!(shown(&Tensor::scalar(4), Some(0)), "...");
        assert_eq!(shown(&Tensor::scalar(1.5f32), Some(3)), "1.5");
        assert_eq!(shown(&Tensor::from([true, false]), Some(3)), "1 0");
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 1e-7, 1e20, 0.1];
        assert_eq!(shown(&Tensor::from(odd), None), "nan inf -inf -0 1e-07 1e+20 0.1");
        assert_eq!(shown(&Tensor::from([0.1f64, 1.0 / 3.0]), None), "0.1 0.33333333333333331");
        let texts = Tensor::from_strings(&[4], &[&b"a\n\"q"[..], b"b", b"c", b"d"]).unwrap();
        assert_eq!(shown(&texts, Some(3)), "a\\n\\\"q b c...");
        let complex = Tensor::zeros(DType::C64, &[2, 2]).unwrap();
        assert_eq!([shown(&complex, Some(3)), shown(&complex, None)], ["? ? ?...", "? ? ? ?"]);
        let none = |sizes: &[usize]| shown(&Tensor::zeros(DType::F32, sizes).unwrap(), Some(3));
        assert_eq!([none(&[0]), none(&[0, 3])], ["", ""]);
    }

    #[test]
    fn the_first_runs_write() -> Result<()> {
        let written = Arc::new(Mutex::new(String::new()));
        let text = written.clone();
        let sink = PrintSink::new(move |line| text.lock().unwrap().push_str(line));
        let g = Graph::new();
        let x = g.input("x", DType::I32, [2])?;
        let options = PrintOptions { first_runs: Some(2), sink, ..PrintOptions::default() };
        let y = x.print("run ", &[x, x.reduce_sum([0])?], options)?;
        let exe = g.compile(y.add(1)?)?;
        for first in 0..3 {
            let [y] = exe.run(&[Tensor::from([first, 5]).view()])?;
            assert_eq!(y, Tensor::from([first + 1, 6]));
        }
        assert_eq!(*written.lock().unwrap(), "run [0 5][5]\nrun [1 5][6]\n");
        Ok(())
    }

    #[test]
    fn a_sink_that_panics_fails_the_run() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::I32, [2])?;
        let options = PrintOptions { sink: PrintSink::new(|_| panic!("full")), ..PrintOptions::default() };
        let exe = g.compile(x.print("", &[], options)?)?;
        let error = exe.run::<1>(&[Tensor::from([1, 2]).view()]).unwrap_err();
        assert!(error.to_string().contains("full"), "{error}");
        Ok(())
    }
}
