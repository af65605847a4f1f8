//! [`serve`]: answers the requests of `peers/run.py`. A request is a line of JSON on standard input; its answer is a
//! line of JSON on standard output.
//!
//! | request | answer |
//! |---|---|
//! | `{"do": "rows"}` | `{"rows": [{"row", "case", "how", "unit"}], "not built": [..]}` |
//! | `{"do": "load", "case", "folder"}` | `{"inputs": [file..], "outputs": [file..]}` of the compiled and run case |
//! | `{"do": "time", "how", "seconds"}` | `{"us": [..]}`, samples of the loaded case |
//! | `{"do": "first"}` | `{"us": [x]}`, the time to the first result of the loaded case |
//! | `{"do": "memory", "case"}` | `{"mib": x}`, the peak memory of a run of the case |
//! | `{"do": "drop"}` | `{}`; the loaded case is dropped |
//!
//! A `file` is `{"path", "dtype", "sizes", "constant"}`. The file at the path holds the elements in row-major order, in
//! the machine's byte order.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value as Json, json};
use shapeflow::{DType, Element, Result, Tensor};

use super::case::Case;
use super::compiled_case::{self, CompiledCase};
use super::row::{How, Row, WITHOUT_OP};

type Answer = std::result::Result<Json, Box<dyn std::error::Error>>;

/// Answers requests until the input ends.
pub fn serve(cases: &[Case], rows: &[Row]) -> Result<()> {
    let mut loaded = None;
    for line in stdin().lock().lines().map_while(std::result::Result::ok) {
        let answer = answer(cases, rows, &mut loaded, &line);
        let answer = answer.unwrap_or_else(|error| json!({"error": error.to_string()}));
        println!("{answer}");
        if stdout().flush().is_err() {
            break;
        }
    }
    Ok(())
}

fn answer<'c>(
    cases: &'c [Case],
    rows: &[Row],
    loaded: &mut Option<(&'c Case, CompiledCase)>,
    line: &str,
) -> Answer {
    let request: Json = serde_json::from_str(line)?;
    let word = |name: &str| {
        request[name].as_str().ok_or_else(|| format!("a request must have {name}, got {request}"))
    };
    let find = || -> std::result::Result<&'c Case, Box<dyn std::error::Error>> {
        let name = word("case")?;
        Ok(cases.iter().find(|case| case.name == name).ok_or_else(|| format!("there is no case {name}"))?)
    };
    match word("do")? {
        "rows" => {
            let rows = rows.iter().map(|row| {
                let (how, unit) = (format!("{:?}", row.how), row.how.unit());
                json!({"row": row.name, "case": row.case, "how": how, "unit": unit})
            });
            Ok(json!({"rows": rows.collect::<Vec<_>>(), "not built": WITHOUT_OP}))
        }
        "load" => {
            *loaded = None;
            let (case, folder) = (find()?, Path::new(word("folder")?));
            let compiled = CompiledCase::new(case, (case.inputs)()?)?;
            let files = |kind: &str, tensors: &[Tensor], fed: usize| -> std::result::Result<Vec<Json>, _> {
                let write = |(index, tensor)| -> Answer {
                    let path = folder.join(format!("{kind}{index}"));
                    write(&path, tensor)?;
                    let (dtype, sizes) = (tensor.dtype().to_string(), tensor.sizes());
                    Ok(json!({"path": path, "dtype": dtype, "sizes": sizes, "constant": index >= fed}))
                };
                tensors.iter().enumerate().map(write).collect()
            };
            let inputs = files("input", compiled.inputs(), case.shapes.len())?;
            let outputs = files("output", compiled.outputs(), usize::MAX)?;
            *loaded = Some((case, compiled));
            Ok(json!({"inputs": inputs, "outputs": outputs}))
        }
        "time" => {
            let (_, compiled) = loaded.as_mut().ok_or("a case must be loaded first")?;
            let how = match word("how")? {
                "Run" => How::Run,
                "Bind" => How::Bind,
                "RunInto" => How::RunInto,
                other => return Err(format!("how must be Run, RunInto or Bind, got {other}").into()),
            };
            let seconds = request["seconds"].as_f64().unwrap_or(0.2);
            Ok(json!({"us": compiled.samples(how, Duration::from_secs_f64(seconds))?}))
        }
        "first" => {
            let (case, compiled) = loaded.as_ref().ok_or("a case must be loaded first")?;
            Ok(json!({"us": [compiled_case::first_result(case, compiled.inputs())?]}))
        }
        "memory" => Ok(json!({"mib": compiled_case::memory(find()?)?})),
        "drop" => {
            *loaded = None;
            Ok(json!({}))
        }
        other => Err(format!("there is no request {other}").into()),
    }
}

/// Writes the elements in row-major order, in the machine's byte order.
fn write(path: &Path, tensor: &Tensor) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    match tensor.dtype() {
        DType::F32 => put(&mut file, tensor, f32::to_ne_bytes),
        DType::F64 => put(&mut file, tensor, f64::to_ne_bytes),
        DType::I32 => put(&mut file, tensor, i32::to_ne_bytes),
        DType::I64 => put(&mut file, tensor, i64::to_ne_bytes),
        DType::U8 => put(&mut file, tensor, u8::to_ne_bytes),
        DType::C64 => put_all(&mut file, tensor.as_bits::<f32>()?, f32::to_ne_bytes),
        DType::Bool => put(&mut file, tensor, |flag: bool| [u8::from(flag)]),
        other => Err(format!("elements must be f32, f64, c64, i32, i64, u8 or bool, got {other}").into()),
    }?;
    Ok(file.flush()?)
}

fn put<T: Element, const N: usize>(
    file: &mut impl Write,
    tensor: &Tensor,
    bytes: fn(T) -> [u8; N],
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    put_all(file, tensor.as_slice::<T>()?, bytes)
}

fn put_all<T: Copy, const N: usize>(
    file: &mut impl Write,
    elements: &[T],
    bytes: fn(T) -> [u8; N],
) -> std::result::Result<(), Box<dyn std::error::Error>> {
    for element in elements {
        file.write_all(&bytes(*element))?;
    }
    Ok(())
}
