//! The protobuf messages of a checkpoint's index, with TensorFlow's field numbers.

use prost::Message;

use super::super::proto::TensorShapeProto;

#[derive(Clone, PartialEq, Message)]
pub(super) struct HeaderProto {
    #[prost(int32, tag = "1")]
    pub num_shards: i32,
    /// 0 for little-endian numbers, 1 for big-endian numbers.
    #[prost(int32, tag = "2")]
    pub endianness: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct EntryProto {
    #[prost(int32, tag = "1")]
    pub dtype: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
    #[prost(int32, tag = "3")]
    pub shard_id: i32,
    #[prost(int64, tag = "4")]
    pub offset: i64,
    #[prost(int64, tag = "5")]
    pub size: i64,
    #[prost(fixed32, tag = "6")]
    pub crc32c: u32,
    #[prost(message, repeated, tag = "7")]
    pub slices: Vec<SliceProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct SliceProto {
    #[prost(message, repeated, tag = "1")]
    pub extent: Vec<ExtentProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExtentProto {
    #[prost(int64, tag = "1")]
    pub start: i64,
    /// Absent for the whole axis.
    #[prost(int64, optional, tag = "2")]
    pub length: Option<i64>,
}
