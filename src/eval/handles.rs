//! [`HandleTable`]: the strings of a call's operands by handle, so that integers move in their place.

use rustc_hash::FxHashMap;
use shapeflow_shape_fns::DType;

use super::Template;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, ExprKind};
use crate::op::StringHandles;
use crate::tensor::{StringsBuilder, Tensor, TensorView};

/// The dtype of handles.
pub(super) const HANDLE: DType = DType::I64;

/// Returns the dtype of the elements that stand for elements of `dtype`: handles for strings.
pub(super) fn handle_dtype(dtype: DType) -> DType {
    if dtype == DType::String { HANDLE } else { dtype }
}

/// Returns the guarantee that a body needs from the handles of strings.
pub(super) fn needed_handles<'e>(order: impl IntoIterator<Item = &'e Expr>) -> StringHandles {
    let needed = order.into_iter().map(|expr| match expr.kind() {
        ExprKind::Binary(BinaryOp::Eq | BinaryOp::Ne, a, _) if a.dtype() == DType::String => {
            StringHandles::Equality
        }
        ExprKind::Binary(_, a, _) if a.dtype() == DType::String => StringHandles::Order,
        _ => StringHandles::Any,
    });
    needed.max().unwrap_or(StringHandles::Any)
}

/// Returns whether a body moves strings and does nothing else with them.
pub(crate) fn only_moves_strings(template: &Template) -> bool {
    needed_handles(&template.order) == StringHandles::Any
}

/// The strings of a call's operands, and the handles that stand for them.
pub(super) struct HandleTable<'a> {
    /// The string of each handle.
    strings: Vec<&'a [u8]>,
    /// For each operand: the handles of its elements; `None` for operands of other dtypes.
    operands: Vec<Option<Tensor>>,
}

impl<'a> HandleTable<'a> {
    /// Gives every string of the operands a handle.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn new(operands: &[TensorView<'a>], needed: StringHandles) -> Result<HandleTable<'a>> {
        let mut table = HandleTable { strings: vec![&[]], operands: Vec::with_capacity(operands.len()) };
        let ranks = match needed {
            StringHandles::Order => table.rank(operands)?,
            StringHandles::Any | StringHandles::Equality => FxHashMap::default(),
        };
        let mut known: FxHashMap<&[u8], i64> = FxHashMap::from_iter([(&[][..], 0)]);
        for operand in operands {
            if operand.dtype() != DType::String {
                table.operands.push(None);
                continue;
            }
            let mut handles = Tensor::allocate(HANDLE, operand.sizes())?;
            for (handle, string) in
                handles.as_mut_slice::<i64>()?.iter_mut().zip(operand.as_strings()?.iter())
            {
                let next = table.strings.len() as i64;
                *handle = match needed {
                    StringHandles::Any => next,
                    StringHandles::Equality => *known.entry(string).or_insert(next),
                    StringHandles::Order => ranks[string],
                };
                if *handle == next {
                    table.strings.push(string);
                }
            }
            table.operands.push(Some(handles));
        }
        Ok(table)
    }

    /// Numbers the distinct strings in ascending order. The empty string is the least.
    fn rank(&mut self, operands: &[TensorView<'a>]) -> Result<FxHashMap<&'a [u8], i64>> {
        for operand in operands.iter().filter(|operand| operand.dtype() == DType::String) {
            self.strings.extend(operand.as_strings()?.iter());
        }
        self.strings.sort_unstable();
        self.strings.dedup();
        Ok(self.strings.iter().enumerate().map(|(rank, string)| (*string, rank as i64)).collect())
    }

    /// Returns the operands with handles in the place of strings.
    pub(super) fn views<'t>(&'t self, operands: &[TensorView<'t>]) -> Vec<TensorView<'t>> {
        let handles = self.operands.iter().zip(operands);
        handles
            .map(|(handles, operand)| handles.as_ref().map_or_else(|| operand.clone(), Tensor::view))
            .collect()
    }

    /// Returns the strings that handles stand for.
    ///
    /// # Errors
    /// Memory is refused.
    pub(super) fn strings(&self, handles: &Tensor) -> Result<Tensor> {
        let handles = (handles.sizes(), handles.as_slice::<i64>()?);
        let string = |handle: &i64| self.strings[usize::try_from(*handle).expect("handles are positions")];
        let bytes = handles.1.iter().map(|handle| string(handle).len()).sum();
        let mut strings = StringsBuilder::with_capacity(handles.1.len(), bytes)?;
        for handle in handles.1 {
            strings.push(string(handle))?;
        }
        strings.finish(handles.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_give_the_guarantee_that_the_body_needs() {
        let x = Tensor::from_strings(&[4], &["b", "", "a", "b"]).unwrap();
        let y = Tensor::from_strings(&[1], &["a"]).unwrap();
        let numbers = Tensor::from([1.5f32]);
        let operands = [x.view(), numbers.view(), y.view()];
        for (needed, expected) in [
            (StringHandles::Any, [[1, 2, 3, 4], [5, 0, 0, 0]]),
            (StringHandles::Equality, [[1, 0, 2, 1], [2, 0, 0, 0]]),
            (StringHandles::Order, [[2, 0, 1, 2], [1, 0, 0, 0]]),
        ] {
            let table = HandleTable::new(&operands, needed).unwrap();
            let views = table.views(&operands);
            assert_eq!(views[0].as_slice::<i64>().unwrap(), expected[0]);
            assert_eq!(views[1].as_slice::<f32>().unwrap(), [1.5]);
            assert_eq!(views[2].as_slice::<i64>().unwrap(), &expected[1][..1]);
            assert_eq!(table.strings(&views[0].to_tensor().unwrap()).unwrap(), x);
            let empty = table.strings(&Tensor::from([[0i64]])).unwrap();
            assert_eq!(empty, Tensor::from_strings(&[1, 1], &[""]).unwrap());
        }
    }
}
