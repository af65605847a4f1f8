//! Files inside a room form no circle: each file can be read after the files that it uses.
//!
//! A file uses another if a path in its code resolves to that file's module. Re-exports are followed to the module that
//! defines the name. Test modules do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{code_of, files};

/// Circles that stay, each with its reason. A file name is the path of its module.
const ALLOWED: &[(&[&str], &str)] = &[(
    &["dim", "dim/poly"],
    "the terms of a dim are polynomials, and the arguments of their atoms are dims: one recursive type in two files",
)];

type Module = Vec<String>;

/// The modules of a crate, and what each one uses.
struct Modules {
    code: BTreeMap<Module, String>,
    /// `(module, name)` to the path that the module re-exports under this name.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// The paths of a `use` tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn use_paths(prefix: &[String], tree: &str, paths: &mut Vec<Vec<String>>) {
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
    for (offset, letter) in items.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let item = items[start..offset].trim();
                if !item.is_empty() {
                    use_paths(&path, item, paths);
                }
                start = offset + 1;
            }
            _ => {}
        }
    }
}

/// The `use` items of some code as `(is re-export, tree)`, and the code without them.
fn split_uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut uses, mut rest) = (Vec::new(), String::new());
    for item in code.split_inclusive(';') {
        // The last `use` before the semicolon begins the item, if only attributes or a visibility precede it.
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

/// Paths in expressions and types that begin at a root: `crate::a::b`, `super::c`.
fn inline_paths(code: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for root in ["crate::", "super::", "self::"] {
        for (offset, _) in code.match_indices(root) {
            let before = code[..offset].chars().next_back().unwrap_or(' ');
            if before.is_alphanumeric() || before == '_' || before == ':' || before == '$' {
                continue;
            }
            let path = code[offset..]
                .split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
                .next()
                .unwrap_or_default();
            paths.push(path.split("::").filter(|word| !word.is_empty()).map(str::to_string).collect());
        }
    }
    paths
}

impl Modules {
    fn read(root: &Path) -> Modules {
        let mut found = Vec::new();
        files(root, &mut found);
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
            modules.code.insert(module, code_of(&std::fs::read_to_string(&path).unwrap()));
        }
        let mut exports = BTreeMap::new();
        for (module, code) in &modules.code {
            for (_, tree) in split_uses(code).0.into_iter().filter(|(is_export, _)| *is_export) {
                let mut paths = Vec::new();
                use_paths(&[], &tree, &mut paths);
                for path in paths {
                    exports.insert((module.clone(), path.last().cloned().unwrap_or_default()), path);
                }
            }
        }
        modules.exports = exports;
        modules
    }

    /// The module that a path in `from` leads to.
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
        let through = export.filter(|_| depth < 8).and_then(|path| self.resolve(&module, path, depth + 1));
        through.or_else(|| self.code.contains_key(&module).then_some(module))
    }

    /// The modules of the same room that each module uses.
    fn edges(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let room = |module: &Module| module.first().cloned();
        let mut edges = BTreeMap::new();
        for (module, code) in &self.code {
            let (uses, rest) = split_uses(code);
            let mut paths = inline_paths(&rest);
            for (_, tree) in uses.into_iter().filter(|(is_export, _)| !is_export) {
                use_paths(&[], &tree, &mut paths);
            }
            let targets = paths.iter().filter_map(|path| self.resolve(module, path, 0));
            let inside = targets
                .filter(|target| target != module && room(target) == room(module) && !target.is_empty());
            edges.insert(module.clone(), inside.collect());
        }
        edges
    }
}

/// Every set of modules each of which reaches all others.
fn circles(edges: &BTreeMap<Module, BTreeSet<Module>>) -> Vec<BTreeSet<Module>> {
    let reached = |start: &Module| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![start]);
        while let Some(module) = open.pop() {
            for next in edges.get(module).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<&Module, BTreeSet<Module>> =
        edges.keys().map(|module| (module, reached(module))).collect();
    let mut found: Vec<BTreeSet<Module>> = Vec::new();
    for (module, reached) in &reach {
        if reached.contains(*module) && !found.iter().any(|circle| circle.contains(*module)) {
            let circle = reached.iter().filter(|other| reach[other].contains(*module));
            found.push(circle.cloned().collect());
        }
    }
    found
}

#[test]
fn files_of_a_room_form_no_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut unexpected = Vec::new();
    let mut used = BTreeSet::new();
    for sources in ["src", "shape_fns/src"] {
        let modules = Modules::read(&root.join(sources));
        assert!(modules.code.len() > 100, "{sources} has only {} modules", modules.code.len());
        for circle in circles(&modules.edges()) {
            let names: Vec<String> = circle.iter().map(|module| module.join("/")).collect();
            match ALLOWED.iter().position(|(allowed, _)| *allowed == names) {
                Some(index) => drop(used.insert(index)),
                None => unexpected.push(format!("{sources}: {}", names.join(", "))),
            }
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
    assert_eq!(used.len(), ALLOWED.len(), "an allowed circle exists no more");
}

#[test]
fn use_trees_are_split_into_paths() {
    let (uses, rest) = split_uses("use a::{b, c::{d as e, f}};\npub use g;\nfn h() { super::i::j(); }");
    assert_eq!(uses.len(), 2);
    let mut paths = Vec::new();
    use_paths(&[], &uses[0].1, &mut paths);
    let texts: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(texts, ["a::b", "a::c::d", "a::c::f"]);
    assert_eq!(inline_paths(&rest), [["super", "i", "j"]]);
}
