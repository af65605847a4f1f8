//! Checkpoints: the tensors that TensorFlow saved for the variables of a model.
//!
//! A checkpoint is an index, `PREFIX.index`, and data files, `PREFIX.data-00000-of-00001` and so on. The index is a
//! sorted string table (`table`, `block`): it maps the key of each tensor to its `entry`. A tensor lies in one data
//! file, or in several parts. A part is a `slice`, with a key and an entry of its own.

mod block;
mod crc;
mod damage;
mod entry;
mod object_graph;
mod objects;
mod proto;
mod reader;
mod slice;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub(super) use reader::Checkpoint;
pub(super) use write::write_table;
