//! A process for the Rust peer that the argument names. The process reads requests as lines of JSON from standard
//! input, and writes an answer to each as a line of JSON. The requests are listed in `benches/pipelines/serve.rs`.

#[cfg(feature = "candle")]
mod candle;
mod file;
#[cfg(feature = "gemm")]
mod matrix;
#[cfg(feature = "ndarray")]
mod ndarrays;
mod plain;
#[cfg(feature = "tract")]
mod tract;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use file::Array;

pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A function that runs a case once. The function returns the results if the argument is true, and otherwise an empty
/// list.
pub type Call = Box<dyn FnMut(bool) -> Result<Vec<Array>>>;

/// A function that prepares a case, given its name, its inputs, and the path of its ONNX model. The function returns
/// `None` if the peer does not have the case.
pub type Make = fn(&str, &Rc<Vec<Array>>, Option<&str>) -> Option<Result<Call>>;

/// The case that the last `load` request prepared.
struct Loaded {
    case: String,
    inputs: Rc<Vec<Array>>,
    model: Option<String>,
    call: Call,
}

fn main() -> Result<()> {
    let peer = std::env::args().nth(1).unwrap_or_default();
    let (make, version): (Make, &str) = match peer.as_str() {
        #[cfg(feature = "tract")]
        "tract" => (tract::make, "0.23"),
        #[cfg(feature = "candle")]
        "candle" => (candle::make, "0.11"),
        #[cfg(feature = "ndarray")]
        "ndarray" => (ndarrays::make, "0.17"),
        #[cfg(feature = "gemm")]
        "gemm" => (matrix::make, "0.19"),
        "rust" => (plain::make, "by LLVM"),
        "copy" => (plain::copy, "non-temporal"),
        other => return Err(format!("there is no peer {other}").into()),
    };
    println!("{}", json!({"version": version}));
    let mut loaded = None;
    for line in stdin().lock().lines() {
        let request: Json = serde_json::from_str(&line?)?;
        let answer =
            answer(make, &mut loaded, &request).unwrap_or_else(|error| json!({"error": error.to_string()}));
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}

fn answer(make: Make, loaded: &mut Option<Loaded>, request: &Json) -> Result<Json> {
    let word = |name: &str| request[name].as_str().map(str::to_string);
    match request["do"].as_str().unwrap_or_default() {
        "load" => {
            *loaded = None;
            let (case, model) = (word("case").unwrap_or_default(), word("model"));
            let inputs = Rc::new(file::read(&request["inputs"])?);
            let Some(call) = make(&case, &inputs, model.as_deref()) else {
                return Ok(json!({"missing": case}));
            };
            let mut call = call?;
            let (folder, peer) = (word("folder").unwrap_or_default(), word("peer").unwrap_or_default());
            let outputs = file::write(&format!("{folder}/{peer}"), &call(true)?)?;
            *loaded = Some(Loaded { case, inputs, model, call });
            Ok(json!({"outputs": outputs}))
        }
        "time" => {
            let loaded = loaded.as_mut().ok_or("a case must be loaded first")?;
            let seconds = request["seconds"].as_f64().unwrap_or(0.2);
            Ok(json!({"us": samples(&mut loaded.call, Duration::from_secs_f64(seconds))?}))
        }
        "first" => {
            let loaded = loaded.as_ref().ok_or("a case must be loaded first")?;
            let start = Instant::now();
            let call = make(&loaded.case, &loaded.inputs, loaded.model.as_deref());
            let call = call.ok_or("the peer does not have the case")?;
            call?(false)?;
            Ok(json!({"us": [start.elapsed().as_secs_f64() * 1e6]}))
        }
        "memory" => {
            let before = file::resident("VmRSS:");
            let inputs = Rc::new(file::read(&request["inputs"])?);
            let (case, model) = (word("case").unwrap_or_default(), word("model"));
            let Some(call) = make(&case, &inputs, model.as_deref()) else {
                return Ok(json!({"missing": case}));
            };
            call?(false)?;
            Ok(json!({"mib": file::resident("VmHWM:") - before}))
        }
        _ => {
            *loaded = None;
            Ok(json!({}))
        }
    }
}

/// Returns samples of the microseconds of a call, taken until `time` has passed. A sample is the mean over several
/// calls, which together take at least 200 µs.
fn samples(call: &mut Call, time: Duration) -> Result<Vec<f64>> {
    call(false)?;
    let mut count = 1u32;
    while timed(count, call)? < Duration::from_micros(200) && count < 1 << 20 {
        count *= 2;
    }
    let (start, mut samples) = (Instant::now(), Vec::new());
    while samples.len() < 3 || start.elapsed() < time {
        samples.push(timed(count, call)?.as_secs_f64() * 1e6 / f64::from(count));
    }
    Ok(samples)
}

/// Returns the time of `count` calls.
fn timed(count: u32, call: &mut Call) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..count {
        call(false)?;
    }
    Ok(start.elapsed())
}
