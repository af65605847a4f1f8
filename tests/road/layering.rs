//! The rooms of the crate depend on each other in one direction. `unsafe` and some external crates are used only in
//! certain rooms.
//!
//! A room is a folder or file directly in `src/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source_files::{collect_rust_files, strip_comments_and_strings};

/// All rooms; a room may use only the rooms listed before it.
const ROOMS: &[&str] = &[
    "error",
    "nearest",
    "dtype",
    "tensor",
    "ragged",
    "tiles",
    "expr",
    "op",
    "eval",
    "graph",
    "ops",
    "dump",
    "passes",
    "lower",
    "codegen",
    "runtime",
    "compile",
    "exec",
    "control",
    "interchange",
    "guide",
    "bin",
];

/// Exceptions: a room, a later room that it uses, and the reason.
const UPWARD: &[(&str, &str, &str)] =
    &[("op", "graph", "the body of a composite op takes and returns graph values")];

/// The only rooms that may write `unsafe`.
const UNSAFE: &[&str] = &["tensor", "tiles", "codegen", "runtime"];

/// External crates and the room that may use them; a crate may have several rows. Other crates are not restricted.
const RESTRICTED_CRATES: &[(&str, &str)] = &[
    ("cranelift_codegen", "codegen"),
    ("cranelift_frontend", "codegen"),
    ("cranelift_jit", "codegen"),
    ("cranelift_module", "codegen"),
    ("cranelift_native", "codegen"),
    ("rayon", "runtime"),
    ("petgraph", "dump"),
    ("petgraph", "graph"),
    ("iced_x86", "codegen"),
    ("clap", "bin"),
    ("prost", "interchange"),
];

/// A source file, its room, and its code without comments, string literals and the test module at its end.
struct Source {
    path: String,
    room: String,
    code: String,
}

/// Reads the files of all rooms, except test files and `lib.rs`.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    collect_rust_files(&root, &mut paths);
    paths.sort();
    let sources: Vec<Source> = paths
        .into_iter()
        .filter_map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let room = name.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_string();
            let is_test = name.contains("tests/")
                || ["testing.rs", "recorded_values.rs"].iter().any(|end| name.ends_with(end));
            let text = std::fs::read_to_string(&path).unwrap();
            (!is_test && room != "lib").then(|| Source {
                path: name,
                room,
                code: strip_comments_and_strings(&text),
            })
        })
        .collect();
    assert!(sources.len() > 100, "only {} files", sources.len());
    sources
}

/// Returns the first names after `crate::`: `crate::{a::b, c}` gives `a` and `c`.
fn names_after_crate(code: &str) -> BTreeSet<String> {
    let word =
        |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut names = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        let Some(list) = part.strip_prefix('{') else {
            names.insert(word(part));
            continue;
        };
        let mut depth = 0;
        let mut starts = true;
        for (offset, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => starts = true,
                _ if starts && c.is_alphabetic() => {
                    names.insert(word(&list[offset..]));
                    starts = false;
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn rooms_use_only_earlier_rooms() {
    let order: BTreeMap<&str, usize> = ROOMS.iter().enumerate().map(|(index, room)| (*room, index)).collect();
    // A name that lib.rs re-exports, such as `crate::Error`, belongs to the room that defines it.
    let lib = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut defining_room: BTreeMap<String, String> = BTreeMap::new();
    for export in strip_comments_and_strings(&lib).split(';').filter_map(|item| item.split_once("pub use ")) {
        let Some((room, names)) = export.1.split_once("::") else { continue };
        for name in words(names) {
            defining_room.insert(name.to_string(), room.to_string());
        }
    }
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources() {
        let Some(&source_order) = order.get(source.room.as_str()) else {
            wrong.push(format!("{}: the room {} must be listed in ROOMS", source.path, source.room));
            continue;
        };
        for name in names_after_crate(&source.code) {
            let room = match order.contains_key(name.as_str()) {
                true => &name,
                false => defining_room.get(&name).unwrap_or(&name),
            };
            if room == "shape_fns" || room == "shapeflow_shape_fns" || *room == source.room {
                continue;
            }
            let exception = UPWARD.iter().position(|(from, to, _)| *from == source.room && to == room);
            match order.get(room.as_str()) {
                Some(&room_order) if room_order < source_order => {}
                Some(_) if exception.is_some() => used.extend(exception),
                Some(_) => wrong.push(format!("{}: {} must not use {room}", source.path, source.room)),
                None => wrong.push(format!("{}: crate::{name} belongs to no room", source.path)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (number, (from, to, _)) in UPWARD.iter().enumerate() {
        assert!(used.contains(&number), "the exception in UPWARD must be needed: {from} does not use {to}");
    }
}

/// Splits code into identifiers, keywords and numbers.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[test]
fn unsafe_code_is_only_in_unsafe_rooms() {
    let outside: Vec<String> = sources()
        .into_iter()
        .filter(|source| !UNSAFE.contains(&source.room.as_str()))
        .filter(|source| words(&source.code).any(|word| word == "unsafe"))
        .map(|source| source.path)
        .collect();
    assert!(outside.is_empty(), "unsafe in {outside:?}");
}

#[test]
fn restricted_crates_are_used_only_in_their_rooms() {
    let (mut outside, mut seen) = (Vec::new(), BTreeSet::new());
    for source in sources() {
        for (name, room) in RESTRICTED_CRATES {
            // Only the first segment of a path counts: a field or function may have the same name.
            let is_used = source.code.match_indices(&format!("{name}::")).any(|(offset, _)| {
                !source.code[..offset].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c))
            });
            if is_used && source.room == *room {
                seen.insert((*name, *room));
            } else if is_used && !RESTRICTED_CRATES.contains(&(*name, source.room.as_str())) {
                outside.push(format!("{name} in {}", source.path));
            }
        }
    }
    assert!(outside.is_empty(), "{outside:?}");
    assert_eq!(seen.len(), RESTRICTED_CRATES.len(), "every row must be used, only {seen:?} are");
}

/// Passes and emitters ask an `OpDef` for its properties. Code that matches on the names of ops would need a case for
/// every new op.
#[test]
fn compiler_rooms_never_match_op_names() {
    let patterns =
        ["name() ==", "name() !=", "match op.name()", "match node.op.name()", "match self.op.name()"];
    let offenders: Vec<String> = sources()
        .into_iter()
        .filter(|source| {
            ["eval", "graph", "passes", "lower", "codegen", "runtime", "compile", "exec", "control"]
                .contains(&source.room.as_str())
        })
        .filter(|source| {
            let code = source.code.replace("operand.name() == name", "");
            patterns.iter().any(|pattern| code.contains(pattern))
        })
        .map(|source| source.path)
        .collect();
    assert!(offenders.is_empty(), "op names are compared in {offenders:?}");
}

/// The crate of shape functions is usable without the rest of the library.
#[test]
fn shape_fns_depends_on_no_compiler_crate() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("shape_fns/Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    let dependencies = text.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for word in ["petgraph", "cranelift", "rayon", "shapeflow"] {
        assert!(!dependencies.contains(word), "shape_fns depends on {word}");
    }
}

#[test]
fn names_after_crate_are_found() {
    let code = strip_comments_and_strings(
        "use crate::{a::{b, c}, d as e, f}; // crate::no\nlet t = \"crate::no\"; crate::g::h();",
    );
    let names: Vec<String> = names_after_crate(&code).into_iter().collect();
    assert_eq!(names, ["a", "d", "f", "g"]);
}
