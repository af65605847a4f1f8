//! [`Array`]: elements and sizes, read from files and written to files.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};

use serde_json::{Value as Json, json};

use crate::Result;

/// Elements in row-major order.
#[derive(Clone)]
pub enum Data {
    F32(Vec<f32>),
    F64(Vec<f64>),
    /// Real and imaginary parts.
    C64(Vec<[f32; 2]>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
}

/// Elements and sizes.
#[derive(Clone)]
pub struct Array {
    pub data: Data,
    pub sizes: Vec<usize>,
    /// Whether the array is a constant of the graph, not an input.
    pub is_constant: bool,
}

impl Array {
    pub fn new(data: Data, sizes: &[usize]) -> Array {
        Array { data, sizes: sizes.to_vec(), is_constant: false }
    }

    /// Returns the elements if they are f32, and otherwise an empty slice. The other getters do the same.
    pub fn f32(&self) -> &[f32] {
        if let Data::F32(data) = &self.data { data } else { &[] }
    }

    pub fn c64(&self) -> &[[f32; 2]] {
        if let Data::C64(data) = &self.data { data } else { &[] }
    }

    pub fn i32(&self) -> &[i32] {
        if let Data::I32(data) = &self.data { data } else { &[] }
    }

    pub fn u8(&self) -> &[u8] {
        if let Data::U8(data) = &self.data { data } else { &[] }
    }

    pub fn bool(&self) -> &[bool] {
        if let Data::Bool(data) = &self.data { data } else { &[] }
    }
}

/// Reads the arrays of a list of `{"path", "dtype", "sizes", "constant"}`.
pub fn read(files: &Json) -> Result<Vec<Array>> {
    let mut arrays = Vec::new();
    for file in files.as_array().into_iter().flatten() {
        let mut source =
            BufReader::with_capacity(1 << 20, File::open(file["path"].as_str().unwrap_or_default())?);
        let sizes: Vec<usize> = serde_json::from_value(file["sizes"].clone())?;
        let count = sizes.iter().product();
        let data = match file["dtype"].as_str().unwrap_or_default() {
            "f32" => Data::F32(take(&mut source, count, f32::from_ne_bytes)?),
            "f64" => Data::F64(take(&mut source, count, f64::from_ne_bytes)?),
            "c64" => Data::C64(take(&mut source, count, complex)?),
            "i32" => Data::I32(take(&mut source, count, i32::from_ne_bytes)?),
            "i64" => Data::I64(take(&mut source, count, i64::from_ne_bytes)?),
            "u8" => Data::U8(take(&mut source, count, u8::from_ne_bytes)?),
            "bool" => Data::Bool(take(&mut source, count, |[byte]| byte != 0)?),
            other => {
                let message = format!("elements must be f32, f64, c64, i32, i64, u8 or bool, got {other}");
                return Err(message.into());
            }
        };
        arrays.push(Array { data, sizes, is_constant: file["constant"].as_bool().unwrap_or(false) });
    }
    Ok(arrays)
}

fn complex([a, b, c, d, e, f, g, h]: [u8; 8]) -> [f32; 2] {
    [f32::from_ne_bytes([a, b, c, d]), f32::from_ne_bytes([e, f, g, h])]
}

fn take<T, const N: usize>(
    source: &mut impl Read,
    count: usize,
    element: fn([u8; N]) -> T,
) -> Result<Vec<T>> {
    let mut elements = Vec::with_capacity(count);
    let mut bytes = [0; N];
    for _ in 0..count {
        source.read_exact(&mut bytes)?;
        elements.push(element(bytes));
    }
    Ok(elements)
}

/// Writes each array to a file whose path begins with `prefix`. Returns the descriptions of the files.
pub fn write(prefix: &str, arrays: &[Array]) -> Result<Vec<Json>> {
    let mut files = Vec::new();
    for (index, array) in arrays.iter().enumerate() {
        let path = format!("{prefix}{index}");
        let mut target = BufWriter::with_capacity(1 << 20, File::create(&path)?);
        let (dtype, written) = match &array.data {
            Data::F32(data) => ("f32", put(&mut target, data, f32::to_ne_bytes)),
            Data::F64(data) => ("f64", put(&mut target, data, f64::to_ne_bytes)),
            Data::C64(data) => ("c64", put(&mut target, data.as_flattened(), f32::to_ne_bytes)),
            Data::I32(data) => ("i32", put(&mut target, data, i32::to_ne_bytes)),
            Data::I64(data) => ("i64", put(&mut target, data, i64::to_ne_bytes)),
            Data::U8(data) => ("u8", put(&mut target, data, u8::to_ne_bytes)),
            Data::Bool(data) => ("bool", put(&mut target, data, |flag: bool| [u8::from(flag)])),
        };
        written?;
        target.flush()?;
        files.push(json!({"path": path, "dtype": dtype, "sizes": array.sizes}));
    }
    Ok(files)
}

fn put<T: Copy, const N: usize>(
    target: &mut impl Write,
    data: &[T],
    bytes: fn(T) -> [u8; N],
) -> Result<()> {
    for element in data {
        target.write_all(&bytes(*element))?;
    }
    Ok(())
}

/// Returns the memory of this process in MiB that Linux reports under `name`.
pub fn resident(name: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib: Option<f64> =
        line.and_then(|line| line.split_whitespace().next()).and_then(|word| word.parse().ok());
    kib.unwrap_or(f64::NAN) / 1024.0
}
