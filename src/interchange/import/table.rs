//! Imports lookup tables: nodes that make, fill and read them.

use std::ops::Range;
use std::rc::Rc;

use shapeflow_shape_fns::counted;

use super::super::proto::AttrKind;
use super::super::shape;
use super::super::vocabulary::Vocabulary;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::handle::{Buckets, Resource, TableResource};
use super::importer::Importer;
use super::resource::resource_name;
use super::state::TableContent;
use super::structural::is_structural;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::dtype_number::dtype_of;
use crate::ops::array::LookupTable;
use crate::ragged::take_rows;
use crate::tensor::Tensor;

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node that makes, fills or reads a lookup table; returns `None` for any other node.
    ///
    /// # Errors
    /// The node changes a table, or reads one whose content only TensorFlow computes.
    pub(super) fn table_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Option<Built<'g>>> {
        let op = frame.nodes[index].op.as_str();
        let op = op.strip_suffix("V2").unwrap_or(op);
        if is_table(op) {
            let dtype = |attr| match frame.attr(index, attr) {
                Some(AttrKind::Type(number)) => dtype_of(*number),
                _ => None,
            };
            let (Some(key), Some(value)) = (dtype("key_dtype"), dtype("value_dtype")) else {
                return damaged("a table must have the attributes key_dtype and value_dtype".to_string());
            };
            let value_sizes = self.value_sizes(frame, index)?;
            let buckets = op.ends_with("DenseHashTable").then(|| Buckets {
                reserved: inputs.iter().map(|key| self.constant_tensor(key.value)).collect(),
            });
            let is_fixed = op.strip_prefix("Anonymous").unwrap_or(op) == "HashTable";
            let resource = resource_name(frame, index, name);
            let table = TableResource { name: resource, key, value, is_fixed, value_sizes, buckets };
            return self.handle(frame, index, name, inputs, &[Resource::Table(Rc::new(table))]).map(Some);
        }
        // A node that reads the table returns the error. A model may have tables that no imported node reads.
        let kept = |error: Error| match error.kind() {
            ErrorKind::Memory => Err(error),
            _ => Ok(TableContent::Refused(error)),
        };
        let Some((table, rest)) = inputs.split_first() else { return Ok(None) };
        let Some(Resource::Table(table)) = table.resource.clone() else { return Ok(None) };
        // These nodes pass the table on.
        if is_structural(op)
            || op == "Identity"
            || self.functions.contains_key(frame.nodes[index].op.as_str())
        {
            return Ok(None);
        }
        let built = match (op, rest) {
            ("LookupTableFind", [keys, default]) => {
                let content = self.table(&table, name)?;
                Built::of(vec![keys.value.lookup(&content.0, default.value)?.named(name)])
            }
            ("LookupTableSize", _) => {
                let size = Tensor::scalar(self.table(&table, name)?.0.len() as i64);
                Built::of(vec![self.graph.constant_at(size, self.location).named(name)])
            }
            ("LookupTableExport", _) if table.buckets.is_some() => {
                let message = format!(
                    "the table {} must only be searched, got {op}: it gives the buckets in TensorFlow's order",
                    table.name
                );
                return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
            }
            ("LookupTableExport", _) => {
                let (_, keys, values) = self.table(&table, name)?;
                let constants = [keys, values].map(|tensor| self.graph.constant_at(tensor, self.location));
                Built::of(constants.to_vec())
            }
            ("InitializeTable" | "LookupTableImport", [keys, values]) if self.recording.is_some() => {
                let content = self.content(keys, values, name).or_else(kept)?;
                self.record_table(table.name.clone(), content);
                Built::default()
            }
            // The nodes that read the table in the function have a control input from this node.
            ("InitializeTable", [keys, values]) if !self.source.is_saved_model && frame.depth > 0 => {
                let content = self.content(keys, values, name)?;
                let before = self.filled_in_functions.insert(table.name.clone(), content.clone());
                if let (Some(TableContent::Known(before)), TableContent::Known(content)) = (before, content)
                    && before != content
                {
                    let message =
                        format!("a table must be filled once, got two contents for the table {}", table.name);
                    return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
                }
                Built::default()
            }
            // `initial_content` has the content of a table of the main graph. A reader of the table may have a control
            // input from this node.
            ("InitializeTable", _) if !self.source.is_saved_model => Built::default(),
            ("InitializeTableFromTextFile", [file]) if self.recording.is_some() => {
                let content = match self.constant_tensor(file.value) {
                    Some(path) => self.vocabulary(frame, index, &path, &table).or_else(kept)?,
                    None => TableContent::Unknown(name.to_string()),
                };
                self.record_table(table.name.clone(), content);
                Built::default()
            }
            _ if self.recording.is_some() => {
                self.record_table(table.name.clone(), TableContent::Unknown(name.to_string()));
                return Ok(None);
            }
            _ => {
                let message = format!(
                    "the table {} must only be read, got {op}: a graph does not change tables",
                    table.name
                );
                return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
            }
        };
        Ok(Some(built))
    }

    /// Returns the content of a table that the node `name` fills.
    ///
    /// # Errors
    /// The content is damaged in the checkpoint.
    fn content(
        &self,
        keys: &ImportedValue<'g>,
        values: &ImportedValue<'g>,
        name: &str,
    ) -> Result<TableContent> {
        Ok(match (self.initial_tensor(keys)?, self.initial_tensor(values)?) {
            (Some(keys), Some(values)) => TableContent::Known(Box::new([keys, values])),
            _ => TableContent::Unknown(name.to_string()),
        })
    }

    /// Returns the sizes of a value of a table; none for a scalar.
    ///
    /// # Errors
    /// The shape of a value is damaged or not known.
    fn value_sizes(&self, frame: &Frame<'a, 'g>, index: usize) -> Result<Vec<usize>> {
        let Some(AttrKind::Shape(proto)) = frame.attr(index, "value_shape") else { return Ok(Vec::new()) };
        let shape = shape::from_proto(proto, &self.budget)?;
        match shape.as_known() {
            Some(sizes) => Ok(sizes.to_vec()),
            None => damaged(format!("the values of a table must have a known shape, got {shape}")),
        }
    }

    /// Reads the keys and values of a table from a file of the model's assets.
    fn vocabulary(
        &self,
        frame: &Frame<'a, 'g>,
        index: usize,
        path: &Tensor,
        table: &TableResource,
    ) -> Result<TableContent> {
        let path = match path.as_strings() {
            Ok(paths) if paths.len() == 1 => String::from_utf8_lossy(&paths[0]).into_owned(),
            _ => return damaged("the path of a vocabulary file must be one string".to_string()),
        };
        let Some(asset) = self.saved.assets.values().find(|asset| asset.to_string_lossy() == path) else {
            let message = format!("the vocabulary file {path} must be an asset of the model");
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        };
        let int = |name: &str, default: i64| match frame.attr(index, name) {
            Some(AttrKind::I(value)) => *value,
            _ => default,
        };
        let delimiter = match frame.attr(index, "delimiter") {
            Some(AttrKind::S(delimiter)) => delimiter.to_vec(),
            _ => b"\t".to_vec(),
        };
        let vocabulary = Vocabulary {
            key_column: int("key_index", -2),
            value_column: int("value_index", -2),
            size: int("vocab_size", -1),
            first_number: int("offset", 0),
            delimiter,
        };
        let (keys, values) = vocabulary.read(asset, table.key, table.value, &self.budget.limits)?;
        Ok(TableContent::Known(Box::new([keys, values])))
    }

    /// Returns a table with its keys and values. All nodes that read the table share it.
    fn table(&mut self, handle: &TableResource, reader: &str) -> Result<(LookupTable, Tensor, Tensor)> {
        if let Some(table) = self.tables.get(&handle.name) {
            return Ok(table.clone());
        }
        let (keys, values) = match self.initial_content(&handle.name)? {
            Some(content) => content,
            // A table that the program may change is empty before anything fills it.
            None if self.source.is_saved_model && !handle.is_fixed => {
                let sizes: Vec<usize> = [0].into_iter().chain(handle.value_sizes.iter().copied()).collect();
                (Tensor::zeros(handle.key, &[0])?, Tensor::zeros(handle.value, &sizes)?)
            }
            None => {
                let by = match self.source.is_saved_model {
                    true => "the op that initializes the model",
                    false => "a node InitializeTableV2 of the graph",
                };
                let message =
                    format!("{by} must fill the table {}, got none; {reader} reads it", handle.name);
                return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
            }
        };
        if (keys.dtype(), values.dtype()) != (handle.key, handle.value) {
            let message = format!(
                "the table {} must map {} to {}, got {} and {}; {reader} reads it",
                handle.name,
                handle.key,
                handle.value,
                keys.dtype(),
                values.dtype()
            );
            return Err(Error::new(ErrorKind::DType, Phase::Build, message));
        }
        let keys = keys.reshape(&[keys.len()])?;
        let (keys, values, table) = match &handle.buckets {
            Some(buckets) => {
                let (keys, values) = in_use(handle, buckets, &keys, &values)?;
                let reserved = buckets.reserved.as_deref().unwrap_or_default();
                let table = LookupTable::with_refused_keys(&keys, &values, reserved)?;
                (keys, values, table)
            }
            None => {
                // Tables with the same content share one table, so that equal lookups run once.
                let equal = self.tables.values().find(|(table, other, their)| {
                    !table.refuses_keys() && *other == keys && *their == values
                });
                let table = match equal {
                    Some((table, ..)) => table.clone(),
                    None => LookupTable::new(&keys, &values)?,
                };
                if handle.is_fixed {
                    let checked = table.check_repeated(&keys, &values);
                    checked.map_err(|error| error.about(format_args!("the table {}", handle.name)))?;
                }
                (keys, values, table)
            }
        };
        let entry = (table, keys, values);
        self.tables.insert(handle.name.clone(), entry.clone());
        Ok(entry)
    }
}

/// Returns the keys and values of the buckets that are in use.
///
/// # Errors
/// The keys and values do not fit the table, or the keys that mark unused buckets (the empty and the deleted key) are
/// not constants.
fn in_use(
    table: &TableResource,
    buckets: &Buckets,
    keys: &Tensor,
    values: &Tensor,
) -> Result<(Tensor, Tensor)> {
    let (table, value_sizes) = (&table.name, &table.value_sizes);
    let Some(reserved) = &buckets.reserved else {
        let message = format!("the empty key and the deleted key of the table {table} must be constants");
        return Err(Error::new(ErrorKind::Compile, Phase::Build, message));
    };
    let count = value_sizes.iter().try_fold(keys.len(), |count, size| count.checked_mul(*size));
    if count != Some(values.len()) || reserved.iter().any(|key| key.len() != 1) {
        let message = format!(
            "the table {table} must have scalar keys, and values of sizes {:?}, got {} and values of sizes {:?}",
            value_sizes,
            counted(keys.len(), "key"),
            values.sizes()
        );
        return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
    }
    let sizes: Vec<usize> = [keys.len()].into_iter().chain(value_sizes.iter().copied()).collect();
    let values = values.reshape(&sizes)?;
    let mut rows: Vec<Range<usize>> = Vec::new();
    for position in 0..keys.len() {
        let key = keys.view().rows(position..position + 1).to_tensor()?;
        let is_reserved =
            reserved.iter().any(|reserved| reserved.reshape(&[1]).is_ok_and(|other| other == key));
        if !is_reserved {
            rows.push(position..position + 1);
        }
    }
    Ok((take_rows(keys.view(), &rows)?, take_rows(values.view(), &rows)?))
}

/// Returns whether an op makes a lookup table.
fn is_table(op: &str) -> bool {
    let op = op.strip_prefix("Anonymous").unwrap_or(op);
    matches!(op, "HashTable" | "MutableHashTable" | "MutableHashTableOfTensors" | "MutableDenseHashTable")
}
