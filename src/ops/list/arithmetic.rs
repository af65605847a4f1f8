//! Arithmetic on tensor lists: sums of lists, and lists of zeros. Gradients of loops have such ops.

use shapeflow_shape_fns::DType;

use super::items::{check_dtype, check_equal_sizes, fail, list_dtype, merge};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::ops::positions::Positions;
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{Combine, combine};
use crate::shape_fns;
use crate::tensor::{Tensor, TensorList};

/// `variant[..]… -> variant[..]`: adds lists of one length item by item. An absent item counts as zeros. As
/// TensorFlow's `AddN` of lists.
pub(crate) static ADD_N: OpDef = OpDef::host("tensor_list_add_n", add_n)
    .operands(&[Operand::Variadic("lists..")])
    .shape_fn(shape_fns::math::add_n)
    .dtype_rule(list_dtype);

/// `variant[..] -> variant[..]`: replaces each item of each list by zeros. An absent item stays absent. As TensorFlow's
/// `ZerosLike` of lists.
pub(crate) static ZEROS: OpDef = OpDef::host("tensor_list_zeros_like", zeros)
    .operands(&[Operand::Data("list")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(list_dtype);

fn add_n(cx: &mut HostCx<'_>) -> Result<()> {
    let first = cx.input(0)?;
    let mut sums = first.lists()?.to_vec();
    for number in 1..cx.inputs() {
        let other = cx.input(number)?;
        check_equal_sizes(&first, &other)?;
        sums = added_lists(&sums, other.lists()?)?;
    }
    cx.set_output(0, Tensor::from_lists(first.sizes(), &sums)?)
}

fn added_lists(a: &[TensorList], b: &[TensorList]) -> Result<Vec<TensorList>> {
    a.iter().zip(b).map(|(a, b)| added(a, b)).collect()
}

/// Returns the sum of two lists.
///
/// # Errors
/// The dtypes, the lengths or the shapes of items differ, or the items are no numbers.
fn added(a: &TensorList, b: &TensorList) -> Result<TensorList> {
    check_dtype(b, a.dtype)?;
    if a.len() != b.len() {
        return fail(
            ErrorKind::Shape,
            format!("added lists must have one length, got {} and {}", a.len(), b.len()),
        );
    }
    let mut sum = a.clone();
    sum.shape = merge(&a.shape, &b.shape)?;
    for (index, item) in b.present() {
        let added = a.get(index).map_or_else(|| Ok(item.clone()), |own| added_items(own, item))?;
        sum.set(index, added);
    }
    Ok(sum)
}

fn added_items(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    if a.sizes() != b.sizes() {
        let message = format!("added items must have one shape, got {:?} and {:?}", a.sizes(), b.sizes());
        return fail(ErrorKind::Shape, message);
    }
    match a.dtype() {
        DType::Variant => {
            let sums = added_lists(a.view().lists()?, b.view().lists()?)?;
            return Tensor::from_lists(a.sizes(), &sums);
        }
        DType::Bool => return fail(ErrorKind::DType, "added items must be numbers, got bool".to_string()),
        _ => {}
    }
    let (mut sum, addend) = (RowMajor::new(a.view())?.view().to_tensor()?, RowMajor::new(b.view())?);
    // The item is one row, whose destination is row 0.
    let row = Tensor::zeros(DType::I64, &[1])?;
    let positions = Positions::new(row.view(), None, &[1])?;
    combine(&mut sum.view_mut()?, addend.view(), b.len(), Combine::Add, &positions)?;
    Ok(sum)
}

fn zeros(cx: &mut HostCx<'_>) -> Result<()> {
    let lists = cx.input(0)?;
    let zeros = zeros_of(lists.lists()?)?;
    cx.set_output(0, Tensor::from_lists(lists.sizes(), &zeros)?)
}

fn zeros_of(lists: &[TensorList]) -> Result<Vec<TensorList>> {
    let of_item = |item: &Tensor| match item.dtype() {
        DType::Variant => Tensor::from_lists(item.sizes(), &zeros_of(item.view().lists()?)?),
        dtype => Tensor::zeros(dtype, item.sizes()),
    };
    let of_list = |list: &TensorList| {
        let mut zeros = list.clone();
        for (index, item) in list.present() {
            zeros.set(index, of_item(item)?);
        }
        Ok(zeros)
    };
    lists.iter().map(of_list).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::run;

    fn list(items: &[Option<Tensor>]) -> TensorList {
        let dtype = items.iter().flatten().next().map_or(DType::F32, Tensor::dtype);
        let mut list = TensorList::new(dtype, None, items.len());
        for (index, item) in items.iter().enumerate() {
            item.iter().for_each(|item| list.set(index, item.clone()));
        }
        list
    }

    fn items(lists: &Tensor) -> Vec<Option<Vec<f32>>> {
        let values = |item: &Tensor| item.to_vec::<f32>().unwrap();
        lists.view().list().unwrap().items().map(|item| item.map(values)).collect()
    }

    fn sum(lists: &[TensorList]) -> Result<Tensor> {
        let lists: Vec<Tensor> = lists.iter().map(|list| Tensor::of_list(list.clone())).collect();
        run(&ADD_N, &Attrs::new(), &lists).map(|mut outputs| outputs.remove(0))
    }

    #[test]
    fn lists_are_added_item_by_item() {
        let a = list(&[Some(Tensor::from([1.0f32, 2.0])), Some(Tensor::from([3.0f32])), None, None]);
        let b = list(&[Some(Tensor::from([10.0f32, 20.0])), None, Some(Tensor::from([5.0f32])), None]);
        let added = sum(&[a.clone(), b.clone(), a.clone()]).unwrap();
        assert_eq!(items(&added), [Some(vec![12.0, 24.0]), Some(vec![6.0]), Some(vec![5.0]), None]);
        // The operands keep their items.
        assert_eq!(items(&Tensor::of_list(a.clone()))[0], Some(vec![1.0, 2.0]));
        let nested = |list: &TensorList| self::list(&[Some(Tensor::of_list(list.clone()))]);
        let nested = sum(&[nested(&a), nested(&b)]).unwrap();
        let inner = nested.view().list().unwrap().get(0).unwrap().clone();
        assert_eq!(items(&inner)[0], Some(vec![11.0, 22.0]));
        let zeros = run(&ZEROS, &Attrs::new(), &[Tensor::of_list(a.clone())]).unwrap();
        assert_eq!(items(&zeros[0]), [Some(vec![0.0, 0.0]), Some(vec![0.0]), None, None]);
        let short = list(&[Some(Tensor::from([1.0f32]))]);
        for (other, message) in [
            (short, "added lists must have one length, got 4 and 1"),
            (list(&[Some(Tensor::from([1]))]), "the items of the list must be f32, got i32"),
        ] {
            let error = sum(&[a.clone(), other]).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        let long = list(&[Some(Tensor::from([1.0f32])), None, None, None]);
        let error = sum(&[a, long]).unwrap_err();
        assert!(error.message().contains("added items must have one shape, got [2] and [1]"), "{error}");
    }
}
