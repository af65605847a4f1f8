//! `serialize_tensor` and `parse_tensor`: a tensor as a string, in the form of TensorFlow's message `TensorProto`.

use shapeflow_shape_fns::{Attribute, DType};

use super::params::{check_strings, scalar};
use super::tensor_message::{StringForm, TensorMessage, message_of};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::StringsBuilder;

impl<'g> Value<'g> {
    /// Writes the tensor, with its dtype and its shape, to one string: TensorFlow's message `TensorProto`.
    ///
    /// `[..] -> string[]`, bool, integers, floats, complex and strings. As TensorFlow's `SerializeTensor`
    /// (`tf.io.serialize_tensor`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let string = g.constant([1i16, 2])?.serialize_tensor()?;
    /// let again = string.parse_tensor(DType::I16)?;
    /// let [string, again] = g.compile([string, again])?.run(&[])?;
    /// assert_eq!(string.as_strings()?.at(0), b"\x08\x05\x12\x04\x12\x02\x08\x02\x22\x04\x01\0\x02\0");
    /// assert_eq!(again, Tensor::from([1i16, 2]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype is not supported.
    #[track_caller]
    pub fn serialize_tensor(self) -> Result<Value<'g>> {
        self.graph().op(&SERIALIZE).data(self).finish()
    }

    /// Reads a tensor from a string: TensorFlow's message `TensorProto`, such as [`Value::serialize_tensor`] writes.
    ///
    /// `string[] -> dtype[..]`; the string holds the shape, which may have any rank. A message with fewer elements than
    /// the shape repeats the last one, or has zeros if there is none. As TensorFlow's `ParseTensor`
    /// (`tf.io.parse_tensor`). Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let string = g.constant([[0.5f32, 1.5]])?.serialize_tensor()?;
    /// let rows = string.parse_tensor(DType::F32)?;
    /// let [rows] = g.compile(rows)?.run(&[])?;
    /// assert_eq!(rows, Tensor::from([[0.5f32, 1.5]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string, or `dtype` is variant. The run fails if the string is not such a message, or the
    /// tensor has another dtype.
    #[track_caller]
    pub fn parse_tensor(self, dtype: DType) -> Result<Value<'g>> {
        self.graph().op(&PARSE).data(self).attr("out_type", dtype).finish()
    }
}

pub(crate) static SERIALIZE: OpDef = OpDef::host("serialize_tensor", serialize)
    .operands(&[Operand::Data("tensor")])
    .shape_fn(shape_fns::string::serialize_tensor)
    .dtype_rule(|dtypes, _| match dtypes.first() {
        Some(dtype) if !(matches!(dtype, DType::Bool | DType::String) || dtype.is_numeric()) => {
            dtype::refuse(format!("tensor must be bool, an integer, a float, complex or string, got {dtype}"))
        }
        _ => Ok(vec![DType::String]),
    })
    .tensorflow(&[TfOp::new("SerializeTensor")]);

pub(crate) static PARSE: OpDef = OpDef::host("parse_tensor", parse)
    .attrs(&[Attribute::dtype("out_type")])
    .operands(&[Operand::Data("serialized")])
    .shape_fn(shape_fns::string::parse_tensor)
    .dtype_rule(|dtypes, attrs| {
        check_strings(dtypes, 1)?;
        match attrs.dtype("out_type") {
            DType::Variant => dtype::refuse("out_type must not be variant".to_string()),
            dtype => Ok(vec![dtype]),
        }
    })
    .tensorflow(&[TfOp::new("ParseTensor")]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&PARSE, &SERIALIZE];

fn serialize(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let message = message_of(&x.view(), StringForm::Fields)?;
    let mut strings = StringsBuilder::new();
    strings.push(&message)?;
    cx.set_output(0, strings.finish(&[])?)
}

fn parse(cx: &mut HostCx<'_>) -> Result<()> {
    let message = TensorMessage::read(scalar(cx, 0)?, cx.attrs().dtype("out_type"), "serialized")?;
    match message.dtype {
        DType::String => cx.set_output(0, message.strings()?),
        _ => message.write_numbers(cx.output(0, &message.sizes)?.bytes_mut()),
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, run_one, shape_table};
    use crate::tensor::{Tensor, normalized_byte};

    shape_table! { SERIALIZE, {},
        "[2, n]" => "string[]",
        "qi8[2]" => error "tensor must be bool, an integer, a float, complex or string, got qi8",
    }
    shape_table! { parsed_shapes: PARSE, {"out_type": DType::I64},
        "string[]" => "i64?",
        "string[1]" => error "serialized must have rank 0",
        "i64[]" => error "string",
    }
    shape_table! { variant: PARSE, {"out_type": DType::Variant},
        "string[]" => error "out_type must not be variant",
    }

    fn parsed(message: &[u8], dtype: DType) -> Result<Tensor> {
        let string = Tensor::from_strings(&[], &[message]).unwrap();
        Ok(run(&PARSE, &Attrs::new().with("out_type", dtype), &[string])?.swap_remove(0))
    }

    #[test]
    fn tensors_of_every_dtype_read_back() {
        for dtype in DType::all().filter(|dtype| matches!(dtype, DType::Bool) || dtype.is_numeric()) {
            for sizes in [&[][..], &[2, 3], &[0, 300]] {
                let mut x = Tensor::zeros(dtype, sizes).unwrap();
                for (i, byte) in x.view_mut().unwrap().bytes_mut().iter_mut().enumerate() {
                    *byte = if dtype == DType::Bool { i as u8 % 2 } else { i as u8 + 1 };
                }
                if normalized_byte(dtype).is_some() && dtype != DType::Bool {
                    continue;
                }
                let message = run_one(&SERIALIZE, &Attrs::new(), std::slice::from_ref(&x));
                let message = message.as_strings().unwrap();
                assert_eq!(parsed(message.at(0), dtype).unwrap(), x, "{dtype}");
            }
        }
        let x = Tensor::from_strings(&[3], &["a", "", "bc"]).unwrap();
        let message = run_one(&SERIALIZE, &Attrs::new(), std::slice::from_ref(&x));
        assert_eq!(parsed(message.as_strings().unwrap().at(0), DType::String).unwrap(), x);
    }

    #[test]
    fn every_damaged_message_is_refused_or_read() {
        let x = Tensor::from([[1.5f32, 2.0], [3.0, 4.0]]);
        let whole = run_one(&SERIALIZE, &Attrs::new(), &[x]);
        let whole = whole.as_strings().unwrap().at(0).to_vec();
        for position in 0..whole.len() {
            if let Ok(read) = parsed(&whole[..position], DType::F32) {
                assert!(read.len() <= 4);
            }
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[position] = byte;
                if let Ok(read) = parsed(&changed, DType::F32) {
                    assert!(read.len() < 1 << 20);
                }
            }
        }
        let huge = [0x08, 1, 0x12, 11, 0x12, 9, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x3f];
        assert!(parsed(&huge, DType::F32).is_err());
    }

    #[test]
    fn packed_and_unpacked_numbers_repeat_their_last_one() {
        // A vector of 3 elements.
        let shape = [0x12, 4, 0x12, 2, 0x08, 3];
        let of = |dtype: u8, fields: &[u8]| [&[0x08, dtype][..], &shape, fields].concat();
        let packed = of(3, &[0x3a, 2, 5, 7]);
        assert_eq!(parsed(&packed, DType::I32).unwrap(), Tensor::from([5, 7, 7]));
        let single = of(3, &[0x38, 5, 0x38, 7]);
        assert_eq!(parsed(&single, DType::I32).unwrap(), Tensor::from([5, 7, 7]));
        let float = of(1, &[0x2d, 0, 0, 0x80, 0x3f]);
        assert_eq!(parsed(&float, DType::F32).unwrap(), Tensor::from([1.0f32; 3]));
        assert_eq!(parsed(&of(9, &[]), DType::I64).unwrap(), Tensor::from([0i64; 3]));
        let long = of(9, &[0x52, 4, 1, 2, 3, 4]);
        assert_eq!(parsed(&long, DType::I64).unwrap(), Tensor::from([1i64, 2, 3]));
        let error = parsed(&long, DType::F32).unwrap_err();
        assert!(error.message().contains("must be a tensor of f32, got one of i64"), "{error}");
    }
}
