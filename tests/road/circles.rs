//! The files of a room have no dependency cycle: every file can be read after the files that it uses.
//!
//! A room is a top-level module of a crate. A file uses another file if a path in its code resolves to that file's
//! module. A re-export resolves to the module that defines the name. Test modules are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::source_files::{collect_rust_files, strip_comments_and_strings};

/// Allowed cycles: their modules, as paths below the crate, and the reason.
const ALLOWED: &[(&[&str], &str)] = &[
    (
        &["dim", "dim/poly"],
        "a dim holds polynomials and the atoms of a polynomial hold dims: one recursive type in two files",
    ),
    (
        &["tensor", "tensor/list", "tensor/storage"],
        "the storage of a variant tensor holds lists and a list holds tensors: one recursive type in three files",
    ),
];

/// Longest chain of re-exports that [`Modules::resolve`] follows.
const MAX_REEXPORTS: usize = 8;

/// The path of a module below the crate: `["dim", "poly"]`.
type Module = Vec<String>;

/// The modules of a crate.
struct Modules {
    /// Each module's code, without comments and string literals.
    code: BTreeMap<Module, String>,
    /// Re-exports: `(module, name)` to the path that follows `pub use`.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// Appends the paths of a `use` tree to `paths`: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn flatten_use_tree(prefix: &[String], tree: &str, paths: &mut Vec<Vec<String>>) {
    let (head, group) = tree.split_once('{').map_or((tree, None), |(head, group)| (head, Some(group)));
    let head = head.split(" as ").next().unwrap_or_default();
    let segments = head.split("::").map(str::trim).filter(|segment| !segment.is_empty());
    let path: Vec<String> = prefix.iter().cloned().chain(segments.map(str::to_string)).collect();
    let Some(group) = group.and_then(|group| group.rsplit_once('}')) else {
        paths.push(path);
        return;
    };
    let (mut depth, mut start) = (0, 0);
    let items = format!("{},", group.0);
    for (offset, c) in items.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = items[start..offset].trim();
                if !item.is_empty() {
                    flatten_use_tree(&path, item, paths);
                }
                start = offset + 1;
            }
            _ => {}
        }
    }
}

/// Splits code into its `use` items, as `(is_reexport, use tree)`, and the remaining code.
fn split_uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    for item in code.split_inclusive(';') {
        // A `use` begins an item if only whitespace or a visibility precedes it on its line.
        let start = item.match_indices("use ").map(|(offset, _)| offset).find(|&offset| {
            let line = item[..offset].rsplit('\n').next().unwrap_or_default().trim();
            line.is_empty() || line.starts_with("pub")
        });
        match start {
            Some(offset) => {
                let line = item[..offset].rsplit('\n').next().unwrap_or_default();
                uses.push((line.contains("pub"), item[offset + 4..].trim_end_matches(';').to_string()));
                rest.push_str(&item[..offset]);
            }
            None => rest.push_str(item),
        }
    }
    (uses, rest)
}

/// Returns the paths in expressions and types that begin with `crate`, `super` or `self`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (offset, _) in code.match_indices(root) {
            let previous = code[..offset].chars().next_back().unwrap_or(' ');
            if previous.is_alphanumeric() || "_:$".contains(previous) {
                continue;
            }
            let path = code[offset..]
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':')
                .next()
                .unwrap_or_default();
            paths.push(path.split("::").filter(|word| !word.is_empty()).map(str::to_string).collect());
        }
    }
    paths
}

impl Modules {
    /// Reads all modules of the crate whose sources are below `root`, except test modules and binaries.
    fn read(root: &Path) -> Modules {
        let mut found = Vec::new();
        collect_rust_files(root, &mut found);
        let mut modules = Modules { code: BTreeMap::new(), exports: BTreeMap::new() };
        for path in found {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            let mut module: Module =
                name.iter().map(|segment| segment.to_string_lossy().into_owned()).collect();
            if module
                .iter()
                .any(|segment| ["tests", "testing", "recorded", "bin"].contains(&segment.as_str()))
            {
                continue;
            }
            if module.last().is_some_and(|last| ["mod", "lib"].contains(&last.as_str())) {
                module.pop();
            }
            let text = std::fs::read_to_string(&path).unwrap();
            modules.code.insert(module, strip_comments_and_strings(&text));
        }
        let mut exports = BTreeMap::new();
        for (module, code) in &modules.code {
            for (_, tree) in split_uses(code).0.into_iter().filter(|(is_reexport, _)| *is_reexport) {
                let mut paths = Vec::new();
                flatten_use_tree(&[], &tree, &mut paths);
                for path in paths {
                    exports.insert((module.clone(), path.last().cloned().unwrap_or_default()), path);
                }
            }
        }
        modules.exports = exports;
        modules
    }

    /// Returns the module of this crate that a path in module `from` names, or `None` for another crate's path.
    ///
    /// `depth` counts the re-exports already followed, so that circular re-exports end.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<Module> {
        let (mut module, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from.clone(), path),
            first => {
                let child = [&from[..], &[first.to_string()]].concat();
                self.code.contains_key(&child).then_some((from.clone(), path))?
            }
        };
        while rest.first().is_some_and(|word| word == "super") {
            module.pop();
            rest = &rest[1..];
        }
        while let Some(word) = rest.first() {
            let child = [&module[..], std::slice::from_ref(word)].concat();
            if !self.code.contains_key(&child) {
                break;
            }
            (module, rest) = (child, &rest[1..]);
        }
        let export = rest.first().and_then(|word| self.exports.get(&(module.clone(), word.clone())));
        let through =
            export.filter(|_| depth < MAX_REEXPORTS).and_then(|path| self.resolve(&module, path, depth + 1));
        through.or_else(|| self.code.contains_key(&module).then_some(module))
    }

    /// Maps each module to the modules of the same room that it uses.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let room = |module: &Module| module.first().cloned();
        let mut edges = BTreeMap::new();
        for (module, code) in &self.code {
            let (uses, rest) = split_uses(code);
            let mut paths = inline_paths(&rest);
            for (_, tree) in uses.into_iter().filter(|(is_reexport, _)| !is_reexport) {
                flatten_use_tree(&[], &tree, &mut paths);
            }
            let targets = paths.iter().filter_map(|path| self.resolve(module, path, 0));
            let inside = targets
                .filter(|target| target != module && room(target) == room(module) && !target.is_empty());
            edges.insert(module.clone(), inside.collect());
        }
        edges
    }
}

/// Returns the dependency cycles: the strongly connected components with at least one edge.
fn cycles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reachable_from = |start: &Module| {
        let (mut seen, mut pending) = (BTreeSet::new(), vec![start]);
        while let Some(module) = pending.pop() {
            for next in edges.get(module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    pending.push(next);
                }
            }
        }
        seen
    };
    let reachable: BTreeMap<&Module, BTreeSet<Module>> =
        edges.keys().map(|module| (module, reachable_from(module))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, reached) in &reachable {
        if reached.contains(*module) && !found.iter().any(|cycle| cycle.contains(*module)) {
            let cycle = reached.iter().filter(|other| reachable[other].contains(*module));
            found.push(cycle.cloned().collect());
        }
    }
    found
}

#[test]
fn files_of_a_room_have_no_dependency_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut unexpected = Vec::new();
    let mut used = BTreeSet::new();
    for sources in ["src", "shape_fns/src"] {
        let modules = Modules::read(&root.join(sources));
        assert!(modules.code.len() > 100, "{sources} has only {} modules", modules.code.len());
        for cycle in cycles(&modules.edges()) {
            let names: Vec<String> = cycle.iter().map(|module| module.join("/")).collect();
            match ALLOWED.iter().position(|(allowed, _)| *allowed == names) {
                Some(index) => drop(used.insert(index)),
                None => unexpected.push(format!("{sources}: {}", names.join(", "))),
            }
        }
    }
    assert!(unexpected.is_empty(), "dependency cycles:\n{}", unexpected.join("\n"));
    assert_eq!(used.len(), ALLOWED.len(), "every cycle in ALLOWED must exist");
}

#[test]
fn use_trees_are_flattened_into_paths() {
    let (uses, rest) = split_uses("use a::{b, c::{d as e, f}};\npub use g;\nfn h() { super::i::j(); }");
    assert_eq!(uses.len(), 2);
    let mut paths = Vec::new();
    flatten_use_tree(&[], &uses[0].1, &mut paths);
    let texts: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(texts, ["a::b", "a::c::d", "a::c::f"]);
    assert_eq!(inline_paths(&rest), [["super", "i", "j"]]);
}
