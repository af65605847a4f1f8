//! `as_string`: numbers as text.

use half::{bf16, f16};
use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::number::{FloatStyle, Spec};
use super::params::{attribute_error, in_shape_fn};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Element, StringsBuilder, TensorView};

impl<'g> Value<'g> {
    /// Writes each number as text: integers in decimal, floats with six digits after the point, complex numbers in
    /// parentheses, bools as `true` and `false`.
    ///
    /// `[..] -> string[..]`, every dtype but quantized ones. As TensorFlow's `AsString`; imported graphs may set a
    /// width, a precision and a notation. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let [text] = g.compile(g.constant([1.5f32, -2.0])?.as_string()?)?.run(&[])?;
    /// assert_eq!(text.to_string(), "string[2] [\"1.500000\", \"-2.000000\"]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are quantized.
    #[track_caller]
    pub fn as_string(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("as_string", run)
    .attrs(&[
        Attribute::int_or("precision", -1),
        Attribute::bool_or("scientific", false),
        Attribute::bool_or("shortest", false),
        Attribute::int_or("width", -1),
        Attribute::str_or("fill", ""),
    ])
    .operands(&[Operand::Data("input")])
    .shape_fn(|cx| {
        in_shape_fn(NumberFormat::new(cx.attrs(), cx.input_dtype(0).unwrap_or(DType::F32)))?;
        shapeflow_shape_fns::common::unary(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("AsString")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let dtype = dtype::common(operands, 0, 1, dtype::Class::Stored)?;
    if dtype.is_quantized() {
        return dtype::refuse(format!(
            "the element type must be bool, an integer, a float, complex or string, got {dtype} in operand 0"
        ));
    }
    Ok(vec![DType::String])
}

/// How numbers are written.
struct NumberFormat {
    spec: Spec,
    style: FloatStyle,
}

impl NumberFormat {
    /// Reads the attributes.
    ///
    /// # Errors
    /// An attribute does not apply to elements of `dtype`.
    fn new(attrs: &Attrs, dtype: DType) -> Result<NumberFormat> {
        let (scientific, shortest) = (attrs.bool("scientific"), attrs.bool("shortest"));
        let precision = usize::try_from(attrs.int("precision")).ok();
        let has_notation = scientific || shortest || precision.is_some();
        let is_float = dtype.is_float() || dtype.is_complex() || dtype == DType::String;
        if has_notation && !is_float {
            return Err(attribute_error(format!(
                "precision, scientific and shortest apply to floats only, got {dtype}"
            )));
        }
        let style = match (scientific, shortest) {
            (true, true) => {
                return Err(attribute_error("scientific and shortest must not both be set".to_string()));
            }
            (true, false) => FloatStyle::Scientific,
            (false, true) => FloatStyle::Shortest,
            (false, false) => FloatStyle::Fixed,
        };
        let flag = match attrs.str("fill").as_bytes() {
            [] => None,
            [flag @ (b' ' | b'+' | b'-' | b'0' | b'#')] => Some(*flag),
            _ => {
                let fill = attrs.str("fill");
                return Err(attribute_error(format!(
                    "fill must be empty or one of \" \", \"+\", \"-\", \"0\", \"#\", got {fill:?}"
                )));
            }
        };
        let width = usize::try_from(attrs.int("width")).unwrap_or(0);
        if width > MAX_WIDTH || precision.is_some_and(|precision| precision > MAX_WIDTH) {
            return Err(attribute_error(format!("width and precision must be at most {MAX_WIDTH}")));
        }
        Ok(NumberFormat { spec: Spec { flag, width, precision }, style })
    }

    fn float(&self, x: f64) -> String {
        self.spec.float(x, self.style)
    }

    fn complex(&self, [real, imaginary]: [f64; 2]) -> String {
        format!("({},{})", self.float(real), self.float(imaginary))
    }
}

/// The greatest width and precision.
const MAX_WIDTH: usize = 1 << 12;

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let format = NumberFormat::new(cx.attrs(), x.dtype())?;
    let mut made = StringsBuilder::with_capacity(x.len(), 0)?;
    let unsigned = |x: i128| format.spec.integer(x, false);
    let signed = |x: i128| format.spec.integer(x, true);
    match x.dtype() {
        DType::Bool => each::<bool>(&x, &mut made, |x| x.to_string())?,
        DType::I8 => each::<i8>(&x, &mut made, |x| signed(x.into()))?,
        DType::I16 => each::<i16>(&x, &mut made, |x| signed(x.into()))?,
        DType::I32 => each::<i32>(&x, &mut made, |x| signed(x.into()))?,
        DType::I64 => each::<i64>(&x, &mut made, |x| signed(x.into()))?,
        DType::U8 => each::<u8>(&x, &mut made, |x| unsigned(x.into()))?,
        DType::U16 => each::<u16>(&x, &mut made, |x| unsigned(x.into()))?,
        DType::U32 => each::<u32>(&x, &mut made, |x| unsigned(x.into()))?,
        DType::U64 => each::<u64>(&x, &mut made, |x| unsigned(x.into()))?,
        DType::F32 => each::<f32>(&x, &mut made, |x| format.float(x.into()))?,
        DType::F64 => each::<f64>(&x, &mut made, |x| format.float(x))?,
        DType::F16 => each::<u16>(&x, &mut made, |x| format.float(f16::from_bits(x).to_f64()))?,
        DType::BF16 => each::<u16>(&x, &mut made, |x| format.float(bf16::from_bits(x).to_f64()))?,
        DType::C64 => {
            for pair in x.as_bits::<f32>()?.as_chunks::<2>().0 {
                made.push(format.complex(pair.map(f64::from)).as_bytes())?;
            }
        }
        DType::C128 => {
            for pair in x.as_bits::<f64>()?.as_chunks::<2>().0 {
                made.push(format.complex(*pair).as_bytes())?;
            }
        }
        DType::String => {
            for string in x.as_strings()?.iter() {
                let blanks = vec![b' '; format.spec.width.saturating_sub(string.len())];
                match format.spec.flag {
                    Some(b'-') => made.push(&[string, &blanks].concat())?,
                    _ => made.push(&[&blanks, string].concat())?,
                }
            }
        }
        other => {
            let message = format!("the element type must be a number, got {other}");
            return Err(Error::new(ErrorKind::DType, Phase::Run, message));
        }
    }
    let sizes = x.sizes();
    cx.set_output(0, made.finish(sizes)?)
}

fn each<T: Element>(x: &TensorView<'_>, made: &mut StringsBuilder, text: impl Fn(T) -> String) -> Result<()> {
    x.as_bits::<T>()?.iter().try_for_each(|x| made.push(text(*x).as_bytes()))
}
