//! `Vocabulary`: the keys and values of a table in a text file.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use shapeflow_shape_fns::{DType, counted};

use super::limits::{Limits, refuse};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::{Element, Tensor};

/// The column that stands for the whole line.
const WHOLE_LINE: i64 = -2;

/// The column that stands for the number of the line.
const LINE_NUMBER: i64 = -1;

/// How the lines of a text file give the keys and values of a table.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    /// The column of the keys: the number of a column, counted from 0, or [`WHOLE_LINE`] or [`LINE_NUMBER`].
    pub key_column: i64,
    /// The column of the values, in the same form.
    pub value_column: i64,
    /// The number of lines to read, or -1 for all of them.
    pub size: i64,
    /// The number that [`LINE_NUMBER`] gives to the first line.
    pub first_number: i64,
    /// The text between two columns.
    pub delimiter: Vec<u8>,
}

impl Vocabulary {
    /// Reads the keys and the values from a file.
    ///
    /// # Errors
    /// `Io`: the file cannot be read. `Memory`: the file exceeds a limit. `Parse`: a line is empty, lacks a column or
    /// holds no number, or the file has too few lines. `DType`: a text cannot give elements of the dtype.
    pub(super) fn read(
        &self,
        path: &Path,
        key: DType,
        value: DType,
        limits: &Limits,
    ) -> Result<(Tensor, Tensor)> {
        let failed = |error| Error::new(ErrorKind::Io, Phase::Build, format!("{}: {error}", path.display()));
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut text = Vec::new();
        file.take(limits.constant_bytes.saturating_add(1)).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > limits.constant_bytes {
            return refuse(format_args!(
                "a vocabulary may have at most {}",
                counted(limits.constant_bytes, "byte")
            ));
        }
        self.parse(text, key, value).map_err(|error| error.about(path.display()))
    }

    fn parse(&self, mut text: Vec<u8>, key: DType, value: DType) -> Result<(Tensor, Tensor)> {
        text.retain(|byte| *byte != b'\r');
        let mut lines: Vec<&[u8]> = match text.is_empty() {
            true => Vec::new(),
            false => text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n').collect(),
        };
        if let Ok(size) = usize::try_from(self.size) {
            if lines.len() < size {
                return wrong(format!(
                    "the file must have {size}, got {}",
                    lines.len(),
                    size = counted(size, "line")
                ));
            }
            lines.truncate(size);
        }
        if let Some(line) = lines.iter().position(|line| line.is_empty()) {
            return wrong(format!("line {} must not be empty", line + 1));
        }
        Ok((self.column(&lines, self.key_column, key)?, self.column(&lines, self.value_column, value)?))
    }

    /// Returns the elements that a column has.
    fn column(&self, lines: &[&[u8]], column: i64, dtype: DType) -> Result<Tensor> {
        if column == LINE_NUMBER {
            let count = lines.len() as i64;
            let Some(end) = self.first_number.checked_add(count) else {
                return wrong(format!(
                    "the numbers of {count} from {} must fit i64",
                    self.first_number,
                    count = counted(count, "line")
                ));
            };
            let numbers: Vec<i64> = (self.first_number..end).collect();
            return match dtype {
                DType::I64 => Tensor::from_slice(&[lines.len()], &numbers),
                _ => unsupported(dtype, "line numbers"),
            };
        }
        let texts: Vec<&[u8]> = match usize::try_from(column) {
            Ok(column) => lines
                .iter()
                .enumerate()
                .map(|(line, text)| match split(text, &self.delimiter).nth(column) {
                    Some(text) => Ok(text),
                    None => wrong(format!("line {} must have column {column}, counted from 0", line + 1)),
                })
                .collect::<Result<_>>()?,
            Err(_) if column == WHOLE_LINE => lines.to_vec(),
            Err(_) => return wrong(format!("a column must be at least {WHOLE_LINE}, got {column}")),
        };
        match dtype {
            DType::String => Tensor::from_strings(&[texts.len()], &texts),
            DType::I32 => numbers::<i32>(&texts),
            DType::I64 => numbers::<i64>(&texts),
            DType::F32 => numbers::<f32>(&texts),
            DType::F64 => numbers::<f64>(&texts),
            _ => unsupported(dtype, "texts"),
        }
    }
}

/// Splits a line at each delimiter.
fn split<'t>(line: &'t [u8], delimiter: &'t [u8]) -> impl Iterator<Item = &'t [u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let text = rest?;
        let found = text.windows(delimiter.len().max(1)).position(|window| window == delimiter);
        rest = found.map(|position| &text[position + delimiter.len()..]);
        Some(&text[..found.unwrap_or(text.len())])
    })
}

fn numbers<T: Element + FromStr>(texts: &[&[u8]]) -> Result<Tensor> {
    let parsed: Vec<T> = texts
        .iter()
        .enumerate()
        .map(|(line, text)| match std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok()) {
            Some(number) => Ok(number),
            None => wrong(format!(
                "line {} must have a number of dtype {}, got {}",
                line + 1,
                T::DTYPE,
                text.escape_ascii()
            )),
        })
        .collect::<Result<_>>()?;
    Tensor::from_slice(&[parsed.len()], &parsed)
}

fn wrong<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Parse, Phase::Build, message))
}

fn unsupported<T>(dtype: DType, source: &str) -> Result<T> {
    Err(Error::new(ErrorKind::DType, Phase::Build, format!("{source} cannot be {dtype}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(key: i64, value: i64, size: i64, text: &str, dtypes: [DType; 2]) -> Result<(Tensor, Tensor)> {
        let vocabulary = Vocabulary {
            key_column: key,
            value_column: value,
            size,
            first_number: 5,
            delimiter: b"::".to_vec(),
        };
        vocabulary.parse(text.into(), dtypes[0], dtypes[1])
    }

    #[test]
    fn columns_are_lines_numbers_of_lines_and_parts_of_lines() {
        let (keys, values) = read(-2, -1, -1, "a\r\nb::1", [DType::String, DType::I64]).unwrap();
        assert_eq!(keys, Tensor::from_strings(&[2], &["a", "b::1"]).unwrap());
        assert_eq!(values.to_vec::<i64>().unwrap(), [5, 6]);
        let (keys, values) = read(1, 0, 1, "::7\nskipped\n", [DType::I32, DType::String]).unwrap();
        assert_eq!(
            (keys.to_vec::<i32>().unwrap(), values),
            (vec![7], Tensor::from_strings(&[1], &[""]).unwrap())
        );
        let (keys, _) = read(-2, -2, -1, "", [DType::String, DType::String]).unwrap();
        assert_eq!(keys.sizes(), [0]);
    }

    #[test]
    fn damaged_files_are_refused() {
        for (key, size, text, dtype, message) in [
            (-2, -1, "a\n\nb", DType::String, "line 2 must not be empty"),
            (-2, -1, "\n", DType::String, "line 1 must not be empty"),
            (-2, 3, "a\nb\n", DType::String, "the file must have 3 lines, got 2"),
            (1, -1, "a::b\nc", DType::String, "line 2 must have column 1, counted from 0"),
            (0, -1, "7\nx", DType::I64, "line 2 must have a number of dtype i64, got x"),
            (-1, -1, "a", DType::String, "line numbers cannot be string"),
            (-2, -1, "a", DType::Bool, "texts cannot be bool"),
            (-3, -1, "a", DType::String, "a column must be at least -2, got -3"),
        ] {
            let error = read(key, -2, size, text, [dtype, DType::String]).unwrap_err();
            assert_eq!(error.message(), message);
        }
        let late = Vocabulary {
            key_column: WHOLE_LINE,
            value_column: LINE_NUMBER,
            size: -1,
            first_number: i64::MAX,
            delimiter: Vec::new(),
        };
        let error = late.parse("a\nb".into(), DType::String, DType::I64).unwrap_err();
        assert_eq!(error.message(), "the numbers of 2 lines from 9223372036854775807 must fit i64");
    }

    #[test]
    fn a_file_of_a_million_lines_keeps_within_its_limit() {
        let path = std::env::temp_dir().join(format!("shapeflow-vocabulary-{}", std::process::id()));
        let text: String = (0..1_000_000).map(|line| format!("{line}\n")).collect();
        std::fs::write(&path, &text).unwrap();
        let vocabulary = Vocabulary {
            key_column: WHOLE_LINE,
            value_column: LINE_NUMBER,
            size: -1,
            first_number: 0,
            delimiter: Vec::new(),
        };
        let read = |constant_bytes| {
            let limits = Limits { constant_bytes, ..Limits::default() };
            vocabulary.read(&path, DType::I64, DType::I64, &limits)
        };
        let (keys, values) = read(text.len() as u64).unwrap();
        assert_eq!((keys.len(), keys), (1_000_000, values));
        let error = read(text.len() as u64 - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(1).unwrap_err().kind(), ErrorKind::Io);
    }
}
