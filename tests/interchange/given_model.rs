//! A model that environment variables name, against results that TensorFlow recorded for it.
//!
//! - `SHAPEFLOW_MODEL`: the folder or the file of the model.
//! - `SHAPEFLOW_CASES`: an npz file with arrays of inputs and results.
//! - `SHAPEFLOW_TENSORS`: the tensors of the arrays, such as `texts=Placeholder:0,scores=add:0`. Without the variable,
//!   `in_NAME` is an input of the model's default signature, and `out_NAME` is an output.
//! - `SHAPEFLOW_TOLERANCE`: how far floats may be from the recorded ones, relative to them; 1e-5 without the variable. A
//!   model that takes the logarithm of a small difference needs more: rounding then differs between processors.
//!
//! Strings `NAME` are stored as two arrays: their bytes, `NAME__bytes`, and their offsets, `NAME__offs`. Without a
//! third array `NAME__shape`, the strings have the shape of the result.

use std::env;

use shapeflow::interchange::{ImportOptions, read_model, read_npz};
use shapeflow::{Tensor, TensorView};

/// Returns the tensors of the model that arrays stand for: pairs of an array and a tensor.
fn tensors_of_arrays<'a>(
    given: Option<&'a str>,
    arrays: impl Iterator<Item = &'a str>,
) -> Vec<(&'a str, &'a str)> {
    match given {
        Some(given) => given.split(',').map(|pair| pair.split_once('=').expect("ARRAY=TENSOR")).collect(),
        None => {
            let tensor = |array: &'a str| array.strip_prefix("in_").or_else(|| array.strip_prefix("out_"));
            arrays.filter_map(|array| Some((array, tensor(array)?))).collect()
        }
    }
}

#[test]
fn a_given_model_gives_the_recorded_results() {
    let (Ok(path), Ok(cases)) = (env::var("SHAPEFLOW_MODEL"), env::var("SHAPEFLOW_CASES")) else {
        eprintln!("skipped: SHAPEFLOW_MODEL and SHAPEFLOW_CASES must name a model and its recorded results");
        return;
    };
    let arrays = read_npz(cases).unwrap();
    let given = env::var("SHAPEFLOW_TENSORS").ok();
    let names = tensors_of_arrays(given.as_deref(), arrays.iter().map(|(name, _)| name));
    let array = |name: &str| {
        let found = arrays.iter().find(|(array, _)| *array == name);
        found.map_or_else(|| panic!("the file must have the array {name}"), |(_, tensor)| tensor)
    };
    let model = read_model(path).unwrap();
    let mut options = ImportOptions::new();
    if let Some(signature) = model.default_signature().filter(|_| given.is_none()) {
        options = options.signature(signature);
    }
    let tensors: Vec<&str> = names.iter().map(|(_, tensor)| *tensor).collect();
    let imported = model.import(given.is_some().then_some(&tensors[..]), &options).unwrap();
    let (fed, fetched): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|(_, tensor)| imported.input_name(tensor).is_some());
    assert!(!fed.is_empty() && !fetched.is_empty(), "there must be inputs and results");
    let tolerance: f64 = env::var("SHAPEFLOW_TOLERANCE").map_or(1e-5, |text| text.parse().unwrap());
    let values: Vec<_> = fetched.iter().map(|(_, tensor)| imported.value(tensor).unwrap()).collect();
    let exe = imported.graph().compile(&values[..]).unwrap();
    let feeds: Vec<(&str, TensorView<'_>)> =
        fed.iter().map(|(name, tensor)| (imported.input_name(tensor).unwrap(), array(name).view())).collect();
    let results = exe.run_named(&feeds).unwrap();
    for ((name, tensor), (_, got)) in fetched.iter().zip(results.iter()) {
        let expected = array(name);
        let expected: Tensor = match expected.as_strings() {
            Ok(_) if expected.len() == got.len() => expected.reshape(got.sizes()).unwrap(),
            _ => expected.clone(),
        };
        let is_equal = *got == expected
            || got.dtype().is_float()
                && got.sizes() == expected.sizes()
                && got.allclose(&expected, tolerance, tolerance / 10.0).is_ok();
        assert!(is_equal, "{tensor}: expected {expected}, got {got}");
        eprintln!("{tensor}: {} elements as recorded", got.len());
    }
}
