//! Names of nodes, values and steps, for errors, traces and dumps.

use indexmap::IndexMap;

use crate::error::{Error, is_library_line};
use crate::graph::{GraphData, NodeIx, ValueIx};
use crate::lower::kernel::Kernel;
use crate::lower::program::Step;
use crate::op::Body;

/// Adds the failed node, its operands and its location to an error. An error of a node inside a branch or a loop body
/// keeps that node, and gets a note about the node around it.
pub(crate) fn locate(graph: &GraphData, index: NodeIx, error: Error) -> Error {
    let node = &graph.nodes[index.index()];
    if matches!(node.op.body, Body::HostWith(_)) && error.node().is_some() {
        return error.note(format!("inside {}", graph.node_name(index)), Some(node.location));
    }
    let call = graph.named_call_text(&node.op, &node.operands, node.attrs());
    let scopes = graph.scopes_of_error(node.scope);
    // An error about an element names the operand that has it. An error about sizes names all sizes.
    let names_element = error.is_of_element();
    let blamed = error
        .blamed_operand()
        .filter(|_| names_element)
        .and_then(|operand| Some((operand, *node.operands.get(operand)?)));
    let error = match blamed.map(|(operand, value)| (operand, graph.values[value.index()].node)) {
        // The call in the program that made this node made the operand too, so its line says nothing new.
        Some((_, maker)) if is_of_same_call(graph, maker, index) => error,
        Some((operand, maker)) => error.note(
            format!("operand {operand} comes from {}", graph.node_label(maker)),
            Some(graph.nodes[maker.index()].location),
        ),
        None => error,
    };
    let origins = error.origins().to_vec();
    let error = origins.into_iter().fold(error, |error, (operand, what)| {
        let Some(&value) = node.operands.get(operand) else { return error };
        let maker = maker_of_elements(graph, value);
        let label = graph.node_label(maker);
        error.note(format!("{what} comes from {label}"), Some(graph.nodes[maker.index()].location))
    });
    graph
        .blame(error, &node.op, call, node.origin)
        .with_node(graph.node_name(index))
        .in_call_at(node.location)
        .in_scopes(scopes)
}

/// Returns whether one call in the program added both nodes.
fn is_of_same_call(graph: &GraphData, a: NodeIx, b: NodeIx) -> bool {
    let call =
        |node: NodeIx| graph.call_of_program(graph.nodes[node.index()].origin).map(|(_, location)| location);
    call(a).is_some_and(|location| call(b) == Some(location))
}

/// Returns the node that made the elements of a value, before the checks that passed them on.
fn maker_of_elements(graph: &GraphData, value: ValueIx) -> NodeIx {
    let mut maker = graph.values[value.index()].node;
    loop {
        let node = &graph.nodes[maker.index()];
        match node.operands.first() {
            Some(first) if matches!(node.op.body, Body::Host(_)) && node.op.is_reinterpretation() => {
                maker = graph.values[first.index()].node;
            }
            _ => return maker,
        }
    }
}

/// Returns a value as `relu made at src/model.rs:3:1`. The location is absent if it is a line of this crate.
pub(crate) fn value_text(graph: &GraphData, value: ValueIx) -> String {
    let index = graph.values[value.index()].node;
    let location = graph.nodes[index.index()].location;
    match is_library_line(location) {
        true => graph.node_label(index),
        false => format!("{} made at {location}", graph.node_label(index)),
    }
}

/// Returns the name of a step: the ops that a kernel fuses, or the node that runs by itself.
pub(super) fn step_label(graph: &GraphData, step: &Step) -> String {
    match step {
        Step::Kernel(kernel) => fused_text(graph, kernel),
        Step::MatMul { node, .. } | Step::Whole { node, .. } | Step::Node { node, .. } => {
            graph.node_label(*node)
        }
    }
}

/// The length of a longer label is reduced: it lists the first nodes and the last.
const LABEL: usize = 80;

/// Returns the nodes that a kernel fuses, each name once with its count, after the scope that all names share:
/// `encoder: add ×2, relu`.
fn fused_text(graph: &GraphData, kernel: &Kernel) -> String {
    let mut counts: IndexMap<String, usize> = IndexMap::new();
    for value in &kernel.fused {
        *counts.entry(graph.node_label(graph.values[value.index()].node)).or_default() += 1;
    }
    let scope = shared_scope(counts.keys().map(String::as_str));
    let names = counts.iter().map(|(label, count)| {
        let name = label[scope.len()..].trim_start_matches('/');
        if *count == 1 { name.to_string() } else { format!("{name} ×{count}") }
    });
    let names: Vec<String> = names.collect();
    let scope = if scope.is_empty() { String::new() } else { format!("{scope}: ") };
    let all = names.join(", ");
    match &names[..] {
        [first, second, .., last] if names.len() > 4 && all.len() > LABEL => {
            format!("{scope}{first}, {second}, … {} more, {last}", names.len() - 3)
        }
        _ => scope + &all,
    }
}

/// Returns the scopes that all names begin with, without the last part of a name.
fn shared_scope<'a>(mut names: impl Iterator<Item = &'a str>) -> &'a str {
    let scope_of = |name: &'a str| name.rsplit_once('/').map_or("", |(scope, _)| scope);
    let mut shared = names.next().map_or("", scope_of);
    for name in names {
        while !shared.is_empty() && name.strip_prefix(shared).is_none_or(|rest| !rest.starts_with('/')) {
            shared = scope_of(shared);
        }
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::shared_scope;
    use crate::{DType, Graph, Result, StageKind, shape};

    #[test]
    fn names_share_whole_scopes() {
        let shared = |names: &[&'static str]| shared_scope(names.iter().copied());
        assert_eq!(shared(&["net/layer/add", "net/layer/mul"]), "net/layer");
        assert_eq!(shared(&["net/layer/add", "net/layer2/mul"]), "net");
        assert_eq!(shared(&["net/add", "add"]), "");
        assert_eq!(shared(&["net/add"]), "net");
        assert_eq!(shared(&[]), "");
    }

    #[test]
    fn loops_and_buffers_name_their_unknown_dimensions() -> Result<()> {
        let g = Graph::new();
        let tokens = g.input("tokens", DType::F32, shape![?, ?])?;
        let exe = g.compile(tokens.reduce_sum(1)?)?;
        for text in [exe.kernels(), format!("{:?}", exe.snapshot(StageKind::Kernels)?)] {
            assert!(text.contains("f32[tokens.0, tokens.1]"), "{text}");
            assert!(text.contains("for i0 < tokens.0") && text.contains("< tokens.1"), "{text}");
        }
        Ok(())
    }

    #[test]
    fn a_label_has_the_shared_scope_once_and_few_names() -> Result<()> {
        let g = Graph::new();
        let mut x = g.input("x", DType::F32, shape!["n"])?;
        let scope = g.scope("encoder");
        for number in 0..30 {
            x = (x + 1.5).ok()?.named(format!("step_number_{number}"));
        }
        drop(scope);
        let text = g.compile(x)?.kernels();
        let heading =
            text.lines().find(|line| line.contains("encoder: ")).unwrap_or_else(|| panic!("{text}"));
        assert!(
            heading.contains("encoder: step_number_0, step_number_1, … 27 more, step_number_29"),
            "{heading}"
        );
        Ok(())
    }
}
