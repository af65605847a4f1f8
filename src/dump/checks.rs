//! The requirements on sizes that a run checks, as text.

use crate::graph::{DimNames, Graph, GraphData, MetRegions, NodeIx};

impl Graph {
    /// Returns all requirements that a run checks, also those inside branches and loops: the names that calls tie
    /// together ([`Graph::merges`]), and the requirements that inference could not decide. Each requirement has the
    /// name of its node; `None` for a requirement that the program states.
    pub fn guards_by_node(&self) -> Vec<(String, Option<String>)> {
        let data = self.read();
        let name = |node| data.node_name(node);
        let mut found = named_checks(&data, &name);
        add_inner_checks(&data, &name, &mut MetRegions::default(), &mut found);
        found
    }
}

fn named_checks(data: &GraphData, name: &dyn Fn(NodeIx) -> String) -> Vec<(String, Option<String>)> {
    let checks = checks(data, &data.dim_names()).into_iter();
    checks.map(|(text, node)| (text, node.map(name))).collect()
}

/// Adds the requirements of the graphs inside the nodes of `data`, once for each graph. `name` names the nodes of
/// `data`.
fn add_inner_checks(
    data: &GraphData,
    name: &dyn Fn(NodeIx) -> String,
    met: &mut MetRegions,
    found: &mut Vec<(String, Option<String>)>,
) {
    for node in (0..data.nodes.len()).map(|number| NodeIx(number as u32)) {
        for region in data.regions(node) {
            if !met.is_new(region) {
                continue;
            }
            let outer = name(node);
            let inner = |node| inner_label(&outer, &region.name, &region.graph.node_label(node));
            found.extend(named_checks(&region.graph, &inner));
            add_inner_checks(&region.graph, &inner, met, found);
        }
    }
}

/// Returns the name of a node inside a branch or a loop: the name of the outer node, of the region and of the node.
pub(super) fn inner_label(outer: &str, region: &str, label: &str) -> String {
    // The names of a closure's nodes may begin with the name of the region already.
    let label = label.rsplit_once(&format!("{region}/")).map_or(label, |(_, inner)| inner);
    format!("{outer}/{region}/{label}")
}

/// Returns the requirements of a graph as text, with their nodes, without the graphs inside its nodes.
pub(super) fn checks(data: &GraphData, names: &DimNames) -> Vec<(String, Option<NodeIx>)> {
    let tied = data.checked_ties(names).into_iter().map(|(text, node)| (text, Some(node)));
    let guards = data.distinct_guards(names, |_| true).into_iter().map(|(text, origin)| {
        let node = ((origin as usize) < data.nodes.len()).then_some(NodeIx(origin));
        (text, node)
    });
    tied.chain(guards).collect()
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, shape};

    /// Returns the requirements of a snapshot with the names of their nodes.
    fn shown(g: &Graph) -> Vec<(String, Option<String>)> {
        let snapshot = g.snapshot();
        let name = |node: usize| snapshot.nodes[node].label.clone();
        snapshot.guards.iter().map(|guard| (guard.text.clone(), guard.node.map(name))).collect()
    }

    #[test]
    fn names_that_a_call_makes_equal_are_run_time_checks() -> Result<()> {
        let g = Graph::new();
        let users = g.input("users", DType::F32, shape!["users", "emb"])?;
        let items = g.input("items", DType::F32, shape!["items", "emb"])?;
        let _ = users.matmul(items)?.named("scores");
        assert_eq!(g.guards_by_node(), [("items == emb".to_string(), Some("scores".to_string()))]);
        assert_eq!(
            (g.snapshot().guards[0].text.as_str(), g.snapshot().guards[0].node),
            ("items == emb", Some(2))
        );
        Ok(())
    }

    #[test]
    fn broadcasts_of_two_names_are_run_time_checks() -> Result<()> {
        let g = Graph::new();
        let users = g.input("users", DType::F32, shape!["users", "emb"])?;
        let _ = (users - users.reduce_mean(1)?).ok()?.named("centered");
        let expected = [("emb broadcasts with users".to_string(), Some("centered".to_string()))];
        assert_eq!(g.guards_by_node(), expected);
        assert_eq!(shown(&g), expected);
        Ok(())
    }

    #[test]
    fn checks_inside_branches_and_loops_have_the_path_of_their_node() -> Result<()> {
        let g = Graph::new();
        let [a, b] = ["a", "b"].map(|name| g.input(name, DType::F32, shape![name]));
        let (a, b, flag) = (a?, b?, g.input("flag", DType::Bool, shape![])?);
        let _ = g.cond(
            flag,
            || Ok((a + b).ok()?.named("sum")),
            || a.reshape([-1, 3])?.named("rows").reshape([-1]),
        )?;
        let texts: Vec<(String, String)> =
            g.guards_by_node().into_iter().map(|(text, node)| (text, node.unwrap())).collect();
        let node =
            |end: &str| texts.iter().find(|(_, node)| node.ends_with(end)).map(|(text, _)| text.as_str());
        assert_eq!(node("/then/sum"), Some("a broadcasts with b"), "{texts:?}");
        assert_eq!(node("/else/rows"), Some("3 divides a"), "{texts:?}");
        assert_eq!(shown(&g).len(), texts.len());
        Ok(())
    }
}
