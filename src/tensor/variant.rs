//! Variant tensors, whose elements are [`TensorList`]s.

use std::sync::Arc;

use shapeflow_shape_fns::{DType, counted};

use super::layout::Layout;
use super::role::TensorRole;
use super::storage::Storage;
use super::view::ViewData;
use super::{Tensor, TensorList, TensorView};
use crate::error::{Error, ErrorKind, Phase, Result};

impl Tensor {
    /// Makes a variant tensor of rank 0, whose element is a list.
    pub(crate) fn of_list(list: TensorList) -> Tensor {
        let layout = Layout::row_major(&[]).expect("a scalar is not too large");
        Tensor { dtype: DType::Variant, layout, storage: Storage::Lists(Arc::new(vec![list])) }
    }

    /// Copies lists, whose number must fit the sizes, into a variant tensor. The copies share their items.
    pub(crate) fn from_lists(sizes: &[usize], lists: &[TensorList]) -> Result<Tensor> {
        let storage = Storage::Lists(Arc::new(lists.to_vec()));
        Ok(Tensor { dtype: DType::Variant, layout: Layout::row_major(sizes)?, storage })
    }
}

impl<'a> TensorView<'a> {
    /// Makes a view of lists, whose number must fit the sizes.
    pub(super) fn of_lists(sizes: &'a [usize], lists: &'a [TensorList]) -> TensorView<'a> {
        let data = ViewData::Lists(lists);
        TensorView {
            dtype: DType::Variant,
            sizes: sizes.into(),
            strides: None,
            len: lists.len(),
            data,
            role: TensorRole::default(),
        }
    }

    /// Returns the greatest [`TensorList::depth`] of the elements; 0 if they are not lists.
    pub(crate) fn list_depth(&self) -> usize {
        match self.data {
            ViewData::Lists(lists) => lists.iter().map(TensorList::depth).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns all elements.
    ///
    /// # Errors
    /// `DType`: the elements are not lists.
    pub(crate) fn lists(&self) -> Result<&'a [TensorList]> {
        match self.data {
            ViewData::Lists(lists) => Ok(lists),
            _ => {
                let message = format!("tensor lists must be variants, got {}", self.dtype);
                Err(Error::new(ErrorKind::DType, Phase::Run, message))
            }
        }
    }

    /// Returns the list that is the only element.
    ///
    /// # Errors
    /// `DType`: the elements are not lists. `Shape`: there is not exactly one element.
    pub(crate) fn list(&self) -> Result<&'a TensorList> {
        match self.data {
            ViewData::Lists([list]) => Ok(list),
            ViewData::Lists(lists) => {
                let message = format!("a tensor list must be a scalar, got {}", counted(lists.len(), "list"));
                Err(Error::new(ErrorKind::Shape, Phase::Run, message))
            }
            _ => {
                let message = format!("a tensor list must be a variant, got {}", self.dtype);
                Err(Error::new(ErrorKind::DType, Phase::Run, message))
            }
        }
    }
}
