//! Inputs whose ranks only a run knows: errors, limits, and what an executable keeps.

use shapeflow::{DType, ErrorKind, Graph, Phase, Result, Tensor, shape};

use crate::memory::live_bytes;

/// A client of a service chooses the ranks and values of its tensors, so their errors are its mistakes.
#[test]
fn a_fed_rank_or_axis_that_an_op_refuses_is_an_error_of_the_run() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![..])?;
    let k = g.input("k", DType::I32, shape![])?;
    let exe = g.compile([x.softmax(1)?, x.expand_dims(k)?])?;
    let feed = |rank: usize, k: i32| {
        exe.run_all(&[Tensor::zeros(DType::F32, &vec![1; rank])?.view(), Tensor::scalar(k).view()])
    };
    assert!(feed(2, 2).is_ok());
    for (rank, k, expected) in
        [(1, 0, "softmax(f32[x.0], axis=1): axis must be in [-1, 1), got 1"), (2, 7, "got 7")]
    {
        let error = feed(rank, k).unwrap_err();
        assert!(error.message().contains(expected), "{error}");
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Guard, Phase::Run), "{error}");
    }
    let error = feed(255, 0).unwrap_err();
    assert_eq!(error.message(), "input \"x\" must have at most 254 axes, got 255");
    assert_eq!(error.kind(), ErrorKind::Feed);
    assert!(feed(254, 0).is_ok());
    Ok(())
}

#[test]
fn trim_frees_programs_and_plans() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![..])?;
    let exe = g.compile(x.exp()?)?;
    let run = || -> Result<()> {
        for sizes in (1..40).flat_map(|rank| (1..20).map(move |size| vec![size; rank.min(2)])) {
            exe.run_all(&[Tensor::zeros(DType::F32, &sizes)?.view()])?;
        }
        Ok(())
    };
    run()?;
    exe.trim();
    let before = live_bytes();
    run()?;
    assert!(live_bytes() > before + (10 << 10));
    exe.trim();
    assert!(live_bytes() < before + (4 << 10), "{} bytes remain", live_bytes() - before);
    Ok(())
}
