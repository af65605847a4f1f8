//! Finds the loops and branches of TensorFlow 1 in a frame.

use std::collections::{BTreeSet, HashMap};

use super::super::proto::AttrKind;
use super::frame::{Frame, Source, damaged};
use super::switches::{Loop, LoopState, Place, Predicate, Role, Switches};
use crate::error::Result;

impl Switches {
    /// Finds the loops of a frame. [`Switches::place`] finds the places of the nodes later.
    ///
    /// # Errors
    /// A loop lacks a condition or a `NextIteration` node, or a `_SwitchN` has an impossible number of outputs.
    pub(super) fn find(frame: &Frame<'_, '_>) -> Result<Switches> {
        let mut this = Switches::default();
        let data = |node: usize, input: usize| match frame.source(frame.nodes[node].input.get(input)?) {
            Ok(Source::Node(source, output)) => Some((source, output)),
            _ => None,
        };
        let op = |node: usize| frame.nodes[node].op.trim_start_matches("Ref");
        let mut by_name: HashMap<&[u8], usize> = HashMap::new();
        for (index, node) in frame.nodes.iter().enumerate() {
            let role = match op(index) {
                "Enter" | "LoopCond" | "NextIteration" => Role::Pass,
                "Switch" | "_SwitchN" => Role::Switch,
                // `Switches::place` finds the predicate.
                "Merge" => Role::Plain,
                _ => continue,
            };
            this.roles.insert(index, role);
            if role == Role::Switch {
                let count = side_count(frame, index)?;
                this.side_counts.extend(predicate(frame, index).map(|predicate| (predicate, count)));
            }
            if op(index) == "Enter" {
                let name: &[u8] = match node.attr.get("frame_name").and_then(|attr| attr.value.as_ref()) {
                    Some(AttrKind::S(name)) => name,
                    _ => b"",
                };
                let number = *by_name.entry(name).or_insert_with(|| {
                    this.loops.push(Loop { states: Vec::new(), condition: usize::MAX, enters: Vec::new() });
                    this.loops.len() - 1
                });
                this.loops[number].enters.push(index);
                this.loop_of_enter.insert(index, number);
            }
        }
        for merge in (0..frame.nodes.len()).filter(|index| op(*index) == "Merge") {
            let sources: Vec<(usize, usize)> = (0..2)
                .filter_map(|input| Some((input, data(merge, input)?.0)))
                .filter(|(_, source)| matches!(op(*source), "Enter" | "NextIteration"))
                .collect();
            let enter = sources.iter().find(|(_, source)| op(*source) == "Enter");
            let Some(&(_, enter)) = enter else { continue };
            let Some(&(input, next)) = sources.iter().find(|(_, source)| op(*source) == "NextIteration")
            else {
                let name = &frame.nodes[merge].name;
                return damaged(format!("the Merge {name} must have an input from a NextIteration"));
            };
            this.back.insert((merge, input));
            this.roles.insert(merge, Role::State);
            let number = this.loop_of_enter[&enter];
            this.loops[number].states.push(LoopState { merge, enter, next, switch: None, exit: None });
        }
        for index in 0..frame.nodes.len() {
            let Some((source, output)) = data(index, 0) else { continue };
            let mut states = this.loops.iter_mut().enumerate().flat_map(|(number, this_loop)| {
                let condition = &mut this_loop.condition;
                let found = this_loop.states.iter_mut().find(|state| match op(index) {
                    "Switch" => state.merge == source,
                    _ => op(source) == "Switch" && data(source, 0) == Some((state.merge, 0)),
                });
                found.map(|state| (number, state, condition))
            });
            match op(index) {
                "Switch" => {
                    let (Some((_, state, condition)), Some((predicate, _))) = (states.next(), data(index, 1))
                    else {
                        continue;
                    };
                    // A branch in a loop may switch a state value too.
                    if op(predicate) == "LoopCond" {
                        (state.switch, *condition) = (Some(index), predicate);
                        drop(states);
                        this.roles.insert(index, Role::State);
                    }
                }
                "Exit" if output == 0 => {
                    let Some((number, state, _)) = states.next() else { continue };
                    state.exit = Some(index);
                    drop(states);
                    this.roles.insert(index, Role::Exit(number));
                }
                _ => {}
            }
        }
        for this_loop in &this.loops {
            if this_loop.condition == usize::MAX {
                let name = &frame.nodes[this_loop.enters[0]].name;
                return damaged(format!("the loop that {name} enters must have a LoopCond"));
            }
            let ends: Vec<usize> =
                this_loop.states.iter().map(|state| state.next).chain([this_loop.condition]).collect();
            for state in &this_loop.states {
                this.predecessors.insert(state.merge, this_loop.enters.clone());
                this.predecessors.extend(state.exit.map(|exit| (exit, ends.clone())));
            }
        }
        Ok(this)
    }

    /// Finds the places of all nodes in `order`, a topological order, and the predicates of `Merge` nodes.
    ///
    /// # Errors
    /// A `Merge` does not join all sides of a predicate.
    pub(super) fn place(&mut self, frame: &Frame<'_, '_>, order: &[usize]) -> Result<()> {
        // For each loop: the index of the next outer loop, and the nesting depth of the loop's nodes.
        let mut outer_loops: Vec<Option<usize>> = vec![None; self.loops.len()];
        let mut depths = vec![1usize; self.loops.len()];
        for &index in order {
            let mut place = Place::default();
            let mut sides_of_inputs = Vec::new();
            for input in &frame.nodes[index].input {
                let (source, output) = match frame.source(input) {
                    Ok(Source::Node(source, output)) => (source, Some(output)),
                    Ok(Source::Control(source)) => (source, None),
                    _ => continue,
                };
                let Some(known) = self.places.get(&source) else { continue };
                let mut sides = known.sides.clone();
                if let (Some(Role::Switch), Some(output)) = (self.roles.get(&source), output)
                    && let Some(predicate) = predicate(frame, source)
                {
                    sides.insert((predicate, output));
                }
                let entered = self.loop_of_enter.get(&source).copied().or(known.in_loop);
                let depth = |number: Option<usize>| number.map_or(0, |number| depths[number]);
                if depth(entered) > depth(place.in_loop) {
                    place.in_loop = entered;
                }
                place.sides.extend(sides.iter().copied());
                sides_of_inputs.push(sides);
            }
            match self.roles.get(&index).copied() {
                Some(Role::Exit(number)) => place.in_loop = outer_loops[number],
                Some(Role::Merge(joined)) => place.sides.retain(|(predicate, _)| *predicate != joined),
                Some(Role::State) => {
                    for predecessor in self.predecessors.get(&index).into_iter().flatten() {
                        place
                            .sides
                            .extend(self.places.get(predecessor).into_iter().flat_map(|place| &place.sides));
                    }
                }
                Some(Role::Plain) => {
                    let joined = place.sides.iter().map(|(predicate, _)| *predicate).find(|predicate| {
                        let is_on = |sides: &BTreeSet<(Predicate, usize)>, side: usize| {
                            let mut on = sides.iter().filter(|(other, _)| other == predicate);
                            on.next() == Some(&(*predicate, side)) && on.next().is_none()
                        };
                        (0..self.side_counts[predicate])
                            .all(|side| sides_of_inputs.iter().any(|sides| is_on(sides, side)))
                    });
                    let Some(joined) = joined else {
                        let name = &frame.nodes[index].name;
                        return damaged(format!("the Merge {name} must join all sides of a Switch"));
                    };
                    place.sides.retain(|(predicate, _)| *predicate != joined);
                    self.roles.insert(index, Role::Merge(joined));
                }
                _ => {}
            }
            if let Some(&number) = self.loop_of_enter.get(&index) {
                outer_loops[number] = place.in_loop;
                depths[number] = place.in_loop.map_or(0, |number| depths[number]) + 1;
            }
            self.places.insert(index, place);
        }
        Ok(())
    }
}

/// Returns the number of outputs of a `Switch` or `_SwitchN`, one for each side.
///
/// # Errors
/// There is no output, or there are more than the frame has nodes: each side has a node at least.
pub(super) fn side_count(frame: &Frame<'_, '_>, switch: usize) -> Result<usize> {
    let node = &frame.nodes[switch];
    let Some(AttrKind::I(count)) = node.attr.get("num_outs").and_then(|attr| attr.value.as_ref()) else {
        return Ok(2);
    };
    match usize::try_from(*count) {
        Ok(count) if (1..=frame.nodes.len()).contains(&count) => Ok(count),
        _ => damaged(format!("num_outs of {} must be the number of its branches, got {count}", node.name)),
    }
}

/// Returns the predicate of a `Switch`: the tensor that the `Switch` reads directly or through `Identity` nodes.
pub(super) fn predicate(frame: &Frame<'_, '_>, switch: usize) -> Option<Predicate> {
    let mut tensor = frame.nodes[switch].input.get(1)?;
    loop {
        match frame.source(tensor).ok()? {
            Source::Node(node, _) if frame.nodes[node].op == "Identity" => {
                tensor = frame.nodes[node].input.first()?;
            }
            source => return predicate_from(frame, source),
        }
    }
}

/// Returns the tensor that an input names as a predicate; `None` for a control edge.
pub(super) fn predicate_from(frame: &Frame<'_, '_>, source: Source<'_>) -> Option<Predicate> {
    match source {
        Source::Node(node, output) | Source::Fed(node, output) => Some(Predicate::Node(node, output)),
        Source::Argument(name) => frame.parameters.binary_search(&name).ok().map(Predicate::Argument),
        Source::Control(_) | Source::ControlArgument(_) => None,
    }
}
