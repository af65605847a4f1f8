//! Where runs put what they compute: over operands that die, into memory of the caller, into that of dropped results.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use shapeflow::{
    Backend, CompileOptions, DType, Executable, Graph, Result, Tensor, TensorView, TensorViewMut, Value,
    dynamic_stitch, shape,
};

fn numbers(sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let x: Vec<f32> = (0..count).map(|at| ((at * 7 + at / 13) % 19) as f32 / 8.0 - 1.0).collect();
    Tensor::from_slice(sizes, &x).unwrap()
}

/// Runs `build` on x f32[n, 64] of 96 rows, in both ways; gives the bytes of the arena.
fn arena(build: impl for<'g> Fn(Value<'g>) -> Result<Value<'g>>) -> usize {
    let (g, fed) = (Graph::new(), numbers(&[96, 64]));
    let y = build(g.input("x", DType::F32, shape!["n", 64]).unwrap()).unwrap();
    let compile = |backend| g.compile_with(&CompileOptions::new().backend(backend), [y]).unwrap();
    let (jit, oracle) = (compile(Backend::Jit), compile(Backend::Interpreter));
    let run = |exe: &Executable| exe.run_all(&[fed.view()]).unwrap().remove(0);
    let (got, expected) = (run(&jit), run(&oracle));
    got.allclose(&expected, 1e-5, 1e-5).unwrap();
    assert_eq!(run(&jit), got, "memory of the first result is used again");
    jit.stats().arena_bytes
}

fn product<'g>(x: Value<'g>) -> Result<Value<'g>> {
    x.matmul(x.graph().constant(numbers(&[64, 64]))?)
}

#[test]
fn results_are_stored_over_operands_that_die() {
    let one = 96 * 64 * 4;
    // Both products are stored where the result goes: by the second, over which the sum is.
    assert_eq!(arena(|x| (product(product(x)?.relu()?)? + 1.0).ok()), one);
    // A row is stored when it has been read for the last time.
    assert_eq!(arena(|x| product(product(x)?.softmax(-1)?)?.softmax(-1)), one);
    assert_eq!(arena(|x| product(x)?.relu()), 0);
}

#[test]
fn an_operand_that_is_needed_stays() {
    let one = 96 * 64 * 4;
    // Read in another order.
    assert_eq!(arena(|x| product(x)?.reverse([1])), one);
    assert_eq!(arena(|x| product(x)?.transpose([1, 0])), one);
    // Read again by a later step.
    assert_eq!(
        arena(|x| {
            let y = product(x)?;
            (product(y.relu()?)? + y).ok()
        }),
        2 * one
    );
    // Of another size: sums are smaller.
    assert_eq!(arena(|x| product(x)?.reduce_sum(1)), one);
}

#[test]
fn memory_of_bools_holds_nothing_else() -> Result<()> {
    let arena_of = |dtype: DType| -> Result<usize> {
        let g = Graph::new();
        let x = g.input("x", DType::U8, shape!["n", 64])?;
        // A value that waits for another, and is read for the last time element by element.
        let most = x.reduce_max(1)?;
        let last = most.greater(most.reduce_sum(0)?)?;
        let exe = g.compile(if dtype == DType::Bool { last } else { last.cast(dtype)? })?;
        exe.run_all(&[Tensor::full(&[96, 64], 2u8)?.view()])?;
        Ok(exe.stats().arena_bytes)
    };
    assert_eq!(arena_of(DType::Bool)? - arena_of(DType::U8)?, 128);
    Ok(())
}

#[test]
fn host_kernels_write_into_memory_of_the_caller() -> Result<()> {
    let g = Graph::new();
    let indices = g.input("indices", DType::I32, shape!["n"])?;
    let x = g.input("x", DType::F32, shape!["n"])?;
    let stitched = dynamic_stitch(&[indices], &[x])?;
    let outputs = [
        stitched * 2.0,
        stitched,
        indices.expand_dims(-1)?.scatter_nd(x, [5])?,
        x.cumsum(0)?,
        x.boolean_mask(indices.greater(1)?, 0)?,
    ];
    let mut runner = g.compile(outputs)?.runner();
    let fed = [Tensor::from([4, 0, 3]), Tensor::from([1.0f32, 2.0, 3.0])];
    let views = fed.each_ref().map(Tensor::view);
    let lengths = [5usize, 5, 5, 3, 2];
    let sizes = lengths.map(|length| [length]);
    let mut memory = lengths.map(|length| vec![7.0f32; length]);
    for _ in 0..2 {
        let mut into: Vec<TensorViewMut<'_>> = (memory.iter_mut().zip(&sizes))
            .map(|(memory, sizes)| TensorViewMut::new(sizes, memory))
            .collect::<Result<_>>()?;
        runner.run_into(&views, &mut into)?;
        let expected: [&[f32]; 5] = [
            &[4.0, 0.0, 0.0, 6.0, 2.0],
            &[2.0, 0.0, 0.0, 3.0, 1.0],
            &[2.0, 0.0, 0.0, 3.0, 1.0],
            &[1.0, 3.0, 6.0],
            &[1.0, 3.0],
        ];
        assert_eq!(memory.each_ref().map(Vec::as_slice), expected);
    }
    // Memory of other sizes is refused, whatever the kernel has made.
    let mut short = [0.0f32; 4];
    let mut into: Vec<TensorViewMut<'_>> = (memory.iter_mut().zip(&sizes))
        .map(|(memory, sizes)| TensorViewMut::new(sizes, memory))
        .collect::<Result<_>>()?;
    into[1] = TensorViewMut::new(&[4], &mut short)?;
    let error = runner.run_into(&views, &mut into).unwrap_err();
    assert_eq!(error.message(), "output 1 must be f32[5], got memory for f32[4]");
    Ok(())
}

#[test]
fn memory_of_results_is_used_again_once_they_are_dropped() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(x + 1.0)?;
    let fed = vec![1.0f32; 1 << 16];
    let run = |n: usize| -> Result<Tensor> {
        let [y] = exe.run(&[TensorView::new(&[n], &fed[..n])?])?;
        assert!(y.as_slice::<f32>()?.iter().all(|y| *y == 2.0));
        Ok(y)
    };
    let place = |y: &Tensor| -> Result<usize> { Ok(y.as_slice::<f32>()?.as_ptr().addr()) };
    let first = run(1 << 16)?;
    let (at, kept) = (place(&first)?, first.clone());
    drop(first);
    let second = run(1 << 16)?;
    assert_ne!(place(&second)?, at, "a clone has it");
    assert!(kept.as_slice::<f32>()?.iter().all(|y| *y == 2.0));
    drop(kept);
    assert_eq!(place(&run(60_000)?)?, at, "a smaller result fits");
    exe.trim();
    drop(exe);
    assert_eq!(second.len(), 1 << 16);
    Ok(())
}

/// The system's allocator, which counts what a thread asks of it.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is handed to the system's allocator as it comes.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// How often two runs after the first, into memory of the caller, ask the allocator for memory.
fn asked(build: impl for<'g> Fn(Value<'g>) -> Result<Vec<Value<'g>>>) -> usize {
    let (g, fed) = (Graph::new(), numbers(&[96, 64]));
    let outputs = build(g.input("x", DType::F32, shape!["n", 64]).unwrap()).unwrap();
    let exe = g.compile(&outputs).unwrap();
    let views = [fed.view()];
    let mut results = exe.run_all(&views).unwrap();
    let mut into: Vec<TensorViewMut<'_>> = results.iter_mut().map(|y| y.view_mut().unwrap()).collect();
    let mut runner = exe.runner();
    runner.run_into(&views, &mut into).unwrap();
    let before = ASKED.get();
    for _ in 0..2 {
        runner.run_into(&views, &mut into).unwrap();
    }
    ASKED.get() - before
}

#[test]
fn runs_into_memory_of_the_caller_allocate_nothing() {
    assert_eq!(asked(|x| Ok(vec![(x * 2.0 + 1.0).relu()?])), 0);
    assert_eq!(asked(|x| Ok(vec![x.softmax(-1)?, x.reduce_sum(0)?, x.reduce_max(1)?])), 0);
    assert_eq!(asked(|x| Ok(vec![(product(x)? + 1.0).softmax(1)?])), 0);
    assert_eq!(asked(|x| Ok(vec![x.transpose([1, 0])?, x.reverse([1])?, x.pad([1, 2, 3, 4])?])), 0);
    assert_eq!(asked(|x| Ok(vec![x.gather(x.graph().constant([3, 1, 95])?, 0)?, (x * 0.5).ok()?])), 0);
}
