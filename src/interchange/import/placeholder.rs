//! Imports placeholders as inputs, with the shapes that the import options give them.
//!
//! A `Frame` is the main graph or one call of a function: the nodes, their names and the attributes of the call.

use std::collections::BTreeSet;

use shapeflow_shape_fns::TensorShape;

use super::built::Built;
use super::frame::{Frame, damaged};
use super::importer::Importer;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::interchange::options::GIVEN_SHAPE;
use crate::interchange::proto::AttrKind;
use crate::interchange::shape;
use crate::nearest::nearest;
use crate::op::dtype_number::{self, dtype_of};

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns the shape that the options give the placeholder or fed tensor `name`, if there is one.
    pub(super) fn override_of(&self, name: &str) -> Option<&'a TensorShape> {
        let shapes = self.options.shapes.iter().rev();
        shapes
            .into_iter()
            .find(|(tensor, _)| tensor.strip_suffix(":0").unwrap_or(tensor) == name)
            .map(|(_, shape)| shape)
    }

    /// Checks that the options give shapes only to placeholders and fed tensors.
    ///
    /// # Errors
    /// The options give a shape to a name that is neither a placeholder nor a fed tensor.
    pub(super) fn check_overrides(
        &self,
        frame: &Frame<'a, 'g>,
        fed: &BTreeSet<(usize, usize)>,
    ) -> Result<()> {
        for (name, given) in &self.options.shapes {
            let node = name.strip_suffix(":0").unwrap_or(name);
            let found = frame.by_name.get(node).and_then(|index| frame.nodes.get(*index));
            let is_fed = frame.tensor(name).is_some_and(|tensor| fed.contains(&tensor));
            if !is_fed && found.is_none_or(|node| !is_placeholder(&node.op)) {
                let inputs = frame.nodes.iter().filter(|node| is_placeholder(&node.op));
                let names: Vec<&str> = inputs.map(|node| node.name.as_str()).take(16).collect();
                let message = format!(
                    "only placeholders and fed tensors may be given shapes, got {name}; placeholders are {}",
                    names.join(", ")
                );
                let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
                let served = self.input_names.values().copied();
                return Err(match nearest(name, served.chain(names.iter().copied())) {
                    Some(near) => error.with_help(format!("is it {near:?}?")),
                    None => error,
                });
            }
            if let Some(index) = frame.by_name.get(node) {
                self.check_declared(frame, *index, given)?;
            }
        }
        Ok(())
    }

    /// Checks that a given shape has the rank that the model declares for a placeholder. Its sizes may differ.
    fn check_declared(&self, frame: &Frame<'a, 'g>, index: usize, given: &TensorShape) -> Result<()> {
        let declared = self.declared_shape(frame, index)?;
        let (Some(expected), Some(got)) = (declared.rank(), given.rank()) else { return Ok(()) };
        if expected == got {
            return Ok(());
        }
        let name = frame.nodes[index].name.as_str();
        let name = self.input_names.get(name).copied().unwrap_or(name);
        let message =
            format!("{name} is declared {declared}: the rank must be {expected}, got {got} in {given}");
        Err(Error::new(ErrorKind::Shape, Phase::Build, message))
    }

    /// Returns the shape that the model declares for a placeholder; of unknown rank for any other node.
    fn declared_shape(&self, frame: &Frame<'a, 'g>, index: usize) -> Result<TensorShape> {
        let producer = self.model.versions.as_ref().map_or(self.model.version, |versions| versions.producer);
        match frame.attr(index, "shape") {
            _ if !is_placeholder(&frame.nodes[index].op) => Ok(TensorShape::unranked()),
            // Producers up to version 21 wrote an unknown rank as a scalar shape.
            Some(AttrKind::Shape(proto)) if producer <= 21 && proto.dim.is_empty() => {
                Ok(TensorShape::unranked())
            }
            Some(AttrKind::Shape(proto)) => shape::from_proto(proto, &self.budget),
            _ => Ok(TensorShape::unranked()),
        }
    }

    /// Adds to the error of a refused node the shapes that the options give to the placeholders that the node needs.
    pub(super) fn with_given_shapes(&self, frame: &Frame<'a, 'g>, index: usize, error: Error) -> Error {
        if self.options.shapes.is_empty() || frame.depth > 0 {
            return error;
        }
        // The inputs of the nodes that are already built exist and form no cycle.
        let Ok(needed) = frame.order(&[index]) else { return error };
        needed.into_iter().fold(error, |error, needed| {
            let node = &frame.nodes[needed];
            let given = self.override_of(&node.name).filter(|_| is_placeholder(&node.op));
            let Some(given) = given else { return error };
            let declared = match frame.attr(needed, "shape") {
                Some(AttrKind::Shape(proto)) => shape::from_proto(proto, &self.budget).ok(),
                _ => None,
            };
            let declared = declared.map_or_else(String::new, |shape| format!("; the model declares {shape}"));
            let name = &node.name;
            let name = self.input_names.get(name.as_str()).copied().unwrap_or(name);
            error.note(format!("{name}{GIVEN_SHAPE}{given}{declared}"), None)
        })
    }

    /// Imports a placeholder as an input of the graph.
    pub(super) fn placeholder(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
    ) -> Result<Built<'g>> {
        let number = match frame.attr(index, "dtype") {
            Some(AttrKind::Type(number)) => *number,
            _ => return damaged("a placeholder must have a dtype".to_string()),
        };
        let Some(dtype) = dtype_of(number) else {
            let message = format!("a placeholder of {} is not supported", dtype_number::text_of(number));
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        };
        let shape = match self.override_of(name) {
            Some(shape) => shape.clone(),
            None => self.declared_shape(frame, index)?,
        };
        let input = self.input_names.get(name).copied().unwrap_or(name);
        let value = self.graph.input_at(input, dtype, shape, self.location)?;
        Ok(Built { is_input: true, ..Built::of(vec![value]) })
    }
}

/// Returns whether the op type is a placeholder.
pub(super) fn is_placeholder(op: &str) -> bool {
    matches!(op, "Placeholder" | "PlaceholderV2" | "PlaceholderWithDefault")
}
