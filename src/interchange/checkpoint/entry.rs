//! `Entry`: dtype, sizes and position of a tensor, as the index of a checkpoint describes it.

use prost::Message;

use super::super::limits::Limits;
use super::damage::damaged;
use super::proto::EntryProto;
use super::slice::Slice;
use crate::error::Result;
use crate::op::dtype_number::dtype_of;
use shapeflow_shape_fns::{DType, counted};

/// A tensor of a checkpoint.
#[derive(Debug)]
pub(super) struct Entry {
    /// TensorFlow's number of the dtype.
    pub dtype: i32,
    pub sizes: Box<[usize]>,
    /// The number of the data file that has the bytes.
    pub shard: u32,
    /// The position of the first byte in the data file.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
    /// The masked checksum of the bytes.
    pub checksum: u32,
    /// The parts of a tensor that is stored in parts, each under a key of its own; empty for any other tensor.
    pub slices: Box<[Slice]>,
}

impl Entry {
    /// Reads an entry of a checkpoint of `shards` data files.
    ///
    /// # Errors
    /// The bytes are not an entry, or its numbers do not fit together.
    pub(super) fn read(bytes: &[u8], shards: u32, limits: &Limits) -> Result<Entry> {
        let proto = match EntryProto::decode(bytes) {
            Ok(proto) => proto,
            Err(error) => return damaged(format_args!("an entry cannot be read: {error}")),
        };
        let dims = proto.shape.map_or(Vec::new(), |shape| shape.dim);
        if dims.len() > limits.rank {
            return damaged(format_args!(
                "a tensor may have at most {}, got {}",
                counted(limits.rank, "axis"),
                dims.len()
            ));
        }
        let sizes: Option<Box<[usize]>> = dims.iter().map(|dim| usize::try_from(dim.size).ok()).collect();
        let count = sizes
            .as_deref()
            .and_then(|sizes| sizes.iter().try_fold(1u64, |count, &size| count.checked_mul(size as u64)));
        let (Some(sizes), Some(count)) = (sizes, count) else {
            let dims: Vec<i64> = dims.iter().map(|dim| dim.size).collect();
            return damaged(format_args!(
                "sizes must be at least 0, and their product must fit 64 bits, got {dims:?}"
            ));
        };
        let slices = proto.slices.iter().map(|slice| Slice::read(slice, &sizes));
        let slices: Box<[Slice]> = slices.collect::<Result<_>>()?;
        let numbers = (u32::try_from(proto.shard_id), u64::try_from(proto.offset), u64::try_from(proto.size));
        let (Ok(shard), Ok(offset), Ok(size)) = numbers else {
            return damaged("the shard, the offset and the size of a tensor must be at least 0");
        };
        let entry = Entry { dtype: proto.dtype, sizes, shard, offset, size, checksum: proto.crc32c, slices };
        if !entry.slices.is_empty() {
            return Ok(entry);
        }
        if shard >= shards {
            return damaged(format_args!(
                "the number of a data file must be less than {shards}, got {shard}"
            ));
        }
        if offset.checked_add(size).is_none() {
            return damaged(format_args!(
                "the end of {size} at byte {offset} must be less than 2^64",
                size = counted(size, "byte")
            ));
        }
        let element = dtype_of(entry.dtype).and_then(DType::size_bytes);
        if let Some(element) = element
            && count.checked_mul(element as u64) != Some(size)
        {
            let dtype = dtype_of(entry.dtype).map_or("", DType::name);
            return damaged(format_args!(
                "a tensor {dtype}{:?} cannot have {size}",
                entry.sizes,
                size = counted(size, "byte")
            ));
        }
        Ok(entry)
    }
}
