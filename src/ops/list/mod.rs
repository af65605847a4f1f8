//! Tensor lists: the ops of TensorFlow's `TensorList` family, and its optionals.
//!
//! A list is the element of a variant scalar. No builder method makes these ops: programs in Rust use
//! [`Graph::scan`](crate::Graph::scan) and [`Graph::map`](crate::Graph::map), which need no list. The import makes
//! these ops. Attribute `dtype` is the dtype of the items, and attribute `shape` is their shape as far as the import
//! knows it. An operand that gives the shape of items is a vector with -1 for an unknown size, or the scalar -1 for an
//! unknown rank. All ops run on the host.

pub(crate) mod arithmetic;
pub(crate) mod concat_lists;
pub(crate) mod gather;
pub(crate) mod item;
pub(crate) mod items;
pub(crate) mod join;
pub(crate) mod make;
pub(crate) mod optional;
pub(crate) mod push;
pub(crate) mod ragged;
pub(crate) mod size;
