//! Cases that move elements to positions that depend on shapes and attributes only, not on the elements.

use shapeflow::{DType, Graph, Result, Sampling, SliceItem, Value, WindowPadding, concat};

use super::case::{Build, Case, bytes, integers, numbers};

/// Returns all cases of this file.
pub fn cases() -> Vec<Case> {
    const SQUARE: &[usize] = &[4096, 4096];
    vec![
        case_of_one_input("transpose 4096² f32", "[a, b]", SQUARE, |_, x| Ok(vec![x[0].t()?])),
        Case::new(
            "u8 NHWC [32,224,224,3] to f32 NCHW, normalized",
            &["[n, h, w, 3]"],
            || Ok(vec![bytes(&[32, 224, 224, 3])?]),
            |g, x| Ok(vec![normalized(g, x[0])?]),
        ),
        Case::new(
            "image pipeline: crop, mirror, normalize [32,256,256,3]",
            &["[n, h, w, 3]"],
            || Ok(vec![bytes(&[32, 256, 256, 3])?]),
            image_pipeline,
        ),
        Case::new(
            "concat 8 × [1024,512] axis 1",
            &["[n, a]", "[n, b]", "[n, c]", "[n, d]", "[n, e]", "[n, f]", "[n, g]", "[n, h]"],
            || (0..8).map(|_| numbers(&[1024, 512])).collect(),
            |_, x| Ok(vec![concat(x, 1)?]),
        ),
        case_of_one_input("pad [32,224,224,3] by 3", "[n, h, w, c]", &[32, 224, 224, 3], |_, x| {
            Ok(vec![x[0].pad([0, 0, 3, 3, 3, 3, 0, 0])?])
        }),
        case_of_one_input("tile [1024,256] × [4,4]", "[a, b]", &[1024, 256], |_, x| {
            Ok(vec![x[0].tile([4, 4])?])
        }),
        case_of_one_input("x[::-1, ::-2] of 4096²", "[a, b]", SQUARE, |_, x| {
            let step = |step| SliceItem::from(..).step(step);
            Ok(vec![x[0].slice_with(&[step(-1), step(-2)])?])
        }),
        case_of_one_input("reverse axis 1 of 4096²", "[a, b]", SQUARE, |_, x| Ok(vec![x[0].reverse([1])?])),
        case_of_one_input(
            "space_to_depth [8,256,256,16] by 2",
            "[n, 256, 256, 16]",
            &[8, 256, 256, 16],
            |_, x| Ok(vec![x[0].space_to_depth(2)?]),
        ),
        case_of_one_input(
            "space_to_batch_nd [8,256,256,16] by 2",
            "[8, 256, 256, 16]",
            &[8, 256, 256, 16],
            |_, x| Ok(vec![x[0].space_to_batch_nd([2, 2], [2, 2, 2, 2])?]),
        ),
        case_of_one_input(
            "image patches 3×3 [8,128,128,32]",
            "[n, 128, 128, c]",
            &[8, 128, 128, 32],
            patches,
        ),
        Case::new(
            "sequence_mask [65536,256]",
            &["[n]"],
            || Ok(vec![integers(&[65536], 257)?]),
            |_, x| Ok(vec![x[0].sequence_mask(256)?]),
        ),
        case_of_one_input(
            "resize bilinear [8,512,512,3] by 0.5",
            "[n, h, w, 3]",
            &[8, 512, 512, 3],
            |_, x| Ok(vec![x[0].resize_bilinear([256, 256], Sampling::HalfPixel)?]),
        ),
    ]
}

/// Returns a case with a single input, of random f32 numbers.
fn case_of_one_input(name: &'static str, shape: &'static str, sizes: &'static [usize], build: Build) -> Case {
    let shapes: &'static [&'static str] = Box::leak(Box::new([shape]));
    Case::new(name, shapes, move || Ok(vec![numbers(sizes)?]), build)
}

fn normalized<'g>(g: &'g Graph, x: Value<'g>) -> Result<Value<'g>> {
    let mean = g.constant([0.485f32, 0.456, 0.406])?;
    let deviation = g.constant([0.229f32, 0.224, 0.225])?;
    ((x.cast(DType::F32)? * (1.0 / 255.0) - mean) / deviation).transpose([0, 3, 1, 2])
}

fn image_pipeline<'g>(g: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let middle = x[0].slice([0, 16, 16, 0], [-1, 224, 224, 3])?;
    Ok(vec![normalized(g, middle.reverse([2])?)?])
}

/// Extracts the 3×3 neighborhood of every pixel, with zeros beyond the edge. A pixel of the result has 9 times the
/// channels of the input.
fn patches<'g>(_: &'g Graph, x: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    Ok(vec![x[0].extract_image_patches([3, 3], [1, 1], [1, 1], WindowPadding::Same)?])
}
