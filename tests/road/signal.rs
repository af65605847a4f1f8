//! Ops on signals against results that TensorFlow's `tf.signal` recorded, with sizes that are known when the graph is
//! built and with sizes that only the run knows.

use serde_json::Value as Json;
use shapeflow::{
    DType, Dim, ErrorKind, Graph, MelScale, Result, StftOptions, StftWindow, Tensor, TensorShape, Value,
    shape,
};

use crate::rng::Rng;

fn tensor(json: &Json) -> Tensor {
    let dtype = match json["dtype"].as_str().unwrap() {
        "float32" => DType::F32,
        "float64" => DType::F64,
        "complex64" => DType::C64,
        "complex128" => DType::C128,
        other => panic!("{other}"),
    };
    let sizes: Vec<usize> =
        json["sizes"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as usize).collect();
    let elements: Vec<f64> =
        json["elements"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
    match dtype {
        DType::F32 | DType::C64 => {
            let elements: Vec<f32> = elements.iter().map(|number| *number as f32).collect();
            Tensor::from_bits(dtype, &sizes, &elements).unwrap()
        }
        _ => Tensor::from_bits(dtype, &sizes, &elements).unwrap(),
    }
}

/// Builds the recorded call. `length` is the length of a window.
fn call<'g>(
    g: &'g Graph,
    line: &Json,
    x: Option<Value<'g>>,
    length: &Dim,
    dtype: DType,
) -> Result<Value<'g>> {
    let args = &line["args"];
    let int = |name: &str| args[name].as_i64().unwrap();
    let is = |name: &str| args[name].as_bool().unwrap();
    let x = || x.expect("the call has an input");
    let scale = || {
        let default = MelScale::default();
        let float = |name: &str, or: f64| args[name].as_f64().unwrap_or(or);
        let bins = |name: &str, or: usize| args[name].as_u64().map_or(or, |bins| bins as usize);
        MelScale {
            mel_bins: bins("mel_bins", default.mel_bins),
            spectrogram_bins: bins("spectrogram_bins", default.spectrogram_bins),
            sample_rate: float("sample_rate", default.sample_rate),
            lowest: float("lowest", default.lowest),
            highest: float("highest", default.highest),
        }
    };
    let options = || StftOptions {
        fft_length: args["fft_length"].as_i64(),
        pad_end: args["pad_end"] == true,
        ..StftOptions::default()
    };
    match line["function"].as_str().unwrap() {
        "hann_window" => g.hann_window(length, is("periodic"), dtype),
        "hamming_window" => g.hamming_window(length, is("periodic"), dtype),
        "kaiser_window" => g.kaiser_window(length, args["beta"].as_f64().unwrap(), dtype),
        "kaiser_bessel_derived_window" => {
            g.kaiser_bessel_derived_window(length, args["beta"].as_f64().unwrap(), dtype)
        }
        "vorbis_window" => g.vorbis_window(length, dtype),
        "frame" => x().frame(int("frame_length"), int("frame_step")),
        "frame_padded" => x().frame_padded(int("frame_length"), int("frame_step"), -1.0),
        "overlap_and_add" => x().overlap_and_add(int("frame_step")),
        "stft" => x().stft(int("frame_length"), int("frame_step"), options()),
        "inverse_stft" => x().inverse_stft(int("frame_length"), int("frame_step"), options()),
        "inverse_stft_window" => x().inverse_stft_window(int("frame_step")),
        "dct" => x().dct(int("kind"), is("orthonormal")),
        "idct" => x().idct(int("kind"), is("orthonormal")),
        "mfccs" => x().mfccs_from_log_mel_spectrograms(),
        "mel" => g.linear_to_mel_weight_matrix(scale(), dtype),
        other => panic!("{other}"),
    }
}

fn check(line: &Json, is_static: bool) -> Result<()> {
    let expected = tensor(&line["result"]);
    let x = line.get("x").map(tensor);
    let length = line["args"]["length"].as_i64();
    let g = Graph::new();
    let input = match &x {
        Some(x) => {
            let sizes = x.sizes().iter().map(|size| Dim::known(*size as i64));
            let shape = match is_static {
                true => TensorShape::new(sizes),
                false => TensorShape::new((0..x.sizes().len()).map(|axis| Dim::symbol(&format!("d{axis}")))),
            };
            Some(g.input("x", x.dtype(), shape)?)
        }
        None => None,
    };
    let n = g.input("n", DType::F32, shape!["n"])?;
    let length = match length {
        Some(length) if is_static => Dim::known(length),
        _ => n.dim(0)?,
    };
    let y = call(&g, line, input, &length, expected.dtype())?;
    let mut feeds = Vec::new();
    let n = Tensor::zeros(DType::F32, &[line["args"]["length"].as_u64().unwrap_or(0) as usize])?;
    feeds.push(("n", n.view()));
    if let Some(x) = &x {
        feeds.push(("x", x.view()));
    }
    let got = g.compile([("y", y)])?.run_named(&feeds)?.tensor("y")?.clone();
    assert_eq!(got.sizes(), expected.sizes(), "{line}");
    assert_eq!(got.dtype(), expected.dtype(), "{line}");
    // TensorFlow computes in the dtype of the result.
    let tolerance = if matches!(expected.dtype(), DType::F32 | DType::C64) { 2e-5 } else { 1e-12 };
    let differing = got.allclose(&expected, tolerance, tolerance);
    assert!(differing.is_ok(), "{line}\n{}", differing.unwrap_err());
    Ok(())
}

#[test]
fn results_are_those_of_tensorflow() -> Result<()> {
    let lines: Vec<Json> = include_str!("../data/signal.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(lines.len() > 150, "{}", lines.len());
    for line in &lines {
        check(line, true)?;
        check(line, false)?;
    }
    Ok(())
}

#[test]
fn an_inverse_transform_gives_the_signal_back() -> Result<()> {
    let mut rng = Rng::new(5);
    let g = Graph::new();
    let sound = g.input("sound", DType::F64, shape!["clips", "samples"])?;
    let window = g.hamming_window(16, true, DType::F64)?;
    let options = StftOptions { window: StftWindow::Values(window), ..StftOptions::default() };
    let spectrum = sound.stft(16, 4, options)?;
    let inverse = StftWindow::Values(window.inverse_stft_window(4)?);
    let back = spectrum.inverse_stft(16, 4, StftOptions { window: inverse, ..options })?;
    let samples: Vec<f64> = (0..2 * 64).map(|_| rng.unit_f64()).collect();
    let sound = Tensor::from_vec(&[2, 64], samples.clone())?;
    let [back] = g.compile(back)?.run(&[sound.view()])?;
    let back = back.to_vec::<f64>()?;
    for (got, expected) in back.chunks(64).zip(samples.chunks(64)) {
        // Four frames overlap each sample but the first and the last ones.
        for sample in 12..52 {
            assert!((got[sample] - expected[sample]).abs() < 1e-12);
        }
    }
    Ok(())
}

#[test]
fn a_transform_of_type_1_keeps_the_size_and_needs_two_samples() -> Result<()> {
    for shape in [shape!["n"], shape![Dim::UNKNOWN]] {
        let g = Graph::new();
        let y = g.input("x", DType::F64, shape.clone())?.dct(1, false)?;
        if shape.to_string() == "[n]" {
            assert_eq!(y.shape().to_string(), "[n]");
        }
        let exe = g.compile(y)?;
        let [y] = exe.run(&[Tensor::from([1.0f64, 2.0]).view()])?;
        y.allclose(&Tensor::from([3.0f64, -1.0]), 0.0, 1e-12).unwrap();
        let error = exe.run::<1>(&[Tensor::from([1.0f64]).view()]).unwrap_err();
        assert!(error.message().contains("shapes must agree"), "{error}");
    }
    Ok(())
}

#[test]
fn errors_name_the_call_of_the_program() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let ints = g.input("ints", DType::I64, shape!["n"])?;
    let message = |outcome: Result<Value<'_>>| {
        let error = outcome.unwrap_err();
        assert_eq!(error.location().map(|location| location.file()), Some(file!()), "{error}");
        error.message().to_string()
    };
    assert_eq!(message(x.frame(0, 1)), "frame: frame_length must be at least 1, got 0");
    assert_eq!(message(x.frame_padded(2, 0, 0.0)), "frame_padded: frame_step must be at least 1, got 0");
    let text = message(x.stft(i64::MAX, 1, StftOptions::default()));
    assert!(
        text.contains("frame_length must be at most 2^62 without fft_length, got 9223372036854775807"),
        "{text}"
    );
    assert_eq!(
        message(x.overlap_and_add(2)),
        "overlap_and_add: frames must have a known rank of at least 2, got shape [n]"
    );
    assert_eq!(message(x.dct(5, false)), "dct: kind must be 1, 2, 3 or 4, got 5");
    assert_eq!(message(ints.dct(2, false)), "dct: the element type must be f32 or f64, got i64");
    let text = message(ints.stft(4, 2, StftOptions::default()));
    assert!(text.contains("the element type must be a float, got i64"), "{text}");
    assert!(message(g.hann_window(-1, true, DType::F32)).starts_with("hann_window: range("));
    let scale = MelScale { mel_bins: usize::MAX, ..MelScale::default() };
    assert_eq!(g.linear_to_mel_weight_matrix(scale, DType::F32).unwrap_err().kind(), ErrorKind::Memory);
    let scale = MelScale { highest: 5000.0, ..MelScale::default() };
    let text = message(g.linear_to_mel_weight_matrix(scale, DType::F32));
    assert!(text.contains("at most half of the sample rate, got 125 to 5000"), "{text}");
    Ok(())
}
