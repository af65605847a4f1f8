//! The rooms of the crate know each other in one direction; `unsafe` and foreign crates stay where they belong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{code_of, files};

/// From the ground up: a room knows only rooms before it.
const ROOMS: &[&str] = &[
    "error",
    "dtype",
    "tensor",
    "tiles",
    "expr",
    "op",
    "eval",
    "graph",
    "ops",
    "interchange",
    "dump",
    "passes",
    "lower",
    "codegen",
    "runtime",
    "compile",
    "exec",
    "bin",
];

/// Who knows a later room all the same, and why that cannot be otherwise.
const UPWARD: &[(&str, &str, &str)] = &[("op", "graph", "the body of a composite op takes and gives values")];

/// The only rooms that may write `unsafe`.
const UNSAFE: &[&str] = &["tensor", "tiles", "codegen", "runtime"];

/// The rooms that name a crate; a crate that stands here is named nowhere else.
const CRATES: &[(&str, &str)] = &[
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

/// A source file: its room, and its code without comments, texts and the tests at its end.
struct Source {
    path: String,
    room: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    let sources: Vec<Source> = paths
        .into_iter()
        .filter_map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
            let room = name.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_string();
            let is_test = name.contains("tests/")
                || ["testing.rs", "recorded.rs"].iter().any(|end| name.ends_with(end));
            let text = std::fs::read_to_string(&path).unwrap();
            (!is_test && room != "lib").then(|| Source { path: name, room, code: code_of(&text) })
        })
        .collect();
    assert!(sources.len() > 100, "only {} files", sources.len());
    sources
}

/// The words that follow `crate::`, also in braces: `crate::{a::b, c}` names `a` and `c`.
fn named_after_crate(code: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        text.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect()
    };
    let mut names = BTreeSet::new();
    for part in code.split("crate::").skip(1) {
        let Some(list) = part.strip_prefix('{') else {
            names.insert(word(part));
            continue;
        };
        let mut depth = 0;
        let mut starts = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => starts = true,
                _ if starts && letter.is_alphabetic() => {
                    names.insert(word(&list[at..]));
                    starts = false;
                }
                _ => {}
            }
        }
    }
    names
}

#[test]
fn rooms_know_only_those_before_them() {
    let place: BTreeMap<&str, usize> = ROOMS.iter().enumerate().map(|(at, room)| (*room, at)).collect();
    // What the front page gives to users is known by the room that defines it.
    let front = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let mut home: BTreeMap<String, String> = BTreeMap::new();
    for line in code_of(&front).split(';').filter_map(|item| item.split_once("pub use ")) {
        let Some((room, names)) = line.1.split_once("::") else { continue };
        for name in names.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            home.insert(name.to_string(), room.to_string());
        }
    }
    let (mut wrong, mut used) = (Vec::new(), BTreeSet::new());
    for source in sources() {
        let Some(&own) = place.get(source.room.as_str()) else {
            wrong.push(format!("{}: the room {} has no place in the table", source.path, source.room));
            continue;
        };
        for name in named_after_crate(&source.code) {
            let room =
                if place.contains_key(name.as_str()) { &name } else { home.get(&name).unwrap_or(&name) };
            if room == "shape_fns" || room == "shapeflow_shape_fns" || *room == source.room {
                continue;
            }
            let exception = UPWARD.iter().position(|(from, to, _)| *from == source.room && to == room);
            match place.get(room.as_str()) {
                Some(&other) if other < own => {}
                Some(_) if exception.is_some() => used.extend(exception),
                Some(_) => wrong.push(format!("{}: {} must not know {room}", source.path, source.room)),
                None => wrong.push(format!("{}: crate::{name} belongs to no room", source.path)),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (number, (from, to, _)) in UPWARD.iter().enumerate() {
        assert!(used.contains(&number), "{from} does not know {to} any more");
    }
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

#[test]
fn unsafe_code_stays_in_its_rooms() {
    let outside: Vec<String> = sources()
        .into_iter()
        .filter(|source| !UNSAFE.contains(&source.room.as_str()))
        .filter(|source| words(&source.code).any(|word| word == "unsafe"))
        .map(|source| source.path)
        .collect();
    assert!(outside.is_empty(), "unsafe in {outside:?}");
}

#[test]
fn foreign_crates_stay_in_their_rooms() {
    let (mut outside, mut seen) = (Vec::new(), BTreeSet::new());
    for source in sources() {
        for (name, room) in CRATES {
            // As the head of a path: a field or function may have the name.
            let is_used = source.code.match_indices(&format!("{name}::")).any(|(at, _)| {
                !source.code[..at].ends_with(|letter: char| letter.is_alphanumeric() || "_:".contains(letter))
            });
            if is_used && source.room == *room {
                seen.insert((*name, *room));
            } else if is_used && !CRATES.contains(&(*name, source.room.as_str())) {
                outside.push(format!("{name} in {}", source.path));
            }
        }
    }
    assert!(outside.is_empty(), "{outside:?}");
    assert_eq!(seen.len(), CRATES.len(), "only {seen:?} are used");
}

/// Whoever knows an op by its name would have to be told of every other op.
#[test]
fn nobody_asks_for_the_name_of_an_op() {
    let asks = ["name() ==", "name() !=", "match op.name()", "match node.op.name()", "match self.op.name()"];
    let asking: Vec<String> = sources()
        .into_iter()
        .filter(|source| {
            ["eval", "graph", "passes", "lower", "codegen", "runtime", "compile", "exec"]
                .contains(&source.room.as_str())
        })
        .filter(|source| {
            let code = source.code.replace("operand.name() == name", "");
            asks.iter().any(|ask| code.contains(ask))
        })
        .map(|source| source.path)
        .collect();
    assert!(asking.is_empty(), "{asking:?}");
}

/// The shape functions are usable alone.
#[test]
fn shape_functions_know_no_graph() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("shape_fns/Cargo.toml");
    let text = std::fs::read_to_string(manifest).unwrap();
    let dependencies = text.split("[dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    for word in ["petgraph", "cranelift", "rayon", "shapeflow"] {
        assert!(!dependencies.contains(word), "shape_fns depends on {word}");
    }
}

#[test]
fn what_stands_after_crate_is_found() {
    let code =
        code_of("use crate::{a::{b, c}, d as e, f}; // crate::no\nlet t = \"crate::no\"; crate::g::h();");
    let names: Vec<String> = named_after_crate(&code).into_iter().collect();
    assert_eq!(names, ["a", "d", "f", "g"]);
}
