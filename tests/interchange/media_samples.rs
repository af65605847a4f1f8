//! Models that take files, and damaged files.

use serde_json::Value as Json;
use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{DType, ErrorKind, Graph, ImageDecoding, JpegDecoding, Result, Tensor, Value};

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

/// Changes bits and bytes of a file, cuts it, repeats a part, or moves a part of another file into it.
fn mutated(file: &[u8], other: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut file = file.to_vec();
    // Most mutations keep the start, without which a file has no format.
    let first = [12, 12, 30, 0][random(4)];
    for _ in 0..=random(3) {
        let place = (first + random(file.len().saturating_sub(first))).min(file.len());
        let end = (place + random(40)).min(file.len());
        let part: Vec<u8> = other.iter().skip(random(other.len())).take(random(60)).copied().collect();
        match (random(6), file.get_mut(place)) {
            (0, Some(byte)) => *byte ^= 1 << random(8),
            (1, Some(byte)) => *byte = [0, 0x7f, 0xff, random(256) as u8][random(4)],
            (2, _) => file.truncate(place),
            (3, _) => drop(file.drain(place..end)),
            (4, _) => file.extend_from_within(place..end),
            _ => drop(file.splice(place..end, part)),
        }
    }
    file
}

/// A damaged file gives an error or a result of the right shape, and no panic, in every op that decodes.
#[test]
fn damaged_files_give_errors_or_results_of_the_right_shape() -> Result<()> {
    let g = Graph::new();
    let file = g.input("file", DType::String, shapeflow::shape![])?;
    let image = ImageDecoding { channels: 3, dtype: DType::F32, ..ImageDecoding::default() };
    let jpeg = JpegDecoding { try_recover_truncated: true, ..JpegDecoding::default() };
    let small = JpegDecoding { ratio: 4, accurate_dct: true, ..JpegDecoding::default() };
    let crop = file.decode_and_crop_jpeg(g.constant([1, 2, 3, 4])?, 3, &jpeg)?;
    type IsRight = fn(&[usize]) -> bool;
    let decoders: [(Value<'_>, IsRight); 11] = [
        (file.decode_image(&image)?, |sizes| matches!(*sizes, [_, _, 3] | [_, _, _, 3])),
        (file.decode_jpeg_with(0, &jpeg)?, |sizes| matches!(*sizes, [_, _, 1..=4])),
        (file.decode_jpeg_with(1, &small)?, |sizes| matches!(*sizes, [_, _, 1])),
        (crop, |sizes| sizes == [3, 4, 3]),
        (file.extract_jpeg_shape(DType::I32)?, |sizes| sizes == [3]),
        (file.decode_png(0, DType::U16)?, |sizes| matches!(*sizes, [_, _, 1..=4])),
        (file.decode_gif()?, |sizes| matches!(*sizes, [_, _, _, 3])),
        (file.decode_bmp(4)?, |sizes| matches!(*sizes, [_, _, 4])),
        (file.decode_webp(3)?, |sizes| matches!(*sizes, [_, _, 3] | [_, _, _, 3])),
        (file.decode_wav(None, None)?[0], |sizes| sizes.len() == 2),
        (file.decode_compressed("ZLIB")?, |sizes| sizes.is_empty()),
    ];
    let mut state = 1u64;
    let mut random = move |limit: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % limit.max(1)
    };
    let ops =
        ["DecodePng", "DecodeJpeg", "DecodeBmp", "DecodeGif", "DecodeWebP", "DecodeWav", "DecodeCompressed"];
    let files: Vec<Vec<u8>> = ops.iter().flat_map(|op| files(op)).collect();
    let mutations: Vec<Tensor> = (0..2 * files.len())
        .map(|number| scalar(&mutated(&files[number / 2], &files[random(files.len())], &mut random)))
        .collect();
    let mut decoded = 0;
    for (value, is_right) in decoders {
        let exe = g.compile(value)?;
        for file in &mutations {
            match exe.run::<1>(&[file.view()]) {
                Ok([result]) => {
                    assert!(is_right(result.sizes()), "{value:?} has the sizes {:?}", result.sizes());
                    decoded += 1;
                }
                Err(error) => assert!(!error.to_string().contains("panic"), "{error}"),
            }
        }
    }
    assert!(decoded > mutations.len() / 2, "{decoded} results");
    Ok(())
}

/// A short file that declares a large image is refused before its pixels get memory.
#[test]
fn a_short_file_has_no_large_image() -> Result<()> {
    let g = Graph::new();
    let file = g.input("file", DType::String, shapeflow::shape![])?;
    let exe = g.compile(file.decode_image(&ImageDecoding::default())?)?;
    let gif = b"GIF89a\x01\0\x01\0\x80\0\0\x0a\x14\x1e\0\0\0,\0\0\0\0\xff\xff\xff\x07\0\x02\x02D\x01\0;";
    let error = exe.run::<1>(&[scalar(gif).view()]).unwrap_err();
    assert!(error.message().contains("35 bytes cannot have 2047 x 65535 pixels"), "{error}");
    let mut png = files("DecodePng").into_iter().find(|file| file.get(24..26) == Some(&[8, 2])).unwrap();
    png[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x20, 0]);
    // The checksum of the header.
    let checksum = !png[12..29].iter().fold(!0u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    });
    png[29..33].copy_from_slice(&checksum.to_be_bytes());
    let error = exe.run::<1>(&[scalar(&png).view()]).unwrap_err();
    assert!(error.message().contains("bytes cannot have 8192 x 16384 pixels"), "{error}");
    Ok(())
}

/// The import names the node whose attribute has a wrong value.
#[test]
fn wrong_attributes_are_errors_of_the_node() {
    for (op, attr, message) in [
        ("DecodeJpeg", r#"key: "ratio" value { i: 3 }"#, "ratio must be 1, 2, 4 or 8, got 3"),
        ("DecodeJpeg", r#"key: "channels" value { i: 2 }"#, "channels must be 0, 1, 3 or 4, got 2"),
        ("DecodeBmp", r#"key: "channels" value { i: 1 }"#, "channels must be 0, 3 or 4, got 1"),
        ("DecodeJpeg", r#"key: "dct_method" value { s: "FLOAT" }"#, "dct_method must be"),
        ("DecodeCompressed", r#"key: "compression_type" value { s: "LZMA" }"#, "compression_type must be"),
        (
            "DecodeWav",
            r#"key: "desired_samples" value { i: -2 }"#,
            "desired_samples must be at least -1, got -2",
        ),
        ("EncodePng", r#"key: "compression" value { i: 10 }"#, "compression must be from -1 to 9, got 10"),
        ("EncodeJpeg", r#"key: "quality" value { i: 101 }"#, "quality must be from 0 to 100, got 101"),
        (
            "EncodeJpeg",
            r#"key: "y_density" value { i: 65536 }"#,
            "y_density must be from 0 to 65535, got 65536",
        ),
        ("EncodeJpeg", r#"key: "density_unit" value { s: "mm" }"#, "density_unit must be"),
        ("EncodeJpeg", r#"key: "format" value { s: "gray" }"#, "format must be"),
    ] {
        let dtype = if op.starts_with("Encode") { "DT_UINT8" } else { "DT_STRING" };
        let text = format!(
            r#"node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }} }}
               node {{ name: "file" op: "{op}" input: "x" attr {{ {attr} }} }}"#
        );
        let imported = Model::from_text(&text).unwrap().import(None, &ImportOptions::new()).unwrap();
        let node = imported.nodes().find(|node| node.name == "file").unwrap();
        let error = node.error.unwrap();
        assert_eq!((error.kind(), error.node()), (ErrorKind::Attribute, Some("file")), "{error}");
        assert!(error.message().contains(message), "{error}");
    }
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
