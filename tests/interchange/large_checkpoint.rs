//! A SavedModel with a variable of 100 MB: the elements stay in the mapped file. The test measures this in a process of
//! its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use prost::encoding::encode_varint;
use shapeflow::TensorView;
use shapeflow::interchange::SavedModel;

const ROWS: usize = 409_600;
const WIDTH: usize = 64;
const BYTES: usize = 4 * ROWS * WIDTH;

/// The folder of the model, for the process that loads it.
const FOLDER: &str = "SHAPEFLOW_TEST_LARGE_MODEL";

/// Protobuf types of TensorFlow.
const FLOAT: u64 = 1;
const INT64: u64 = 9;

fn number(tag: u64, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_varint(tag << 3, &mut bytes);
    encode_varint(value, &mut bytes);
    bytes
}

fn field(tag: u64, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    let mut bytes = Vec::new();
    encode_varint(tag << 3 | 2, &mut bytes);
    encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// Returns an entry of a map whose keys are texts.
fn entry(tag: u64, key: &str, value: Vec<u8>) -> Vec<u8> {
    field(tag, [field(1, key), field(2, value)].concat())
}

fn shape(sizes: &[i64]) -> Vec<u8> {
    sizes.iter().flat_map(|size| field(2, number(1, size.cast_unsigned()))).collect()
}

fn node(name: &str, op: &str, inputs: &[&str], attrs: Vec<Vec<u8>>) -> Vec<u8> {
    let inputs = inputs.iter().map(|input| field(3, input));
    let parts = [field(1, name), field(2, op)].into_iter().chain(inputs).chain(attrs);
    field(1, parts.flatten().collect::<Vec<u8>>())
}

/// Returns a SavedModel that gathers rows of a variable: `rows = table[ids]`.
fn saved_model() -> Vec<u8> {
    let dtype = |name: &str, dtype: u64| entry(5, name, number(6, dtype));
    let sizes = |sizes: &[i64]| entry(5, "shape", field(7, shape(sizes)));
    let all = [ROWS as i64, WIDTH as i64];
    let graph = [
        node("ids", "Placeholder", &[], vec![dtype("dtype", INT64), sizes(&[-1])]),
        node(
            "table",
            "VarHandleOp",
            &[],
            vec![dtype("dtype", FLOAT), sizes(&all), entry(5, "shared_name", field(2, "table"))],
        ),
        node(
            "rows",
            "ResourceGather",
            &["table", "ids"],
            vec![dtype("dtype", FLOAT), dtype("Tindices", INT64)],
        ),
        field(4, number(1, 2000)),
    ]
    .concat();
    let port = |tag: u64, name: &str, dtype: u64, sizes: &[i64]| {
        let info = [field(1, format!("{name}:0")), number(2, dtype), field(3, shape(sizes))].concat();
        entry(tag, name, info)
    };
    let method = field(3, "tensorflow/serving/predict");
    let signature =
        [port(1, "ids", INT64, &[-1]), port(2, "rows", FLOAT, &[-1, WIDTH as i64]), method].concat();
    let meta =
        [field(1, field(4, "serve")), field(2, graph), entry(5, "serving_default", signature)].concat();
    [number(1, 1), field(2, meta)].concat()
}

/// Returns the bytes of a sorted string table with one block of entries.
fn table(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |entries: &[(&str, Vec<u8>)]| {
        let mut content = Vec::new();
        for (key, value) in entries {
            for length in [0, key.len(), value.len()] {
                encode_varint(length as u64, &mut content);
            }
            content.extend(key.as_bytes());
            content.extend(value);
        }
        content.extend([0u32, 1].map(u32::to_le_bytes).as_flattened());
        let mut handle = Vec::new();
        encode_varint(file.len() as u64, &mut handle);
        encode_varint(content.len() as u64, &mut handle);
        // The block is not compressed.
        content.push(0);
        file.extend(&content);
        file.extend(masked(&content).to_le_bytes());
        handle
    };
    let data = block(entries);
    let statistics = block(&[]);
    let index = block(&[("u", data)]);
    let mut footer = [statistics, index].concat();
    footer.resize(40, 0);
    footer.extend(0xdb47_7524_8b80_fb57_u64.to_le_bytes());
    file.extend(footer);
    file
}

/// Returns the checksum of bytes in the form in which checkpoints store it.
fn masked(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Returns element `column` of row `row` of the variable.
fn element(row: usize, column: usize) -> f32 {
    (row * WIDTH + column) as f32
}

fn write_model(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("variables"))?;
    fs::write(folder.join("saved_model.pb"), saved_model())?;
    let mut data = vec![0; BYTES];
    for (place, bytes) in data.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = element(place / WIDTH, place % WIDTH).to_le_bytes();
    }
    fs::write(folder.join("variables/variables.data-00000-of-00001"), &data)?;
    let checksum = [vec![6 << 3 | 5], masked(&data).to_le_bytes().to_vec()].concat();
    let sizes = field(2, shape(&[ROWS as i64, WIDTH as i64]));
    let variable = [number(1, FLOAT), sizes, number(5, BYTES as u64), checksum].concat();
    let header = number(1, 1);
    fs::write(folder.join("variables/variables.index"), table(&[("", header), ("table", variable)]))
}

/// Returns the bytes of a kind of resident memory of this process, such as `RssAnon`: memory that is no part of a file.
fn resident(kind: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(':'))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

/// Loads and runs the model, and returns the growth of anonymous memory in bytes.
fn load_and_run(folder: &Path) -> Option<usize> {
    let before = resident("RssAnon");
    let start = Instant::now();
    let model = SavedModel::load(folder).unwrap();
    let served = model.signature("serving_default").unwrap();
    let exe = served.graph().compile(&served.outputs().unwrap()[..]).unwrap();
    let loaded = start.elapsed();
    let ids = [0i64, 409_599, 7, 7];
    let results = exe.run_named(&[("ids", TensorView::new(&[4], &ids).unwrap())]).unwrap();
    let rows = results.tensor("rows").unwrap();
    assert_eq!(rows.sizes(), [4, WIDTH]);
    let expected: Vec<f32> =
        ids.iter().flat_map(|row| (0..WIDTH).map(|column| element(*row as usize, column))).collect();
    assert_eq!(rows.to_vec::<f32>().unwrap(), expected);
    let growth = resident("RssAnon").zip(before).map(|(after, before)| after.saturating_sub(before));
    let megabytes =
        |bytes: Option<usize>| bytes.map_or("?".to_string(), |bytes| format!("{} MB", bytes >> 20));
    println!(
        "{} MB: loaded and compiled in {} ms; anonymous memory grew by {}, resident memory is {}",
        BYTES >> 20,
        loaded.as_millis(),
        megabytes(growth),
        megabytes(resident("VmRSS"))
    );
    growth
}

#[test]
fn a_variable_of_100_mb_stays_in_its_file() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let growth = load_and_run(Path::new(&folder));
        assert!(growth.is_none_or(|growth| growth < BYTES / 10), "anonymous memory grew by {growth:?} bytes");
        return;
    }
    let folder: PathBuf = std::env::temp_dir().join(format!("shapeflow-large-model-{}", std::process::id()));
    write_model(&folder).unwrap();
    // The other tests of this process allocate memory, so another process loads the model.
    let test = "large_checkpoint::a_variable_of_100_mb_stays_in_its_file";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(FOLDER, &folder)
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    println!("{}", text.lines().find(|line| line.contains(" MB: ")).expect("the process prints its figures"));
}
