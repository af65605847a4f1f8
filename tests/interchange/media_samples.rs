//! Models that take files, and damaged files.

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{DType, Graph, ImageDecoding, JpegDecoding, Result, Tensor};

/// The files of the recorded cases of an op that decodes.
fn files(op: &str) -> Vec<Vec<u8>> {
    let path = format!("{}/tests/data/media.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut files: Vec<Vec<u8>> = text
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .filter(|case| case["op"] == op)
        .filter_map(|case| {
            let tensor = case["inputs"][0].as_str().unwrap();
            let node = format!(
                r#"node {{ name: "v" op: "Const" attr {{ key: "dtype" value {{ type: DT_STRING }} }}
                   attr {{ key: "value" value {{ tensor {{ {tensor} }} }} }} }}"#
            );
            let imported = Model::from_text(&node).unwrap().import(None, &ImportOptions::new()).unwrap();
            let value = imported.value("v").unwrap().static_value()?;
            value.as_strings().ok()?.get(0).map(<[u8]>::to_vec)
        })
        .collect();
    files.sort();
    files.dedup();
    files
}

fn scalar(file: &[u8]) -> Tensor {
    Tensor::from_strings(&[], &[file]).unwrap()
}

#[test]
fn a_model_decodes_and_resizes_its_image() -> Result<()> {
    let text = r#"
        node { name: "bytes" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
               attr { key: "shape" value { shape { } } } }
        node { name: "image" op: "DecodeJpeg" input: "bytes" attr { key: "channels" value { i: 3 } } }
        node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
        node { name: "batch" op: "ExpandDims" input: "image" input: "zero" attr { key: "T" value { type: DT_UINT8 } } }
        node { name: "size" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
               attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
                                                    int_val: 4 int_val: 5 } } } }
        node { name: "resized" op: "ResizeBilinear" input: "batch" input: "size"
               attr { key: "T" value { type: DT_UINT8 } } attr { key: "half_pixel_centers" value { b: true } } }
        node { name: "y" op: "Cast" input: "resized" attr { key: "SrcT" value { type: DT_FLOAT } }
               attr { key: "DstT" value { type: DT_INT32 } } }"#;
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    assert_eq!(imported.value("y")?.shape().to_string(), "[1, 4, 5, 3]");
    let exe = imported.graph().compile(imported.value("y")?)?;
    let file =
        files("DecodeAndCropJpeg").into_iter().rev().find(|file| file.starts_with(&[0xff, 0xd8])).unwrap();
    let [y] = exe.run(&[scalar(&file).view()])?;
    let g = Graph::new();
    let image = g.constant(scalar(&file))?.decode_jpeg(3)?.cast(DType::F32)?;
    let [image] = g.compile(image)?.run(&[])?;
    let (pixels, [height, width, _]) = (image.to_vec::<f32>()?, *image.sizes().first_chunk::<3>().unwrap());
    let mut expected = Vec::new();
    for row in 0..4 {
        for column in 0..5 {
            for channel in 0..3 {
                let near = |i: usize, count: usize, size: usize| {
                    let place = ((i as f32 + 0.5) * (size as f32 / count as f32) - 0.5).max(0.0);
                    let low = place.floor() as usize;
                    (low, (low + 1).min(size - 1), place - place.floor())
                };
                let ((y0, y1, dy), (x0, x1, dx)) = (near(row, 4, height), near(column, 5, width));
                let at = |y: usize, x: usize| pixels[(y * width + x) * 3 + channel];
                let top = at(y0, x0) + (at(y0, x1) - at(y0, x0)) * dx;
                let bottom = at(y1, x0) + (at(y1, x1) - at(y1, x0)) * dx;
                expected.push((top + (bottom - top) * dy) as i32);
            }
        }
    }
    let close = y.to_vec::<i32>()?.iter().zip(&expected).all(|(y, expected)| (y - expected).abs() <= 1);
    assert!(close, "{y} and not {expected:?}");
    Ok(())
}

/// A file with some bytes changed, removed or doubled gives an image or an error, and no panic.
#[test]
fn damaged_files_do_not_panic() -> Result<()> {
    let g = Graph::new();
    let file = g.input("file", DType::String, shapeflow::shape![])?;
    let options = JpegDecoding { try_recover_truncated: true, ..JpegDecoding::default() };
    let image = g.compile(file.decode_image(&ImageDecoding { channels: 3, ..ImageDecoding::default() })?)?;
    let jpeg = g.compile(file.decode_jpeg_with(0, &options)?)?;
    let sound = g.compile(file.decode_wav(None, None)?)?;
    let text = g.compile(file.decode_compressed("ZLIB")?)?;
    let mut state = 1u64;
    let mut random = move |limit: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % limit.max(1)
    };
    for op in
        ["DecodePng", "DecodeJpeg", "DecodeBmp", "DecodeGif", "DecodeWebP", "DecodeWav", "DecodeCompressed"]
    {
        let exe = match op {
            "DecodeJpeg" => &jpeg,
            "DecodeWav" => &sound,
            "DecodeCompressed" => &text,
            _ => &image,
        };
        for file in files(op) {
            for round in 0..12 {
                let mut damaged = file.clone();
                // The sizes of an image stand near its start; large ones only take time.
                let first = if op == "DecodeWav" || op == "DecodeCompressed" { 0 } else { 30 };
                for _ in 0..=random(4) {
                    let place = first + random(damaged.len().saturating_sub(first));
                    match damaged.get_mut(place) {
                        Some(byte) if round % 3 == 0 => *byte = random(256) as u8,
                        Some(_) if round % 3 == 1 => damaged.truncate(place),
                        Some(byte) => *byte ^= 1 << random(8),
                        None => {}
                    }
                }
                if let Err(error) = exe.run_all(&[scalar(&damaged).view()]) {
                    assert!(!error.to_string().contains("panic"), "{op}: {error}");
                }
            }
        }
    }
    Ok(())
}

/// Rows in front of the end of a file are those of the whole file.
#[test]
fn a_file_that_ends_early_keeps_its_first_rows() -> Result<()> {
    let g = Graph::new();
    let plane: Vec<u8> = (0..64 * 64).map(|i| ((i % 64) * 3 + (i / 64)) as u8).collect();
    let file = g.constant(Tensor::from_vec(&[64, 64, 1], plane)?)?.encode_jpeg(&Default::default())?;
    let [file] = g.compile(file)?.run(&[])?;
    let bytes = file.as_strings()?.at(0).to_vec();
    let input = g.input("file", DType::String, shapeflow::shape![])?;
    let options = JpegDecoding { try_recover_truncated: true, ..JpegDecoding::default() };
    let exe = g.compile([input.decode_jpeg_with(1, &options)?])?;
    let [whole] = exe.run(&[file.view()])?;
    let [part] = exe.run(&[scalar(&bytes[..bytes.len() * 3 / 4]).view()])?;
    assert_eq!(part.to_vec::<u8>()?[..8 * 64], whole.to_vec::<u8>()?[..8 * 64]);
    let strict = g.compile(input.decode_jpeg(1)?)?;
    let error = strict.run::<1>(&[scalar(&bytes[..bytes.len() * 3 / 4]).view()]).unwrap_err();
    assert!(error.message().contains("ends inside its pixels"), "{error}");
    Ok(())
}
