//! Imports the control flow of TensorFlow 1, level by level: the nodes of a loop body or of a branch are imported
//! together with the node that leaves the loop or joins the branches.

use std::cell::RefCell;
use std::collections::BTreeSet;

use shapeflow_shape_fns::{DType, counted};

use super::built::{Built, ImportedValue, union};
use super::control::branch_names;
use super::counted_loop::{CountedRegions, counted_loop};
use super::find_switches::{predicate, predicate_from, side_count};
use super::frame::{Frame, Source, damaged};
use super::importer::Importer;
use super::switches::{Predicate, Role};
use crate::error::Result;
use crate::graph::Value;
use crate::tensor::Tensor;

/// Which nodes are imported together: the nodes in the loop `in_loop` whose sides are all among `sides`. A side of a
/// node is a branch in which the node runs: a predicate, and the number of the branch.
#[derive(Clone, Default)]
struct Level {
    in_loop: Option<usize>,
    sides: BTreeSet<(Predicate, usize)>,
    /// Whether each `Merge` is imported without the other `Merge` nodes of its branches.
    joins_alone: bool,
}

type AllBuilt<'g> = Vec<Option<Built<'g>>>;

impl<'a, 'g> Importer<'a, 'g> {
    /// Builds the nodes in `order`, a topological order of the main graph or of a function.
    pub(super) fn build(&mut self, frame: &Frame<'a, 'g>, order: &[usize]) -> Result<AllBuilt<'g>> {
        let mut built: AllBuilt<'g> = (0..frame.nodes.len()).map(|_| None).collect();
        self.build_level(frame, order, &Level::default(), &mut built)?;
        // In each run, only one output of a Switch has a value. So none can be fetched.
        for (node, role) in &frame.switches.roles {
            if *role == Role::Switch {
                built[*node] = None;
            }
        }
        Ok(built)
    }

    /// Builds the nodes of a level. Returns the nodes that were built.
    fn build_level(
        &mut self,
        frame: &Frame<'a, 'g>,
        order: &[usize],
        level: &Level,
        built: &mut AllBuilt<'g>,
    ) -> Result<Vec<usize>> {
        let switches = &frame.switches;
        let mut added = Vec::new();
        for &index in order {
            let is_here = switches.is_empty()
                || switches.places.get(&index).is_some_and(|place| {
                    place.in_loop == level.in_loop && place.sides.is_subset(&level.sides)
                });
            if built[index].is_some() || !is_here {
                continue;
            }
            let role = switches.roles.get(&index).copied().unwrap_or(Role::Plain);
            let node = match role {
                Role::Plain => self.node(frame, index, built)?,
                Role::Pass | Role::Switch => self.passed(frame, index, built)?,
                Role::Merge(predicate) => {
                    let merges = self.merges_with(frame, index, order, level, built, &mut added)?;
                    let joined = self.joined(frame, &merges, predicate, level, built)?;
                    for (merge, node) in merges.into_iter().zip(joined) {
                        built[merge] = Some(self.guarded_by_controls(frame, merge, node, built)?);
                        added.push(merge);
                    }
                    continue;
                }
                Role::Exit(number) => {
                    let exits = self.import_loop(frame, number, level, built)?;
                    for &exit in &exits {
                        if let Some(node) = built[exit].take() {
                            built[exit] = Some(self.guarded_by_controls(frame, exit, node, built)?);
                        }
                    }
                    added.extend(exits);
                    continue;
                }
                Role::State => {
                    let name = &frame.nodes[index].name;
                    return damaged(format!("{name} must be part of a loop with an Exit"));
                }
            };
            built[index] = Some(node);
            added.push(index);
        }
        Ok(added)
    }

    /// Builds a node that passes its first input on. A `Switch` passes it on to all sides.
    fn passed(&mut self, frame: &Frame<'a, 'g>, index: usize, built: &AllBuilt<'g>) -> Result<Built<'g>> {
        let mut data = input(frame, index, 0, built)?;
        let is_switch = frame.switches.roles.get(&index) == Some(&Role::Switch);
        if is_switch && predicate(frame, index).is_some_and(|predicate| is_read(frame, index, predicate)) {
            // The predicate is computed before any side, so nothing on a side needs to wait for it.
            data = ImportedValue { checks: None, may_fail: false, ..data };
        }
        let controls = self.controls(frame, index, built)?;
        data.blocking_error = data.blocking_error.or(controls.blocking_error);
        let data = self.guarded(data, &controls.checks)?;
        let outputs = vec![data.clone(); if is_switch { side_count(frame, index)? } else { 1 }];
        let checks = union(&union(&data.checks, &data.pending), &controls.checks);
        let mut node = Built { outputs, checks, ..Built::default() };
        self.complete_awaited(frame, index, &mut node, &[], true);
        Ok(node)
    }

    /// Returns a node of control flow, guarded by its control inputs.
    fn guarded_by_controls(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        mut node: Built<'g>,
        built: &AllBuilt<'g>,
    ) -> Result<Built<'g>> {
        let controls = self.controls(frame, index, built)?;
        node.checks = union(&node.checks, &controls.checks);
        for output in &mut node.outputs {
            output.may_fail = true;
            output.blocking_error = output.blocking_error.take().or_else(|| controls.blocking_error.clone());
            *output = self.checked(output.clone(), &controls.checks)?;
        }
        self.complete_awaited(frame, index, &mut node, &[], false);
        Ok(node)
    }

    /// Returns the `Merge` nodes in `order` that are imported together with `merge`: they join the same branches, need
    /// no results of each other, and have names of one scope, as the `Merge` nodes of one call of `tf.cond` have.
    /// Builds the nodes of the level that they need, and adds these nodes to `added`.
    fn merges_with(
        &mut self,
        frame: &Frame<'a, 'g>,
        merge: usize,
        order: &[usize],
        level: &Level,
        built: &mut AllBuilt<'g>,
        added: &mut Vec<usize>,
    ) -> Result<Vec<usize>> {
        let mut merges = vec![merge];
        let switches = &frame.switches;
        let scope = |node: usize| frame.nodes[node].name.rsplit_once('/').map(|(scope, _)| scope);
        let is_alike = |other: &usize| {
            switches.roles.get(other) == switches.roles.get(&merge)
                && switches.places.get(other) == switches.places.get(&merge)
                && scope(*other) == scope(merge)
        };
        let others = order.iter().copied().filter(|other| !level.joins_alone && *other != merge);
        for other in others.filter(is_alike) {
            if built[other].is_some() {
                continue;
            }
            let mut needed = frame.order(&[other])?;
            needed.retain(|node| *node != other);
            if !needed.iter().any(|node| merges.contains(node)) {
                let alone = Level { joins_alone: true, ..level.clone() };
                added.extend(self.build_level(frame, &needed, &alone, built)?);
                merges.push(other);
            }
        }
        Ok(merges)
    }

    /// Imports the branches that `Merge` nodes join: one node of the graph computes the values of all of them.
    fn joined(
        &mut self,
        frame: &Frame<'a, 'g>,
        merges: &[usize],
        predicate: Predicate,
        level: &Level,
        built: &mut AllBuilt<'g>,
    ) -> Result<Vec<Built<'g>>> {
        let selector = match predicate {
            Predicate::Node(node, output) => frame
                .fed
                .get(&(node, output))
                .or_else(|| built[node].as_ref().and_then(|built| built.outputs.get(output))),
            Predicate::Argument(number) => frame.args.get(frame.parameters[number]),
        };
        let Some(selector) = selector.cloned() else {
            return damaged("the predicate of a Switch must be computed before the branches".to_string());
        };
        let selector = self.with_pending_checks(selector).and_then(require_usable)?;
        let (graph, location) = (self.graph, self.location);
        let (built_before, first_node) = (self.built_nodes.len(), graph.len() as u32);
        let mut build = |side: usize| {
            let mut inner = Level { joins_alone: false, ..level.clone() };
            inner.sides.insert((predicate, side));
            let numbers: Vec<usize> = merges
                .iter()
                .map(|merge| input_of_side(frame, *merge, (predicate, side)))
                .collect::<Result<_>>()?;
            let inputs = || merges.iter().copied().zip(numbers.iter().copied());
            let roots = inputs().map(|(merge, number)| input_node(frame, merge, number));
            let roots = roots.collect::<Result<Vec<_>>>()?;
            let results = |built: &AllBuilt<'g>| {
                inputs().map(|(merge, number)| input(frame, merge, number, built)).collect()
            };
            let values = self.import_region(frame, &roots, &inner, built, built_before, &results)?;
            let index = |number: usize| graph.constant_at(Tensor::scalar(number as i32), location);
            Ok(values.into_iter().zip(&numbers).flat_map(|(value, number)| [value, index(*number)]).collect())
        };
        let count = frame.switches.side_counts[&predicate];
        // An index is an integer, so a bool that selects among more than two branches is refused.
        let (op, branches) = branch_names(selector.dtype() != DType::Bool || count != 2, count);
        let branches: Vec<&str> = branches.iter().map(String::as_str).collect();
        let values = graph.select_branch(op, selector, &branches, false, &mut build, location)?;
        let name = frame.full_name(&frame.nodes[merges[0]]);
        self.place_regions(built_before, first_node);
        Ok(values
            .chunks(2)
            .map(|pair| Built::of(pair.iter().map(|value| value.named(&name)).collect()))
            .collect())
    }

    /// Imports the nodes of a region that `roots` need, and returns the values of `results`. Then removes the nodes,
    /// because nodes outside the region cannot read them. `built_before` is the number of nodes that the import had
    /// built before the node that holds the region.
    fn import_region(
        &mut self,
        frame: &Frame<'a, 'g>,
        roots: &[usize],
        level: &Level,
        built: &mut AllBuilt<'g>,
        built_before: usize,
        results: &dyn Fn(&AllBuilt<'g>) -> Result<Vec<ImportedValue<'g>>>,
    ) -> Result<Vec<Value<'g>>> {
        let order = frame.order(roots)?;
        let (conditions_before, first_built) = (self.conditions.len(), self.built_nodes.len());
        let added = self.build_level(frame, &order, level, built)?;
        let values: Result<Vec<Value<'g>>> = results(built).and_then(|results| {
            results
                .into_iter()
                .map(|value| self.with_pending_checks(value).and_then(require_usable))
                .collect()
        });
        // The nodes of a refused region are recorded too, because they leave the graph as well.
        let recorded = self.record_region(built_before, first_built, values.as_deref().ok());
        remove_nodes(&added, built);
        self.conditions.truncate(conditions_before);
        recorded.and(values)
    }

    /// Imports a loop: gives every `Exit` its value. Returns the `Exit` nodes.
    fn import_loop(
        &mut self,
        frame: &Frame<'a, 'g>,
        number: usize,
        level: &Level,
        built: &mut AllBuilt<'g>,
    ) -> Result<Vec<usize>> {
        let this_loop = &frame.switches.loops[number];
        let inner = Level { in_loop: Some(number), sides: level.sides.clone(), joins_alone: false };
        let mut state = Vec::with_capacity(this_loop.states.len());
        for part in &this_loop.states {
            let initial = built[part.enter].as_ref().and_then(|built| built.outputs.first());
            let Some(initial) = initial else {
                return damaged("a loop must be entered before it is left".to_string());
            };
            let initial = self.with_pending_checks(initial.clone())?;
            state.push(require_usable(initial)?);
        }
        let (graph, location) = (self.graph, self.location);
        let (options, needs_counter) = (self.options, self.sharing.is_random(frame.nodes));
        let (built_before, first_node) = (self.built_nodes.len(), graph.len() as u32);
        // Both closures import nodes, one after the other.
        let both = RefCell::new((self, built));
        let import = |state: &[Value<'g>], iteration, roots: &[usize]| -> Result<Vec<Value<'g>>> {
            let mut both = both.borrow_mut();
            let (importer, built) = &mut *both;
            let mut state_nodes = Vec::new();
            for (part, value) in this_loop.states.iter().zip(state) {
                for node in [Some(part.merge), part.switch].into_iter().flatten() {
                    built[node] = Some(Built::of(vec![*value, *value]));
                    state_nodes.push(node);
                }
            }
            let result = |built: Option<&Built<'g>>| match built.and_then(|built| built.outputs.first()) {
                Some(value) => Ok(value.clone()),
                None => damaged("a node of a loop must depend on the loop's state only".to_string()),
            };
            let results =
                |built: &AllBuilt<'g>| roots.iter().map(|root| result(built[*root].as_ref())).collect();
            importer.open_loops.push(iteration);
            let values = importer.import_region(frame, roots, &inner, built, built_before, &results);
            importer.open_loops.pop();
            remove_nodes(&state_nodes, built);
            values
        };
        let ends: Vec<usize> = this_loop.states.iter().map(|part| part.next).collect();
        let mut condition =
            |state: &[Value<'g>], iteration| Ok(import(state, iteration, &[this_loop.condition])?[0]);
        let mut body = |state: &[Value<'g>], iteration| import(state, iteration, &ends);
        let regions = CountedRegions { condition: &mut condition, body: &mut body, needs_counter };
        let values = counted_loop(graph, &options.loops, &state, regions, location)?;
        let (importer, built) = both.into_inner();
        importer.place_regions(built_before, first_node);
        let mut added = Vec::new();
        for (part, value) in this_loop.states.iter().zip(values) {
            if let Some(exit) = part.exit {
                let name = frame.full_name(&frame.nodes[exit]);
                built[exit] = Some(Built::of(vec![value.named(&name)]));
                added.push(exit);
            }
        }
        Ok(added)
    }
}

/// Returns whether the data of a `Switch` is its predicate.
fn is_read(frame: &Frame<'_, '_>, switch: usize, predicate: Predicate) -> bool {
    let data = frame.nodes[switch].input.first().and_then(|text| frame.source(text).ok());
    data.and_then(|source| predicate_from(frame, source)) == Some(predicate)
}

/// Removes nodes of a region that is closed.
fn remove_nodes(added: &[usize], built: &mut AllBuilt<'_>) {
    for &node in added {
        built[node] = None;
    }
}

fn require_usable(imported: ImportedValue<'_>) -> Result<Value<'_>> {
    match imported.blocking_error {
        Some(error) => Err(error),
        None => Ok(imported.value),
    }
}

fn input_node(frame: &Frame<'_, '_>, node: usize, number: usize) -> Result<usize> {
    match frame.nodes[node].input.get(number).map(|text| frame.source(text)) {
        Some(Ok(Source::Node(source, _))) => Ok(source),
        _ => damaged(format!("input {number} of {} must be the output of a node", frame.nodes[node].name)),
    }
}

/// Returns the value of an input.
fn input<'a, 'g>(
    frame: &Frame<'a, 'g>,
    node: usize,
    number: usize,
    built: &[Option<Built<'g>>],
) -> Result<ImportedValue<'g>> {
    let name = &frame.nodes[node].name;
    let Some(text) = frame.nodes[node].input.get(number) else {
        return damaged(format!("{name} must have more than {number}", number = counted(number, "input")));
    };
    let found = match frame.source(text)? {
        Source::Node(source, output) => built[source].as_ref().and_then(|built| built.outputs.get(output)),
        Source::Fed(source, output) => frame.fed.get(&(source, output)),
        Source::Argument(argument) => frame.args.get(argument),
        Source::Control(_) | Source::ControlArgument(_) => None,
    };
    match found {
        Some(imported) => Ok(imported.clone()),
        None => damaged(format!("input {number} of {name} is {text}, which does not exist")),
    }
}

/// Returns the number of the input of a `Merge` that comes from this side.
fn input_of_side(frame: &Frame<'_, '_>, merge: usize, side: (Predicate, usize)) -> Result<usize> {
    let comes = |number: &usize| sides_of(frame, merge, *number).is_some_and(|sides| sides.contains(&side));
    match (0..frame.nodes[merge].input.len()).find(comes) {
        Some(number) => Ok(number),
        None => damaged("a Merge must have an input from each side of its predicate".to_string()),
    }
}

/// Returns the sides of predicates on which an input of a `Merge` is computed.
fn sides_of(frame: &Frame<'_, '_>, merge: usize, number: usize) -> Option<BTreeSet<(Predicate, usize)>> {
    let Ok(Source::Node(source, output)) = frame.source(frame.nodes[merge].input.get(number)?) else {
        return None;
    };
    let mut sides = frame.switches.places.get(&source)?.sides.clone();
    if frame.switches.roles.get(&source) == Some(&Role::Switch) {
        sides.insert((predicate(frame, source)?, output));
    }
    Some(sides)
}
