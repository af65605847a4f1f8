//! Tensors of every dtype are made, read and compared.

use super::*;
use crate::error::ErrorKind;

#[test]
fn elements_read_back_as_they_were_given() {
    let tensor = Tensor::from_slice(&[2, 3], &[1.5f32, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    assert_eq!((tensor.dtype(), tensor.sizes(), tensor.strides()), (DType::F32, &[2, 3][..], &[3, 1][..]));
    assert_eq!((tensor.len(), tensor.view().bytes().as_ptr().addr() % 64), (6, 0));
    assert_eq!(tensor.to_vec::<f32>().unwrap()[..2], [1.5, 2.0]);
    assert_eq!(tensor.as_slice::<f64>().unwrap_err().kind(), ErrorKind::DType);
    assert_eq!(tensor.item::<f32>().unwrap_err().kind(), ErrorKind::Shape);
    assert_eq!(Tensor::scalar(7i64).item::<i64>().unwrap(), 7);
    assert_eq!(Tensor::full(&[3], true).unwrap().as_slice::<bool>().unwrap(), [true; 3]);
    assert_eq!(Tensor::zeros(DType::C128, &[2]).unwrap().to_bits::<f64>().unwrap(), [0.0; 4]);
    assert!(Tensor::from_vec(&[2], vec![1u8]).is_err());
    assert_eq!(Tensor::zeros(DType::F64, &[1 << 40, 1 << 21]).unwrap_err().kind(), ErrorKind::Memory);
    assert_eq!(Tensor::zeros(DType::F64, &[1 << 59]).unwrap_err().kind(), ErrorKind::Memory);
}

#[test]
fn empty_tensors_copy_and_borrow() {
    for dtype in DType::all() {
        let mut tensor = Tensor::zeros(dtype, &[3, 0]).unwrap();
        assert!(tensor.is_empty() && tensor.view().to_tensor().unwrap() == tensor);
        assert!(tensor.view_mut().unwrap().is_empty());
    }
    let mut tensor = Tensor::zeros(DType::I64, &[0]).unwrap();
    assert!(tensor.as_slice::<i64>().unwrap().is_empty() && tensor.as_mut_slice::<i64>().unwrap().is_empty());
}

#[test]
fn writes_copy_shared_elements() {
    let mut tensor = Tensor::from_slice(&[4], &[1u16, 2, 3, 4]).unwrap();
    let address = tensor.view().bytes().as_ptr();
    tensor.as_mut_slice::<u16>().unwrap()[0] = 9;
    assert_eq!(tensor.view().bytes().as_ptr(), address);
    let square = tensor.reshape(&[2, 2]).unwrap();
    assert_eq!(square.view().bytes().as_ptr(), address);
    tensor.as_mut_slice::<u16>().unwrap()[1] = 8;
    assert_eq!(
        (tensor.to_vec::<u16>().unwrap(), square.to_vec::<u16>().unwrap()),
        (vec![9, 8, 3, 4], vec![9, 2, 3, 4])
    );
    assert!(tensor.as_mut_slice::<i16>().is_err() && tensor.reshape(&[5]).is_err());
}

#[test]
fn strings_are_shared_and_copied_alike() {
    let mut tensor = Tensor::from_strings(&[2], &["a", "bc"]).unwrap();
    let before = tensor.clone();
    assert_eq!(before.as_strings().unwrap().at(0).as_ptr(), tensor.as_strings().unwrap().at(0).as_ptr());
    let other = Tensor::from_strings(&[2], &["x", "yz"]).unwrap();
    tensor.view_mut().unwrap().copy_from(other.view()).unwrap();
    assert_eq!(
        (tensor.as_strings().unwrap().at(0), before.as_strings().unwrap().at(0)),
        (&b"x"[..], &b"a"[..])
    );
    assert_ne!(tensor, before);
    assert!(tensor.as_slice::<u8>().is_err() && tensor.as_mut_slice::<u8>().is_err());
}

#[test]
fn equality_compares_bits() {
    assert_eq!(Tensor::from([f32::NAN, 1.0]), Tensor::from([f32::NAN, 1.0]));
    assert_ne!(Tensor::scalar(0.0f32), Tensor::scalar(-0.0f32));
    assert_ne!(Tensor::scalar(0i32), Tensor::scalar(0u32));
    assert_ne!(Tensor::from([1, 2]), Tensor::from([[1, 2]]));
}

#[test]
fn tensors_cross_threads() {
    fn crosses<T: Send + Sync + 'static>() {}
    crosses::<Tensor>();
    crosses::<TensorView<'static>>();
    fn moves<T: Send>() {}
    moves::<TensorViewMut<'static>>();
}
