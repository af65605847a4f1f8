//! `decode_csv`: the fields of lines of text, as columns.

use std::panic::Location;

use shapeflow_shape_fns::{Attr, Attribute, Attrs, DType, counted};

use super::params::{attribute_error, check_strings, in_shape_fn, quoted, strings, value_error};
use super::to_number::{float, integer, parsed};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::tensor::{Element, StringsBuilder, Tensor, TensorView, place_text};

/// How [`Value::decode_csv`] reads a line.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    delimiter: u8,
    has_quotes: bool,
    missing: String,
    columns: Vec<i64>,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions::new()
    }
}

impl CsvOptions {
    /// Fields stand between commas, may be quoted, and are missing if they are empty. All columns are read.
    pub fn new() -> CsvOptions {
        CsvOptions { delimiter: b',', has_quotes: true, missing: String::new(), columns: Vec::new() }
    }

    /// Sets the byte between fields. It is `"` only if no field is quoted, see [`CsvOptions::quotes`].
    #[must_use]
    pub fn delimiter(mut self, delimiter: u8) -> CsvOptions {
        self.delimiter = delimiter;
        self
    }

    /// Sets whether `"` begins and ends a quoted field. Otherwise it is an ordinary byte.
    #[must_use]
    pub fn quotes(mut self, has_quotes: bool) -> CsvOptions {
        self.has_quotes = has_quotes;
        self
    }

    /// Sets the text of a missing field, besides the empty text.
    #[must_use]
    pub fn missing(mut self, text: &str) -> CsvOptions {
        self.missing = text.to_string();
        self
    }

    /// Sets the columns to read, in ascending order. There is one default for each.
    #[must_use]
    pub fn columns(mut self, columns: &[usize]) -> CsvOptions {
        self.columns = columns.iter().map(|column| *column as i64).collect();
        self
    }
}

impl<'g> Value<'g> {
    /// Splits lines of text into fields. Returns one column for each of `defaults`, in its dtype.
    ///
    /// `string[..] -> [..]` for each column. A default is an f32, f64, i32, i64 or string: a scalar or a vector of one
    /// element. A vector without elements makes a missing field an error. As TensorFlow's `DecodeCSV`. Runs on the
    /// host.
    ///
    /// ```
    /// use shapeflow::{CsvOptions, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let lines = g.constant(["1,\"a, b\",2.5", "2,,"])?;
    /// let defaults = [Tensor::from([0i64]), Tensor::from_strings(&[1], &["none"])?, Tensor::from([-1.0f32])];
    /// let columns = lines.decode_csv(&defaults, &CsvOptions::new())?;
    /// let [ids, names, prices] = g.compile(&columns[..])?.run(&[])?;
    /// assert_eq!(ids.to_vec::<i64>()?, [1, 2]);
    /// assert_eq!(names.to_string(), "string[2] [\"a, b\", \"none\"]");
    /// assert_eq!(prices.to_vec::<f32>()?, [2.5, -1.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, a default has another dtype or more elements, there are no defaults, the
    /// delimiter is `"` and fields may be quoted, or the columns do not ascend or differ in number from the defaults.
    /// The run fails if a line has another number of
    /// fields than there are defaults, a quote is misplaced, or a field is not a number of its column. Errors count
    /// lines and the fields of a line from 1.
    #[doc(alias = "read_csv")]
    #[track_caller]
    pub fn decode_csv(self, defaults: &[Tensor], options: &CsvOptions) -> Result<Vec<Value<'g>>> {
        let location = Location::caller();
        let mut call = self.graph().op(&DEF).data(self);
        for default in defaults {
            call = call.data(self.graph().constant_at(default.clone(), location));
        }
        if options.has_quotes && options.delimiter == b'"' {
            let message = "the delimiter must not be the quote of quoted fields, got \"\\\"\"";
            call.refuse(
                attribute_error(message.to_string()).with_help("CsvOptions::quotes(false) reads no quotes"),
            );
        }
        let delimiter = Attr::of_bytes(&[options.delimiter]);
        call = call.attr("field_delim", delimiter).attr("use_quote_delim", options.has_quotes);
        call = call.attr("na_value", options.missing.as_str()).attr("select_cols", options.columns.clone());
        call.finish_all_at(location).map(|columns| columns.to_vec())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("decode_csv", run)
    .attrs(&[
        Attribute::bytes_or("field_delim", ","),
        Attribute::bool_or("use_quote_delim", true),
        Attribute::bytes_or("na_value", ""),
        Attribute::ints_or("select_cols", &[]),
    ])
    .operands(&[Operand::Data("records"), Operand::Variadic("record_defaults..")])
    .outputs(|_, operands| operands.saturating_sub(1))
    .shape_fn(|cx| {
        in_shape_fn(Dialect::new(cx.attrs(), cx.len().saturating_sub(1)))?;
        shapeflow_shape_fns::string::decode_csv(cx)
    })
    .dtype_rule(|operands, _| {
        check_strings(operands, 1)?;
        let fields = operands.get(1..).unwrap_or_default();
        for dtype in fields {
            if !matches!(dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64 | DType::String) {
                return dtype::refuse(format!("a default must be f32, f64, i32, i64 or string, got {dtype}"));
            }
        }
        Ok(fields.to_vec())
    })
    .tensorflow(&[TfOp::new("DecodeCSV")]);

/// How a line is read.
struct Dialect<'a> {
    delimiter: u8,
    has_quotes: bool,
    missing: &'a [u8],
    /// The columns to read; all columns if there are none.
    columns: &'a [i64],
    /// The number of fields to read.
    fields: usize,
}

impl<'a> Dialect<'a> {
    /// Reads the attributes of a call with this many defaults.
    ///
    /// # Errors
    /// The delimiter is not one byte, there are no defaults, or the columns do not ascend or differ in number from the
    /// defaults.
    fn new(attrs: &'a Attrs, fields: usize) -> Result<Dialect<'a>> {
        let &[delimiter] = attrs.bytes("field_delim") else {
            let given = quoted(attrs.bytes("field_delim"));
            return Err(attribute_error(format!("field_delim must be one byte, got {given}")));
        };
        let columns = attrs.ints("select_cols");
        let ascend = columns.first().is_none_or(|first| *first >= 0) && columns.is_sorted_by(|a, b| a < b);
        if fields == 0 {
            return Err(attribute_error("there must be at least one default, got none".to_string()));
        }
        if !ascend || !columns.is_empty() && columns.len() != fields {
            return Err(attribute_error(format!(
                "select_cols must ascend from at least 0, one column for each of {fields}, got {columns:?}",
                fields = counted(fields, "default")
            )));
        }
        let has_quotes = attrs.bool("use_quote_delim");
        let missing = attrs.bytes("na_value");
        Ok(Dialect { delimiter, has_quotes, missing, columns, fields })
    }

    /// Appends the wanted fields of a line to `found`: the bytes to `text`, and where each field ends to `ends`.
    ///
    /// Line ends before a field are skipped, and a delimiter at the end of the line is followed by an empty field.
    fn split(&self, line: &[u8], text: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<(), &'static str> {
        text.clear();
        ends.clear();
        let is_wanted = |column: usize, read: usize| {
            self.columns.is_empty() || self.columns.get(read).is_some_and(|wanted| *wanted == column as i64)
        };
        let (mut next, mut column) = (0, 0);
        while next < line.len() {
            if matches!(line[next], b'\n' | b'\r') {
                next += 1;
                continue;
            }
            let start = text.len();
            next = match self.has_quotes && line[next] == b'"' {
                true => self.quoted_field(line, next + 1, text)?,
                false => self.plain_field(line, next, text)?,
            };
            match is_wanted(column, ends.len()) {
                true => ends.push(text.len()),
                false => text.truncate(start),
            }
            column += 1;
            if !self.columns.is_empty() && ends.len() == self.columns.len() {
                return Ok(());
            }
        }
        if line.last() == Some(&self.delimiter) && is_wanted(column, ends.len()) {
            ends.push(text.len());
        }
        Ok(())
    }

    /// Appends a field without quotes. Returns where the next field begins.
    fn plain_field(&self, line: &[u8], start: usize, text: &mut Vec<u8>) -> Result<usize, &'static str> {
        let rest = &line[start..];
        let length = rest.iter().position(|byte| *byte == self.delimiter).unwrap_or(rest.len());
        let field = &rest[..length];
        if field.iter().any(|byte| matches!(byte, b'\n' | b'\r') || self.has_quotes && *byte == b'"') {
            return Err("a field without quotes must have no quote and no line end in it");
        }
        text.extend_from_slice(field);
        Ok(start + length + 1)
    }

    /// Appends a field after its opening quote. Returns where the next field begins.
    fn quoted_field(&self, line: &[u8], start: usize, text: &mut Vec<u8>) -> Result<usize, &'static str> {
        let mut next = start;
        loop {
            match (line.get(next), line.get(next + 1)) {
                (Some(b'"'), after) if after.is_none_or(|after| *after == self.delimiter) => {
                    return Ok(next + 2);
                }
                (Some(b'"'), Some(b'"')) => {
                    text.push(b'"');
                    next += 2;
                }
                (Some(b'"'), _) => return Err("a quote inside of a quoted field must be doubled"),
                (Some(byte), _) => {
                    text.push(*byte);
                    next += 1;
                }
                (None, _) => return Err("a quoted field must end with a quote"),
            }
        }
    }
}

/// The fields of a column.
enum Column {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    Strings(StringsBuilder),
}

/// Appends the number of a field, or the default in place of a missing field; `Ok(false)` if the field is not a number.
fn push<T: Element>(
    column: &mut Vec<T>,
    field: Option<&[u8]>,
    default: &TensorView<'_>,
    parse: fn(&str) -> Option<T>,
) -> Result<bool> {
    let number = match field {
        Some(field) => parsed(field, parse),
        None => Some(default.as_slice::<T>()?[0]),
    };
    column.extend(number);
    Ok(number.is_some())
}

impl Column {
    fn new(dtype: DType) -> Column {
        match dtype {
            DType::F32 => Column::F32(Vec::new()),
            DType::F64 => Column::F64(Vec::new()),
            DType::I32 => Column::I32(Vec::new()),
            DType::I64 => Column::I64(Vec::new()),
            _ => Column::Strings(StringsBuilder::new()),
        }
    }

    fn push(&mut self, field: Option<&[u8]>, default: &TensorView<'_>) -> Result<bool> {
        match self {
            Column::F32(column) => push(column, field, default, float),
            Column::F64(column) => push(column, field, default, float),
            Column::I32(column) => push(column, field, default, integer),
            Column::I64(column) => push(column, field, default, integer),
            Column::Strings(column) => {
                match field {
                    Some(field) => column.push(field)?,
                    None => column.push(default.as_strings()?.at(0))?,
                }
                Ok(true)
            }
        }
    }

    fn finish(self, sizes: &[usize]) -> Result<Tensor> {
        match self {
            Column::F32(column) => Tensor::from_vec(sizes, column),
            Column::F64(column) => Tensor::from_vec(sizes, column),
            Column::I32(column) => Tensor::from_vec(sizes, column),
            Column::I64(column) => Tensor::from_vec(sizes, column),
            Column::Strings(column) => column.finish(sizes),
        }
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let dialect = Dialect::new(cx.attrs(), cx.inputs().saturating_sub(1))?;
    let (lines, view) = (strings(cx, 0)?, cx.input(0)?);
    let defaults: Vec<RowMajor<'_>> =
        (1..cx.inputs()).map(|operand| RowMajor::new(cx.input(operand)?)).collect::<Result<_>>()?;
    let defaults: Vec<TensorView<'_>> = defaults.iter().map(RowMajor::view).collect();
    if let Some((index, default)) = defaults.iter().enumerate().find(|(_, default)| default.len() > 1) {
        let message = format!("default {index} must have at most one element, got {}", default.len());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let mut columns: Vec<Column> = defaults.iter().map(|default| Column::new(default.dtype())).collect();
    let (mut text, mut ends) = (Vec::new(), Vec::new());
    for (number, line) in lines.iter().enumerate() {
        let wrong = |message: String| {
            // The sizes of a vector of lines say no more than the number of the line.
            let place =
                if view.sizes().len() == 1 { String::new() } else { place_text(number, view.sizes()) };
            value_error(format!("{message} in line {}{place}, {}", number + 1, quoted(line)))
        };
        dialect.split(line, &mut text, &mut ends).map_err(|message| wrong(message.to_string()))?;
        if ends.len() != dialect.fields {
            let expected = dialect.fields;
            return Err(wrong(format!(
                "there must be {expected}, got {}",
                ends.len(),
                expected = counted(expected, "field")
            )));
        }
        let mut start = 0;
        for (index, (column, default)) in columns.iter_mut().zip(&defaults).enumerate() {
            let field = &text[start..ends[index]];
            start = ends[index];
            let column_number = dialect.columns.get(index).map_or(index, |column| *column as usize) + 1;
            let field = Some(field).filter(|field| !field.is_empty() && *field != dialect.missing);
            if field.is_none() && default.is_empty() {
                return Err(wrong(format!("field {column_number} is missing, and has no default")));
            }
            if !column.push(field, default)? {
                let field = quoted(field.unwrap_or_default());
                return Err(wrong(format!(
                    "field {column_number} must be a number of {}, got {field}",
                    default.dtype()
                )));
            }
        }
    }
    for (index, column) in columns.into_iter().enumerate() {
        cx.set_output(index, column.finish(view.sizes())?)?;
    }
    Ok(())
}
