//! `Checkpoint`: opens a checkpoint and reads its tensors.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use prost::Message;
use shapeflow_shape_fns::{DType, counted};

use super::super::limits::{Limits, refuse};
use super::super::raw;
use super::crc::masked;
use super::damage::damaged;
use super::entry::Entry;
use super::object_graph::ObjectGraph;
use super::proto::HeaderProto;
use super::slice::{Slice, copy_box};
use super::{strings, table};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::dtype_number::{dtype_of, text_of};
use crate::tensor::{SharedBytes, Tensor, size_of_element};

/// Maximum number of parts of a tensor. The reader compares every part with every other part.
const MAX_PARTS: usize = 4096;

/// The tensors of a checkpoint. Their elements stay in the data files until [`Checkpoint::tensor`] reads them.
pub(in crate::interchange) struct Checkpoint {
    /// The entries in the order of their keys.
    entries: Vec<(Box<[u8]>, Entry)>,
    /// The data files that have elements of some tensor.
    shards: BTreeMap<u32, SharedBytes>,
    is_big_endian: bool,
    /// Read on first use.
    pub(super) objects: OnceLock<ObjectGraph>,
}

impl Checkpoint {
    /// Opens a checkpoint: reads `PREFIX.index` and maps the data files. The files must not change while tensors of the
    /// checkpoint are in use.
    ///
    /// # Errors
    /// `Io`: a file is missing or cannot be read. `Parse`: the index is damaged, or a data file is too short.
    /// `Memory`: the index exceeds a limit.
    pub(in crate::interchange) fn open(prefix: &Path, limits: &Limits) -> Result<Checkpoint> {
        let index = with_suffix(prefix, ".index");
        let failed = |error| Error::new(ErrorKind::Io, Phase::Build, format!("{}: {error}", index.display()));
        let file = std::fs::File::open(&index).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        let shard = |number: u32, count: u32| {
            let path = with_suffix(prefix, &format!(".data-{number:05}-of-{count:05}"));
            SharedBytes::map_file(&path).map_err(|error| error.with_phase(Phase::Build))
        };
        Checkpoint::read(&bytes, shard, limits).map_err(|error| match error.kind() {
            ErrorKind::Io => error,
            _ => error.about(index.display()),
        })
    }

    /// Reads a checkpoint from the bytes of its index. `shard` returns a data file, given its number and the number of
    /// data files.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub(in crate::interchange) fn read(
        index: &[u8],
        shard: impl Fn(u32, u32) -> Result<SharedBytes>,
        limits: &Limits,
    ) -> Result<Checkpoint> {
        if index.len() as u64 > limits.file_bytes {
            return refuse(format_args!("a file may have at most {}", counted(limits.file_bytes, "byte")));
        }
        let mut header: Option<(u32, bool)> = None;
        let mut entries: Vec<(Box<[u8]>, Entry)> = Vec::new();
        let mut memory = 0u64;
        table::visit_table(index, |key, value| {
            let Some((shards, _)) = header else {
                header = Some(read_header(key, value)?);
                return Ok(());
            };
            // A key may repeat most of the key before it, so a small file may have many bytes of keys.
            memory += (key.len() + value.len() + size_of::<(Box<[u8]>, Entry)>()) as u64;
            if memory > limits.index_bytes {
                return refuse(format_args!(
                    "the index of a checkpoint may take at most {}",
                    counted(limits.index_bytes, "byte")
                ));
            }
            let entry = Entry::read(value, shards, limits).map_err(|error| error.about(text(key)))?;
            entries.push((key.into(), entry));
            Ok(())
        })?;
        let Some((shard_count, is_big_endian)) = header else {
            return damaged("an index must begin with a header, got no entries");
        };
        let mut shards = BTreeMap::new();
        for (number, name, end) in ends_of_shards(&entries)? {
            let bytes = shard(number, shard_count)?;
            if (bytes.bytes().len() as u64) < end {
                return damaged(format_args!(
                    "data file {number} must have at least {end} for {}, got {}",
                    text(name),
                    bytes.bytes().len(),
                    end = counted(end, "byte")
                ));
            }
            shards.insert(number, bytes);
        }
        Ok(Checkpoint { entries, shards, is_big_endian, objects: OnceLock::new() })
    }

    /// Returns whether the checkpoint has a tensor with this key.
    pub(in crate::interchange) fn contains(&self, key: &str) -> bool {
        self.entry(key.as_bytes()).is_some()
    }

    /// Returns the keys of all tensors, without the keys of parts.
    pub(in crate::interchange) fn keys(&self) -> impl Iterator<Item = &str> {
        // A key of a part begins with a zero byte.
        let keys = self.entries.iter().filter(|(key, _)| key.first() != Some(&0));
        keys.filter_map(|(key, _)| std::str::from_utf8(key).ok())
    }

    fn entry(&self, key: &[u8]) -> Option<&Entry> {
        let position = self.entries.binary_search_by(|(other, _)| other.as_ref().cmp(key)).ok()?;
        Some(&self.entries[position].1)
    }

    /// Returns the tensor with this key, or a part of the tensor. `slice` names the part as a graph does; an empty text
    /// names the whole tensor. The tensor shares the mapped data file where its elements are aligned.
    ///
    /// # Errors
    /// `Parse`: there is no such tensor, its checksum differs, or its parts do not cover it. `DType`: its dtype is not
    /// supported. `Memory`: the allocation fails.
    pub(in crate::interchange) fn tensor(&self, key: &str, slice: &str) -> Result<Tensor> {
        self.find(key, slice).map_err(|error| error.about(format_args!("the tensor {key} of the checkpoint")))
    }

    fn find(&self, key: &str, slice: &str) -> Result<Tensor> {
        let Some(entry) = self.entry(key.as_bytes()) else { return damaged("it must exist") };
        let Some(dtype) = dtype_of(entry.dtype) else {
            let message = format!("{} is not supported", text_of(entry.dtype));
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        };
        if slice.is_empty() && entry.slices.is_empty() {
            return self.stored(dtype, &entry.sizes, entry);
        }
        let wanted = match slice {
            "" => Slice::whole(&entry.sizes),
            slice => {
                let (sizes, slice) = Slice::parse(slice)?;
                if *sizes != *entry.sizes {
                    return damaged(format_args!("its sizes must be {sizes:?}, got {:?}", entry.sizes));
                }
                slice
            }
        };
        if entry.slices.is_empty() {
            let whole = self.stored(dtype, &entry.sizes, entry)?;
            return assemble(dtype, &wanted, [(Slice::whole(&entry.sizes), whole)].into_iter());
        }
        if entry.slices.len() > MAX_PARTS {
            return damaged(format_args!(
                "it may have at most {MAX_PARTS} parts, got {}",
                entry.slices.len()
            ));
        }
        let mut parts = Vec::new();
        for slice in &entry.slices {
            if slice.intersection(&wanted).is_none() {
                continue;
            }
            let Some(part) = self.entry(&slice.key(key.as_bytes())) else {
                return damaged(format_args!("its part {slice} must exist"));
            };
            if part.dtype != entry.dtype || !part.slices.is_empty() || part.sizes[..] != slice.sizes()[..] {
                return damaged(format_args!("its part {slice} has another dtype or other sizes"));
            }
            let tensor = self.stored(dtype, &part.sizes, part)?;
            if *slice == wanted {
                return Ok(tensor);
            }
            parts.push((slice.clone(), tensor));
        }
        assemble(dtype, &wanted, parts.into_iter())
    }

    /// Reads the elements of an entry that is not stored in parts.
    fn stored(&self, dtype: DType, sizes: &[usize], entry: &Entry) -> Result<Tensor> {
        let range = entry.offset as usize..(entry.offset + entry.size) as usize;
        let shard = match self.shards.get(&entry.shard) {
            Some(shard) => shard.clone(),
            // No file was opened for entries without bytes.
            None => SharedBytes::new(std::sync::Arc::new([0u8; 0])),
        };
        let bytes = shard.slice(if entry.size == 0 { 0..0 } else { range });
        let bytes = bytes.expect("`read` compared the ends of all entries with the data files");
        if dtype == DType::String {
            return strings::read(sizes, bytes.bytes(), entry.checksum);
        }
        let expected = masked(crc32c::crc32c(bytes.bytes()));
        if entry.checksum != expected {
            return damaged(format_args!(
                "the checksum of its bytes must be {:08x}, got {expected:08x}",
                entry.checksum
            ));
        }
        if self.is_big_endian != cfg!(target_endian = "big") {
            return raw::from_bytes(dtype, sizes, bytes.bytes(), self.is_big_endian);
        }
        Tensor::from_shared(dtype, sizes, &bytes)
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Checkpoint({})", counted(self.keys().count(), "tensor"))
    }
}

/// Reads the first entry of an index: the number of data files, and whether their numbers are big-endian.
fn read_header(key: &[u8], value: &[u8]) -> Result<(u32, bool)> {
    if !key.is_empty() {
        return damaged(format_args!("an index must begin with a header, got {}", text(key)));
    }
    let header = match HeaderProto::decode(value) {
        Ok(header) => header,
        Err(error) => return damaged(format_args!("the header cannot be read: {error}")),
    };
    match u32::try_from(header.num_shards) {
        Ok(shards) => Ok((shards, header.endianness == 1)),
        Err(_) => {
            damaged(format_args!("the number of data files must be at least 0, got {}", header.num_shards))
        }
    }
}

/// Returns each data file that has bytes of some entry, with the end of the last entry in it and this entry's key.
///
/// # Errors
/// The bytes of two entries overlap.
fn ends_of_shards(entries: &[(Box<[u8]>, Entry)]) -> Result<Vec<(u32, &[u8], u64)>> {
    let stored = entries.iter().filter(|(_, entry)| entry.slices.is_empty() && entry.size > 0);
    let mut spans: Vec<(u32, u64, u64, &[u8])> =
        stored.map(|(key, entry)| (entry.shard, entry.offset, entry.offset + entry.size, &**key)).collect();
    spans.sort_unstable();
    let mut ends: Vec<(u32, &[u8], u64)> = Vec::new();
    for (shard, start, end, key) in spans {
        match ends.last_mut() {
            Some((last_shard, last_key, last_end)) if *last_shard == shard => {
                if start < *last_end {
                    return damaged(format_args!(
                        "tensors must not overlap, got {} and {}",
                        text(last_key),
                        text(key)
                    ));
                }
                (*last_key, *last_end) = (key, end);
            }
            _ => ends.push((shard, key, end)),
        }
    }
    Ok(ends)
}

/// Builds the elements of `wanted`, a box of a tensor, from parts of the tensor.
fn assemble(dtype: DType, wanted: &Slice, parts: impl Iterator<Item = (Slice, Tensor)>) -> Result<Tensor> {
    if dtype == DType::String {
        return damaged("a string tensor that is stored in parts is not supported");
    }
    let element = size_of_element(dtype)?;
    let mut tensor = Tensor::allocate(dtype, &wanted.sizes())?;
    let mut view = tensor.view_mut()?;
    let (mut covered, mut copied): (usize, Vec<Slice>) = (0, Vec::new());
    for (slice, part) in parts {
        let Some(both) = slice.intersection(wanted) else { continue };
        if copied.iter().any(|other| other.intersection(&both).is_some()) {
            return damaged(format_args!("its part {slice} overlaps another part"));
        }
        copy_box(&both, (&slice, part.view().bytes()), (wanted, view.bytes_mut()), element);
        covered += both.count().expect("a box of a tensor has no more elements than the tensor");
        copied.push(both);
    }
    if covered != tensor.len() {
        return damaged(format_args!(
            "its parts must have {}, got {covered}",
            counted(tensor.len(), "element")
        ));
    }
    Ok(tensor)
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// Returns a key as text.
fn text(key: &[u8]) -> impl fmt::Display + '_ {
    key.escape_ascii()
}
