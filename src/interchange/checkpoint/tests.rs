//! Tests of a checkpoint that TensorFlow wrote, and of damaged checkpoints.

use std::path::PathBuf;
use std::sync::Arc;

use prost::Message;

use super::super::limits::Limits;
use super::super::proto::{DimProto, TensorShapeProto};
use super::crc::masked;
use super::proto::{EntryProto, ExtentProto, HeaderProto, SliceProto};
use super::slice::Slice;
use super::*;
use crate::error::{ErrorKind, Result};
use crate::tensor::SharedBytes;

/// The checkpoint that `tests/record_checkpoint.py` recorded.
fn recorded() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/checkpoint/variables")
}

/// The data file of checkpoints that these tests write.
const DATA: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

/// Numbers of TensorFlow's dtypes.
const DT_FLOAT: i32 = 1;
const DT_UINT8: i32 = 4;
const DT_STRING: i32 = 7;
const DT_VARIANT: i32 = 21;

fn entry(sizes: &[i64], offset: i64) -> EntryProto {
    let dim = sizes.iter().map(|&size| DimProto { size, name: String::new() }).collect();
    let size = sizes.iter().fold(1i64, |count, size| count.saturating_mul(*size));
    let range = offset as usize..(offset as usize).saturating_add(size as usize);
    let bytes = DATA.get(range).unwrap_or_default();
    EntryProto {
        dtype: DT_UINT8,
        shape: Some(TensorShapeProto { dim, unknown_rank: false }),
        offset,
        size,
        crc32c: masked(crc32c::crc32c(bytes)),
        ..EntryProto::default()
    }
}

fn index(entries: &[(&[u8], EntryProto)], shards: i32) -> Vec<u8> {
    let header = HeaderProto { num_shards: shards, endianness: 0 };
    let mut all = vec![(Vec::new(), header.encode_to_vec())];
    all.extend(entries.iter().map(|(key, entry)| (key.to_vec(), entry.encode_to_vec())));
    let entries_per_block = 2;
    write_table(&all, entries_per_block)
}

fn read(index: &[u8]) -> Result<Checkpoint> {
    let limits = Limits { index_bytes: 1 << 20, ..Limits::default() };
    Checkpoint::read(index, |_, _| Ok(SharedBytes::new(Arc::new(DATA))), &limits)
}

#[test]
fn tensors_that_tensorflow_saved_read_back() {
    let checkpoint = Checkpoint::open(&recorded(), &Limits::default()).unwrap();
    let names: Vec<&str> = checkpoint.keys().collect();
    assert_eq!(
        names,
        [
            "count",
            "flags",
            "half",
            "layer/kernel/.ATTRIBUTES/VARIABLE_VALUE",
            "layer/kernel/.OPTIMIZER_SLOT/Adam/m/.ATTRIBUTES/VARIABLE_VALUE",
            "nothing",
            "parted",
            "signal",
            "words",
        ]
    );
    let tensor = |name: &str| checkpoint.tensor(name, "").unwrap();
    assert_eq!(tensor("count").item::<i64>().unwrap(), -7);
    assert_eq!(tensor("flags").to_vec::<bool>().unwrap(), [true, false, true]);
    assert_eq!(tensor("half").to_bits::<u16>().unwrap(), [0, 0x3800, 0x3c00]);
    let kernel = tensor("layer/kernel/.ATTRIBUTES/VARIABLE_VALUE");
    assert_eq!(
        (kernel.sizes(), kernel.to_vec::<f32>().unwrap()),
        (&[2, 3][..], vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    );
    assert_eq!(tensor("nothing").sizes(), [0, 4]);
    assert_eq!(tensor("signal").to_bits::<f32>().unwrap(), [1.0, 2.0, 0.0, -3.0]);
    let words = tensor("words");
    let words = words.as_strings().unwrap();
    let expected = [b"a".to_vec(), vec![], [0, 0xff].repeat(100), "ä".as_bytes().to_vec()];
    assert!(words.iter().eq(expected.iter().map(|word| &word[..])));
}

#[test]
fn tensors_in_parts_are_put_together() {
    let checkpoint = Checkpoint::open(&recorded(), &Limits::default()).unwrap();
    let all: Vec<f32> = (0..70).flat_map(|row| [2.0 * row as f32, 2.0 * row as f32 + 1.0]).collect();
    let parted = checkpoint.tensor("parted", "").unwrap();
    assert_eq!((parted.sizes(), parted.to_vec::<f32>().unwrap()), (&[70, 2][..], all.clone()));
    // A stored part, a box across parts, and a part of a tensor that is stored as a whole.
    let stored = checkpoint.tensor("parted", "70 2 0,64:-").unwrap();
    assert_eq!(stored.to_vec::<f32>().unwrap(), all[..128]);
    let across = checkpoint.tensor("parted", "70 2 62,4:1,1").unwrap();
    assert_eq!(
        (across.sizes(), across.to_vec::<f32>().unwrap()),
        (&[4, 1][..], vec![125.0, 127.0, 129.0, 131.0])
    );
    let of_whole = checkpoint.tensor("layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", "2 3 1,1:0,2").unwrap();
    assert_eq!(of_whole.to_vec::<f32>().unwrap(), [3.0, 4.0]);
    let error = checkpoint.tensor("parted", "70 3 0,1:-").unwrap_err();
    assert!(error.message().contains("sizes must be [70, 3], got [70, 2]"), "{}", error.message());
}

#[test]
fn every_cut_and_every_changed_byte_of_an_index_is_an_error_or_reads_the_same() {
    let bytes = std::fs::read(recorded().with_extension("index")).unwrap();
    let whole = Checkpoint::open(&recorded(), &Limits::default()).unwrap();
    let open = |bytes: &[u8]| {
        let path = |number, count| format!("{}.data-{number:05}-of-{count:05}", recorded().display());
        let shard = |number, count| SharedBytes::map_file(path(number, count).as_ref());
        Checkpoint::read(bytes, shard, &Limits::default())
    };
    for cut in 0..bytes.len() {
        assert_eq!(open(&bytes[..cut]).unwrap_err().kind(), ErrorKind::Parse, "cut at {cut}");
    }
    for position in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[position] ^= 0x55;
        match open(&changed) {
            // A reader ignores the padding at the end of the footer, and the table's statistics.
            Ok(checkpoint) => assert!(checkpoint.keys().eq(whole.keys()), "byte {position}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Parse, "byte {position}: {error}"),
        }
    }
}

#[test]
fn damaged_checkpoints_are_refused_with_the_reason() {
    let wrong_checksum = EntryProto { crc32c: 7, ..entry(&[4], 0) };
    let slice = |start| SliceProto { extent: vec![ExtentProto { start, length: Some(2) }] };
    let parted = |starts: [i64; 2]| EntryProto { slices: starts.map(slice).to_vec(), ..entry(&[4], 0) };
    for (entries, message) in [
        (vec![(&b"a"[..], entry(&[4], 0)), (b"b", entry(&[4], 2))], "tensors must not overlap, got a and b"),
        (vec![(b"a", entry(&[4], 13))], "data file 0 must have at least 17 bytes for a, got 16"),
        (vec![(b"a", entry(&[i64::MAX, 3, 5], 0))], "their product must fit 64 bits, got"),
        (
            vec![(b"a", entry(&[-1], 0))],
            "sizes must be at least 0, and their product must fit 64 bits, got [-1]",
        ),
        (vec![(b"a", EntryProto { size: 5, ..entry(&[4], 0) })], "a tensor u8[4] cannot have 5 bytes"),
        (
            vec![(b"a", EntryProto { offset: i64::MAX, size: i64::MAX, dtype: DT_STRING, ..entry(&[4], 0) })],
            "must have at least",
        ),
        (
            vec![(b"a", EntryProto { shard_id: 3, ..entry(&[4], 0) })],
            "a: the number of a data file must be less than 2, got 3",
        ),
        (vec![(b"a", EntryProto { offset: -1, ..entry(&[4], 0) })], "must be at least 0"),
        (vec![(b"a", parted([0, 3]))], "a slice must lie within the sizes [4]"),
        (vec![(b"b", entry(&[1], 0)), (b"a", entry(&[1], 1))], "the keys of a table must increase"),
        (vec![(b"a", entry(&[1], 0)), (b"a", entry(&[1], 1))], "the keys of a table must increase"),
    ] {
        let error = read(&index(&entries, 2)).map(|_| ()).unwrap_err();
        assert!(error.message().contains(message), "{}", error.message());
    }
    for (entries, message) in [
        (vec![(&b"a"[..], wrong_checksum)], "the checksum of its bytes must be 00000007, got"),
        (vec![(b"b", entry(&[4], 0))], "the tensor a of the checkpoint: it must exist"),
        (
            vec![(b"a", EntryProto { dtype: DT_VARIANT, ..entry(&[4], 0) })],
            "the dtype must have a fixed size, got variant",
        ),
        (vec![(b"a", parted([0, 2]))], "its part 0,2 must exist"),
        (vec![(b"a", EntryProto { dtype: DT_STRING, ..entry(&[4], 0) })], "the checksum of the lengths"),
    ] {
        let error = read(&index(&entries, 2)).unwrap().tensor("a", "").unwrap_err();
        assert!(error.message().contains(message), "{}", error.message());
    }
    let missing = Checkpoint::open(&recorded().with_file_name("none"), &Limits::default()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
}

#[test]
fn missing_and_short_data_files_are_named() {
    let folder = std::env::temp_dir().join(format!("shapeflow-shards-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let second = EntryProto { shard_id: 1, ..entry(&[4], 0) };
    let index = index(&[(b"a", entry(&[4], 0)), (b"b", second)], 2);
    std::fs::write(folder.join("variables.index"), index).unwrap();
    let open = || Checkpoint::open(&folder.join("variables"), &Limits::default());
    std::fs::write(folder.join("variables.data-00000-of-00002"), DATA).unwrap();
    let missing = open().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Io);
    assert!(missing.message().contains("variables.data-00001-of-00002"), "{missing}");
    let shard = folder.join("variables.data-00001-of-00002");
    for length in 0..4 {
        std::fs::write(&shard, &DATA[..length]).unwrap();
        let short = open().unwrap_err();
        let message = format!("data file 1 must have at least 4 bytes for b, got {length}");
        assert!(short.message().contains(&message), "{short}");
    }
    std::fs::write(&shard, &DATA[..4]).unwrap();
    assert_eq!(open().unwrap().tensor("b", "").unwrap().to_vec::<u8>().unwrap(), [0, 1, 2, 3]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn parts_must_cover_their_tensor_once() {
    let slice = |start, length| SliceProto { extent: vec![ExtentProto { start, length: Some(length) }] };
    let of = |slices: Vec<SliceProto>| {
        let whole = EntryProto { slices: slices.clone(), ..entry(&[4], 0) };
        let mut offset = 0;
        let mut entries = vec![(b"a".to_vec(), whole)];
        for slice in &slices {
            let key = Slice::read(slice, &[4]).unwrap().key(b"a");
            let length = slice.extent[0].length.unwrap();
            entries.push((key, entry(&[length], offset)));
            offset += length;
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let entries: Vec<(&[u8], EntryProto)> =
            entries.iter().map(|(key, entry)| (&key[..], entry.clone())).collect();
        read(&index(&entries, 1)).unwrap().tensor("a", "")
    };
    assert_eq!(of(vec![slice(3, 1), slice(0, 3)]).unwrap().to_vec::<u8>().unwrap(), [1, 2, 3, 0]);
    assert!(of(vec![slice(0, 2)]).unwrap_err().message().contains("must have 4 elements, got 2"));
    assert!(of(vec![slice(0, 3), slice(1, 3)]).unwrap_err().message().contains("overlaps another part"));
}

#[test]
fn an_index_of_a_million_entries_keeps_within_its_limit() {
    let entries: Vec<(Vec<u8>, EntryProto)> =
        (0..1_000_000).map(|number| (format!("{number:07}").into_bytes(), entry(&[0], 0))).collect();
    let borrowed: Vec<(&[u8], EntryProto)> =
        entries.iter().map(|(key, entry)| (&key[..], entry.clone())).collect();
    let index = index(&borrowed, 1);
    let error = read(&index).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    let shard = |_, _| Ok(SharedBytes::new(Arc::new(DATA)));
    let checkpoint = Checkpoint::read(&index, shard, &Limits::default()).unwrap();
    assert!(checkpoint.contains("0999999") && checkpoint.keys().count() == 1_000_000);
}

#[test]
fn compressed_blocks_are_read_and_cannot_grow_without_bounds() {
    let mut block = b"\0\x01\x02kv2".to_vec();
    block.extend([0u32, 1].map(u32::to_le_bytes).as_flattened());
    let mut compressed = snap::raw::Encoder::new().compress_vec(&block).unwrap();
    let size = compressed.len() as u64;
    compressed.push(1);
    let checksum = masked(crc32c::crc32c(&compressed));
    compressed.extend(checksum.to_le_bytes());
    let handle = block::Handle { offset: 0, size };
    assert_eq!(*handle.content(&compressed).unwrap(), *block);
    // A block that claims 4 GiB of content.
    let mut huge = vec![0xff, 0xff, 0xff, 0xff, 0x0f, 0, 1];
    huge.extend(masked(crc32c::crc32c(&huge)).to_le_bytes());
    let error = block::Handle { offset: 0, size: 6 }.content(&huge).unwrap_err();
    assert!(error.message().contains("cannot have 4294967295 bytes"), "{error}");
}

/// Runs 4,000 rounds; with `SHAPEFLOW_FUZZ_SECONDS`, all rounds that fit into this time.
#[test]
fn fuzzed_bytes_never_panic() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let seeds: Vec<Vec<u8>> = [entry(&[4], 0), EntryProto { dtype: DT_STRING, ..entry(&[2, 3], 1) }]
        .into_iter()
        .map(|entry| {
            let (header, entry) =
                (HeaderProto { num_shards: 1, endianness: 0 }.encode_to_vec(), entry.encode_to_vec());
            let mut bytes = vec![0, header.len() as u8];
            bytes.extend(header);
            bytes.extend([1, entry.len() as u8, b'a']);
            bytes.extend(entry);
            bytes
        })
        .collect();
    let seconds = std::env::var("SHAPEFLOW_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| std::time::Instant::now() + std::time::Duration::from_secs(seconds));
    let goes_on = |round: usize| end.map_or(round < 4000, |end| std::time::Instant::now() < end);
    for round in (0..).take_while(|round| goes_on(*round)) {
        let mut bytes = seeds[round % 2].clone();
        for _ in 0..next() % 6 {
            let position = next() % bytes.len();
            match next() % 3 {
                0 => bytes[position] = next() as u8,
                1 => bytes.insert(position, next() as u8),
                _ => bytes[position] ^= 1 << (next() % 8),
            }
        }
        super::super::fuzz_checkpoint(&bytes);
    }
}

/// The tensor of a large variable shares the mapped file.
#[test]
fn a_hundred_megabytes_are_mapped_and_not_copied() {
    const ELEMENTS: usize = 25 << 20;
    let folder = std::env::temp_dir().join(format!("shapeflow-checkpoint-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let prefix = folder.join("variables");
    let data = std::fs::File::create(folder.join("variables.data-00000-of-00001")).unwrap();
    // The file is sparse: it takes no space on the disk.
    data.set_len(4 * ELEMENTS as u64).unwrap();
    let entry = EntryProto {
        dtype: DT_FLOAT,
        shape: Some(TensorShapeProto {
            dim: vec![DimProto { size: ELEMENTS as i64, name: String::new() }],
            unknown_rank: false,
        }),
        size: 4 * ELEMENTS as i64,
        crc32c: masked(crc32c::crc32c(&vec![0; 4 * ELEMENTS])),
        ..EntryProto::default()
    };
    std::fs::write(folder.join("variables.index"), index(&[(b"large", entry)], 1)).unwrap();
    let checkpoint = Checkpoint::open(&prefix, &Limits::default()).unwrap();
    let [tensor, again] = [(); 2].map(|()| checkpoint.tensor("large", "").unwrap());
    drop(checkpoint);
    assert_eq!((tensor.len(), tensor.as_slice::<f32>().unwrap()[ELEMENTS - 1]), (ELEMENTS, 0.0));
    // A copy would have an address of its own.
    assert_eq!(tensor.view().bytes().as_ptr(), again.view().bytes().as_ptr());
    std::fs::remove_dir_all(&folder).unwrap();
}
