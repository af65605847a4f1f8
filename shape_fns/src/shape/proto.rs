//! Conversion of shapes from and to `TensorShapeProto` bytes, the interchange format of TensorFlow.
//!
//! ```text
//! message TensorShapeProto {
//!   message Dim { int64 size = 1; string name = 2; }   // size -1: unknown
//!   repeated Dim dim = 2;
//!   bool unknown_rank = 3;
//! }
//! ```

use rustc_hash::FxHashMap;

use crate::dim::display::{Anonymous, write_dim};
use crate::error::bail;
use crate::shape::parse::parse_sharing;
use crate::{Dim, IntoDim, Result, SymbolNames, TensorShape, Unknown, counted};

/// Field numbers of `TensorShapeProto`.
const DIM: u64 = 2;
const UNKNOWN_RANK: u64 = 3;
/// Field numbers of `TensorShapeProto.Dim`.
const SIZE: u64 = 1;
const NAME: u64 = 2;

impl TensorShape {
    /// Serializes the shape as a `TensorShapeProto`, byte for byte as TensorFlow writes it.
    ///
    /// A dimension that is not a number has size -1. Its name is its text, unless the text is `?`. So the name is a
    /// symbol, an expression, or `?0` if an anonymous dimension occurs more than once.
    ///
    /// # Errors
    /// A dimension is negative or invalid.
    ///
    /// ```
    /// # use shapeflow_shape_fns::{TensorShape, shape};
    /// let shape = shape![2, "batch", ?];
    /// assert_eq!(TensorShape::from_proto(&shape.as_proto()?)?, shape);
    /// assert_eq!(shape![..].as_proto()?, [0x18, 1]);
    /// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
    /// ```
    pub fn as_proto(&self) -> Result<Vec<u8>> {
        self.validate()?;
        let mut bytes = Vec::new();
        let Some(dims) = self.dims() else {
            put_varint(&mut bytes, UNKNOWN_RANK << 3);
            put_varint(&mut bytes, 1);
            return Ok(bytes);
        };
        let names = Anonymous::named(dims, &SymbolNames::default());
        let mut message = Vec::new();
        for dim in dims {
            message.clear();
            let size = dim.as_known().unwrap_or(-1);
            if size != 0 {
                put_varint(&mut message, SIZE << 3);
                put_varint(&mut message, size.cast_unsigned());
            }
            if !dim.is_known() {
                let mut name = String::new();
                if write_dim(&mut name, dim, &names).is_err() {
                    bail!("a dimension must be written as text");
                }
                if name != "?" {
                    put_bytes(&mut message, NAME, name.as_bytes());
                }
            }
            put_bytes(&mut bytes, DIM, &message);
        }
        Ok(bytes)
    }

    /// Reads a serialized `TensorShapeProto`. Unknown fields are skipped.
    ///
    /// A dimension of size -1 is parsed from its name, and equal names are equal dimensions. The dimension is a new
    /// unknown if the name is empty or does not parse as a dimension that can be an unknown size. The name of a known
    /// dimension is dropped. The dimensions of a shape with `unknown_rank` are dropped.
    ///
    /// # Errors
    /// The bytes are not a `TensorShapeProto`, a size is less than -1, or there are more than [`TensorShape::MAX_RANK`]
    /// dimensions.
    pub fn from_proto(bytes: &[u8]) -> Result<TensorShape> {
        let (mut dims, mut unknown_rank) = (Vec::new(), false);
        let mut anonymous = FxHashMap::default();
        let mut reader = Reader { bytes };
        while let Some((field, value)) = reader.field()? {
            match (field, value) {
                (DIM, Field::Bytes(message)) => {
                    if dims.len() == TensorShape::MAX_RANK {
                        bail!(
                            "a rank must be at most {}, got more in a TensorShapeProto",
                            TensorShape::MAX_RANK
                        );
                    }
                    dims.push(read_dim(message, dims.len(), &mut anonymous)?);
                }
                (UNKNOWN_RANK, Field::Varint(value)) => unknown_rank = value != 0,
                _ => {}
            }
        }
        Ok(if unknown_rank { TensorShape::unranked() } else { TensorShape::new(dims) })
    }
}

/// Reads one `Dim` message. `anonymous` holds the symbols of the anonymous names read so far.
fn read_dim<'a>(bytes: &'a [u8], axis: usize, anonymous: &mut FxHashMap<&'a str, Dim>) -> Result<Dim> {
    let (mut size, mut name) = (0, "");
    let mut reader = Reader { bytes };
    while let Some((field, value)) = reader.field()? {
        match (field, value) {
            (SIZE, Field::Varint(value)) => size = value.cast_signed(),
            (NAME, Field::Bytes(text)) => match std::str::from_utf8(text) {
                Ok(text) => name = text,
                Err(_) => bail!("the name of a dimension must be UTF-8, got other bytes at axis {axis}"),
            },
            _ => {}
        }
    }
    match size {
        0.. => Ok(Dim::known(size)),
        -1 => Ok(parse_sharing(name, anonymous)
            .ok()
            .filter(|dim| !dim.is_known() && !dim.bounds().is_below(0))
            .unwrap_or_else(|| Unknown.into_dim())),
        _ => bail!("a size must be at least -1, got {size} at axis {axis} of a TensorShapeProto"),
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn put_bytes(bytes: &mut Vec<u8>, field: u64, content: &[u8]) {
    put_varint(bytes, field << 3 | 2);
    put_varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

/// The value of a field. Fixed-width values and groups are skipped and carry no value.
enum Field<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Skipped,
}

/// A reader of the fields of a message in the protobuf wire format.
struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the next field and its number, or `None` at the end.
    fn field(&mut self) -> Result<Option<(u64, Field<'a>)>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let (number, wire) = self.tag()?;
        let value = match wire {
            3 => self.skip_group(number).map(|()| Field::Skipped)?,
            _ => self.value(wire)?,
        };
        Ok(Some((number, value)))
    }

    fn tag(&mut self) -> Result<(u64, u64)> {
        let tag = self.varint()?;
        if tag >> 3 == 0 || tag > u32::MAX.into() {
            bail!("a field number of a TensorShapeProto must lie in 1..2^29, got {}", tag >> 3);
        }
        Ok((tag >> 3, tag & 7))
    }

    fn value(&mut self, wire: u64) -> Result<Field<'a>> {
        Ok(match wire {
            0 => Field::Varint(self.varint()?),
            1 => self.take(8).map(|_| Field::Skipped)?,
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Field::Skipped)?,
            _ => bail!("a field of a TensorShapeProto must have wire type 0, 1, 2, 3 or 5, got {wire}"),
        })
    }

    /// Skips the rest of group `number`, whose start tag was read. Nested groups are kept on a list instead of recursed
    /// into.
    fn skip_group(&mut self, number: u64) -> Result<()> {
        let mut open_groups = vec![number];
        while let Some(group) = open_groups.last() {
            match self.tag()? {
                (inner, 3) => open_groups.push(inner),
                (ended, 4) if ended == *group => drop(open_groups.pop()),
                (ended, 4) => {
                    bail!(
                        "a group of a TensorShapeProto must end with its own field number {group}, got {ended}"
                    )
                }
                (_, wire) => {
                    self.value(wire)?;
                }
            }
        }
        Ok(())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = self.bytes.split_first() else {
                bail!("a TensorShapeProto must end after a field, got its end inside a field");
            };
            self.bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        bail!("a varint of a TensorShapeProto must have at most 10 bytes, got more")
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        match usize::try_from(length).ok().and_then(|length| self.bytes.split_at_checked(length)) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => bail!(
                "a TensorShapeProto must end after a field, got {} for a field of {length}",
                counted(self.bytes.len(), "byte"),
                length = counted(length, "byte")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape;

    #[test]
    fn bytes_equal_those_of_tensorflow() {
        let cases: [(TensorShape, &[u8]); 4] = [
            (shape![..], b"\x18\x01"),
            (shape![], b""),
            (
                shape![2, 0, ?],
                b"\x12\x02\x08\x02\x12\x00\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            ),
            (
                shape!["batch", 300],
                b"\x12\x12\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x05batch\x12\x03\x08\xac\x02",
            ),
        ];
        for (shape, bytes) in cases {
            assert_eq!(shape.as_proto().as_deref(), Ok(bytes), "{shape}");
            assert_eq!(TensorShape::from_proto(bytes), Ok(shape));
        }
    }

    #[test]
    fn every_dimension_survives_a_round_trip() {
        for text in
            ["[?0, ?0, ?]", "[4*n, n, ?+1]", "[?0+1, ?0]", "[bcast(a, b), 9223372036854775807]", "[0]"]
        {
            let shape: TensorShape = text.parse().unwrap();
            assert_eq!(TensorShape::from_proto(&shape.as_proto().unwrap()).unwrap().to_string(), text);
        }
        assert!(shape![-1].as_proto().is_err() && shape![Dim::known(i64::MAX) + 1].as_proto().is_err());
    }

    #[test]
    fn names_that_are_not_an_unknown_size_become_new_unknowns() {
        for name in ["", "3", "a b", "0-1", "0-n-1", "?", "((", "-"] {
            let mut message = vec![0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
            put_bytes(&mut message, NAME, name.as_bytes());
            let mut bytes = Vec::new();
            put_bytes(&mut bytes, DIM, &message);
            assert_eq!(TensorShape::from_proto(&bytes), Ok(shape![?]), "{name}");
        }
    }

    #[test]
    fn unknown_fields_are_skipped() {
        // Fields of every wire type, a group inside a group, and known fields of another wire type.
        let bytes =
            b"\x08\x05\x11\0\0\0\0\0\0\0\0\x22\x01x\x2d\0\0\0\0\x33\x3b\x08\x01\x3c\x34\x10\x07\x1a\x00\
                      \x12\x06\x1a\x00\x08\x07\x08\x03";
        assert_eq!(TensorShape::from_proto(bytes), Ok(shape![3]));
        assert_eq!(TensorShape::from_proto(b"\x12\x00\x18\x01"), Ok(shape![..]));
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let cases: [&[u8]; 12] = [
            b"\x12",
            b"\x12\x05\x08",
            b"\x12\x02\x08\x80",
            b"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
            b"\x00\x01",
            b"\x17",
            b"\x1c",
            b"\x33\x08\x01",
            b"\x33\x3c",
            b"\x12\x0b\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x12\x04\x12\x02\xff\xfe",
        ];
        for bytes in cases {
            assert!(TensorShape::from_proto(bytes).is_err(), "{bytes:x?}");
        }
        assert!(TensorShape::from_proto(&b"\x12\x00".repeat(TensorShape::MAX_RANK + 1)).is_err());
        assert!(TensorShape::from_proto(&b"\x33".repeat(1_000_000)).is_err());
    }
}
