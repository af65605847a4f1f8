//! The numbers of dtypes in TensorFlow's messages.

use shapeflow_shape_fns::DType;

/// Of each dtype of TensorFlow: its number, its name in protobuf text, and the dtype of this crate, if there is one.
const TABLE: &[(i32, &str, Option<DType>)] = &[
    (0, "DT_INVALID", None),
    (1, "DT_FLOAT", Some(DType::F32)),
    (2, "DT_DOUBLE", Some(DType::F64)),
    (3, "DT_INT32", Some(DType::I32)),
    (4, "DT_UINT8", Some(DType::U8)),
    (5, "DT_INT16", Some(DType::I16)),
    (6, "DT_INT8", Some(DType::I8)),
    (7, "DT_STRING", Some(DType::String)),
    (8, "DT_COMPLEX64", Some(DType::C64)),
    (9, "DT_INT64", Some(DType::I64)),
    (10, "DT_BOOL", Some(DType::Bool)),
    (11, "DT_QINT8", Some(DType::QI8)),
    (12, "DT_QUINT8", Some(DType::QU8)),
    (13, "DT_QINT32", Some(DType::QI32)),
    (14, "DT_BFLOAT16", Some(DType::BF16)),
    (15, "DT_QINT16", Some(DType::QI16)),
    (16, "DT_QUINT16", Some(DType::QU16)),
    (17, "DT_UINT16", Some(DType::U16)),
    (18, "DT_COMPLEX128", Some(DType::C128)),
    (19, "DT_HALF", Some(DType::F16)),
    (20, "DT_RESOURCE", None),
    (21, "DT_VARIANT", Some(DType::Variant)),
    (22, "DT_UINT32", Some(DType::U32)),
    (23, "DT_UINT64", Some(DType::U64)),
    (24, "DT_FLOAT8_E5M2", Some(DType::F8E5M2)),
    (25, "DT_FLOAT8_E4M3FN", Some(DType::F8E4M3FN)),
    (29, "DT_INT4", Some(DType::I4)),
    (30, "DT_UINT4", Some(DType::U4)),
];

/// The number of a reference dtype, such as `DT_FLOAT_REF`, is the number of the dtype that it refers to plus this
/// offset.
const REFERENCE: i32 = 100;

/// Returns the dtype with this number. For the number of a reference dtype, the result is the dtype to which the
/// reference dtype refers.
pub(crate) fn dtype_of(number: i32) -> Option<DType> {
    let number = if number > REFERENCE { number - REFERENCE } else { number };
    TABLE.iter().find(|row| row.0 == number).and_then(|row| row.2)
}

/// Returns the number of a dtype.
pub(crate) fn number_of(dtype: DType) -> i32 {
    TABLE.iter().find(|row| row.2 == Some(dtype)).map_or(0, |row| row.0)
}

/// Returns the name of a dtype number, such as `DT_FLOAT`, or the number itself if it has no name.
pub(crate) fn text_of(number: i32) -> String {
    match TABLE.iter().find(|row| row.0 == number) {
        Some(row) => row.1.to_string(),
        None => match TABLE.iter().find(|row| row.0 != 0 && row.0 + REFERENCE == number) {
            Some(row) => format!("{}_REF", row.1),
            None => number.to_string(),
        },
    }
}

/// Returns the number of a dtype name, such as `DT_FLOAT`.
#[cfg_attr(
    not(any(feature = "graphdef", test)),
    expect(dead_code, reason = "only an import reads names of dtypes")
)]
pub(crate) fn number_of_text(text: &str) -> Option<i32> {
    let (base, offset) = match text.strip_suffix("_REF") {
        Some(base) => (base, REFERENCE),
        None => (text, 0),
    };
    TABLE.iter().find(|row| row.1 == base).map(|row| row.0 + offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_of_every_dtype_read_back() {
        for dtype in DType::all() {
            assert_eq!(dtype_of(number_of(dtype)), Some(dtype));
            assert_eq!(dtype_of(number_of(dtype) + 100), Some(dtype));
            assert_eq!(number_of_text(&text_of(number_of(dtype))), Some(number_of(dtype)));
        }
        assert_eq!((text_of(101), number_of_text("DT_FLOAT_REF")), ("DT_FLOAT_REF".to_string(), Some(101)));
        assert_eq!((dtype_of(20), dtype_of(0), dtype_of(i32::MIN)), (None, None, None));
    }
}
