//! [`Groups`]: the sets of a tensor. The last axis lists the elements of each set.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::ops::integers::ints;
use crate::tensor::TensorView;

/// Sets, found by their indices along the leading axes.
pub(super) struct Groups {
    /// The sizes of the leading axes.
    pub sizes: Vec<i64>,
    /// The sets that are not empty.
    pub sets: BTreeMap<Vec<i64>, BTreeSet<i64>>,
}

fn wrong<T>(message: String) -> Result<T> {
    Err(index_error(message))
}

fn index_error(message: String) -> Error {
    Error::new(ErrorKind::Index, Phase::Run, message)
}

/// Returns whether indices must ascend: attribute `validate_indices`, which is true by default.
pub(super) fn is_validated(cx: &HostCx<'_>) -> bool {
    cx.attrs().bool("validate_indices")
}

/// Checks that the indices of a sparse tensor lie within these sizes and, if `ascending`, that they ascend. Operand
/// `operand` has the indices.
///
/// # Errors
/// An index is out of range or out of order.
pub(super) fn check_indices(operand: usize, rows: &[&[i64]], sizes: &[i64], ascending: bool) -> Result<()> {
    for (number, row) in rows.iter().enumerate() {
        if row.iter().zip(sizes).any(|(index, size)| !(0..*size).contains(index)) {
            let error = index_error(format!("an index must lie within {sizes:?}, got {row:?}"));
            return Err(error.in_element(operand, &format!(" at [{number}]")));
        }
    }
    match rows.windows(2).position(|pair| ascending && pair[0] >= pair[1]) {
        Some(before) => {
            let (index, earlier) = (rows[before + 1], rows[before]);
            let error = index_error(format!("indices must ascend, got {index:?} after {earlier:?}"));
            Err(error.in_element(operand, &format!(" at [{}]", before + 1)))
        }
        None => Ok(()),
    }
}

impl Groups {
    /// Reads the sets of a dense tensor.
    pub(super) fn of_dense(x: &TensorView<'_>) -> Result<Groups> {
        let Some((count, leading)) = x.sizes().split_last() else {
            return wrong("sets must have rank at least 2, got a scalar".to_string());
        };
        let sizes: Vec<i64> = leading.iter().map(|size| *size as i64).collect();
        let mut sets = BTreeMap::new();
        let mut group = vec![0i64; sizes.len()];
        for set in ints(x).chunks_exact((*count).max(1)) {
            sets.insert(group.clone(), set.iter().cloned().collect());
            for axis in (0..sizes.len()).rev() {
                group[axis] += 1;
                if group[axis] < sizes[axis] {
                    break;
                }
                group[axis] = 0;
            }
        }
        Ok(Groups { sizes, sets })
    }

    /// Reads the sets of the sparse tensor in operands `first` (indices), `first + 1` (elements) and `first + 2`
    /// (sizes).
    ///
    /// # Errors
    /// The operands do not fit each other, an index is out of range, or the indices do not ascend.
    pub(super) fn of_sparse(cx: &HostCx<'_>, first: usize) -> Result<Groups> {
        let (indices, sizes) = (ints(&cx.input(first)?), ints(&cx.input(first + 2)?));
        let members = ints(&cx.input(first + 1)?);
        let Some((_, leading)) = sizes.split_last() else {
            return wrong("the sizes of a sparse tensor must not be empty".to_string());
        };
        if indices.len() != members.len() * sizes.len() {
            return wrong(format!("there must be one index of {} numbers per element", sizes.len()));
        }
        let rows: Vec<&[i64]> = indices.chunks_exact(sizes.len()).collect();
        check_indices(first, &rows, &sizes, is_validated(cx))?;
        let mut sets: BTreeMap<Vec<i64>, BTreeSet<i64>> = BTreeMap::new();
        for (row, member) in rows.iter().zip(members) {
            sets.entry(row[..leading.len()].to_vec()).or_default().insert(member);
        }
        Ok(Groups { sizes: leading.to_vec(), sets })
    }
}
