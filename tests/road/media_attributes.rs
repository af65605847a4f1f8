//! Attributes of ops on files that are refused when the op is added.

use shapeflow::{DType, ErrorKind, Graph, JpegDecoding, JpegEncoding, Result, Value};

/// Checks that a call is refused at the line of the user, for an attribute.
#[track_caller]
fn check(refused: Result<Value<'_>>, message: &str) {
    let error = refused.unwrap_err();
    let line = std::panic::Location::caller().line();
    assert_eq!(error.kind(), ErrorKind::Attribute, "{error}");
    assert!(error.message().ends_with(message), "{error}");
    assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");
}

#[test]
#[rustfmt::skip]
fn wrong_attributes_are_refused_when_the_op_is_added() -> Result<()> {
    let g = Graph::new();
    let file = g.input("file", DType::String, shapeflow::shape![])?;
    let image = g.input("image", DType::U8, shapeflow::shape!["h", "w", 3])?;
    let channels = "channels must be 0, 1, 3 or 4, got 2";
    check(file.decode_jpeg(2), channels);
    check(file.decode_png(2, DType::U8), channels);
    check(file.decode_webp(2), channels);
    check(file.decode_bmp(1), "channels must be 0, 3 or 4, got 1");
    let (window, usual) = (g.constant([0, 0, 1, 1])?, JpegDecoding::default());
    check(file.decode_and_crop_jpeg(window, 4, &usual), "channels must be 0, 1 or 3, got 4");
    let ratio = JpegDecoding { ratio: 3, ..JpegDecoding::default() };
    check(file.decode_jpeg_with(0, &ratio), "ratio must be 1, 2, 4 or 8, got 3");
    check(file.decode_compressed("LZMA"), "compression_type must be \"\", \"ZLIB\" or \"GZIP\", got \"LZMA\"");
    let quality = JpegEncoding { quality: 101, ..JpegEncoding::default() };
    check(image.encode_jpeg(&quality), "quality must be from 0 to 100, got 101");
    let density = JpegEncoding { density: [300, -1], ..JpegEncoding::default() };
    check(image.encode_jpeg(&density), "y_density must be from 0 to 65535, got -1");
    // PNG files have 4 channels, and the op reads them.
    assert_eq!(file.decode_jpeg(4)?.shape().to_string(), "[?, ?, 4]");
    Ok(())
}
