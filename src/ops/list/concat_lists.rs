//! The op that joins lists to lists.

use shapeflow_shape_fns::Attribute;

use super::items::{check_dtype, check_equal_sizes, fail, items_dtype, list_dtype, text};
use crate::error::{ErrorKind, Result};
use crate::op::{HostCx, OpDef, Operand};
use crate::tensor::Tensor;

/// `variant[..], variant[..] -> variant[..]`: appends to each list of `a` the items of the list of `b` at the same
/// index. As TensorFlow's `TensorListConcatLists`.
pub(crate) static DEF: OpDef = OpDef::host("tensor_list_concat_lists", concat)
    .attrs(&[Attribute::dtype("dtype"), Attribute::shape("shape").optional()])
    .operands(&[Operand::Data("a"), Operand::Data("b")])
    .shape_fn(|cx| {
        let shape = cx.input(0).clone();
        cx.set_output(0, shape);
        Ok(())
    })
    .dtype_rule(list_dtype);

fn concat(cx: &mut HostCx<'_>) -> Result<()> {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    check_equal_sizes(&a, &b)?;
    let dtype = items_dtype(cx.attrs())?;
    let mut joined = Vec::new();
    for (first, second) in a.lists()?.iter().zip(b.lists()?) {
        check_dtype(first, dtype)?;
        check_dtype(second, dtype)?;
        if first.shape != second.shape {
            let (first, second) = (text(&first.shape), text(&second.shape));
            return fail(ErrorKind::Shape, format!("items must have one shape, got {first} and {second}"));
        }
        let mut list = first.clone();
        let Some(len) = first.len().checked_add(second.len()) else {
            return fail(ErrorKind::Memory, "the length of the list must fit memory".to_string());
        };
        list.resize(len);
        for (index, item) in second.present() {
            list.set(first.len() + index, item.clone());
        }
        joined.push(list);
    }
    cx.set_output(0, Tensor::from_lists(a.sizes(), &joined)?)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::DType;

    use super::*;
    use crate::Attrs;
    use crate::ops::testing::run;
    use crate::tensor::TensorList;

    fn list(shape: Option<Vec<Option<usize>>>, items: &[f32]) -> TensorList {
        TensorList::of(DType::F32, shape, items.iter().map(|item| Tensor::scalar(*item)).collect())
    }

    fn items(lists: &Tensor) -> Vec<Vec<Option<f32>>> {
        let item = |item: Option<&Tensor>| item.map(|item| item.item::<f32>().unwrap());
        lists.view().lists().unwrap().iter().map(|list| list.items().map(item).collect()).collect()
    }

    #[test]
    fn lists_are_joined_pair_by_pair() {
        let mut short = list(None, &[4.0]);
        short.resize(2);
        let a = Tensor::from_lists(&[2], &[list(None, &[1.0, 2.0]), list(None, &[])]).unwrap();
        let b = Tensor::from_lists(&[2], &[short, list(None, &[5.0])]).unwrap();
        let attrs = Attrs::new().with("dtype", DType::F32);
        let joined = run(&DEF, &attrs, &[a.clone(), b]).unwrap();
        assert_eq!(items(&joined[0]), [vec![Some(1.0), Some(2.0), Some(4.0), None], vec![Some(5.0)]]);
        let others = Tensor::from_lists(&[2], &[list(Some(vec![]), &[]), list(None, &[])]).unwrap();
        let error = run(&DEF, &attrs, &[a.clone(), others]).unwrap_err();
        assert!(error.message().contains("items must have one shape, got ? and []"), "{error}");
        let error = run(&DEF, &Attrs::new().with("dtype", DType::I32), &[a.clone(), a]).unwrap_err();
        assert!(error.message().contains("the items of the list must be i32, got f32"), "{error}");
    }
}
