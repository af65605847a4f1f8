//! Memory of values: results that reuse the memory of dead operands, caller-provided memory, and buffers of dropped
//! results.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use shapeflow::{
    Backend, CompileOptions, DType, Executable, Graph, Result, Tensor, TensorView, TensorViewMut, Value,
    dynamic_stitch, shape,
};

fn numbers(sizes: &[usize]) -> Tensor {
    let count: usize = sizes.iter().product();
    let x: Vec<f32> = (0..count).map(|index| ((index * 7 + index / 13) % 19) as f32 / 8.0 - 1.0).collect();
    Tensor::from_slice(sizes, &x).unwrap()
}

/// Builds a graph of an input f32[n, 64], compares both backends at n = 96, and returns the bytes of the JIT's arena.
fn arena_bytes(build: impl for<'g> Fn(Value<'g>) -> Result<Value<'g>>) -> usize {
    let (g, fed) = (Graph::new(), numbers(&[96, 64]));
    let y = build(g.input("x", DType::F32, shape!["n", 64]).unwrap()).unwrap();
    let compile = |backend| g.compile_with(&CompileOptions::new().backend(backend), [y]).unwrap();
    let (jit, oracle) = (compile(Backend::Jit), compile(Backend::Interpreter));
    let run = |exe: &Executable| exe.run_all(&[fed.view()]).unwrap().remove(0);
    let (got, expected) = (run(&jit), run(&oracle));
    got.allclose(&expected, 1e-5, 1e-5).unwrap();
    assert_eq!(run(&jit), got, "a second run must give the same result");
    jit.stats().arena_bytes
}

/// Multiplies a value by a constant [64, 64].
fn matmul_64<'g>(x: Value<'g>) -> Result<Value<'g>> {
    x.matmul(x.graph().constant(numbers(&[64, 64]))?)
}

#[test]
fn results_reuse_the_memory_of_dead_operands() {
    let one_value = 96 * 64 * 4;
    // The sum is stored over the second matmul, in the memory of the output: only the first matmul needs the arena.
    assert_eq!(arena_bytes(|x| (matmul_64(matmul_64(x)?.relu()?)? + 1.0).ok()), one_value);
    // The last softmax stores a row over its operand after it has read the row.
    assert_eq!(arena_bytes(|x| matmul_64(matmul_64(x)?.softmax(-1)?)?.softmax(-1)), one_value);
    assert_eq!(arena_bytes(|x| matmul_64(x)?.relu()), 0);
}

#[test]
fn operands_that_are_still_read_are_not_overwritten() {
    let one_value = 96 * 64 * 4;
    // The result reads its operand in another order.
    assert_eq!(arena_bytes(|x| matmul_64(x)?.reverse([1])), one_value);
    assert_eq!(arena_bytes(|x| matmul_64(x)?.transpose([1, 0])), one_value);
    // A later op reads the operand again.
    assert_eq!(
        arena_bytes(|x| {
            let y = matmul_64(x)?;
            (matmul_64(y.relu()?)? + y).ok()
        }),
        2 * one_value
    );
    // The result has another size than the operand.
    assert_eq!(arena_bytes(|x| matmul_64(x)?.reduce_sum(1)), one_value);
}

#[test]
fn memory_of_bools_is_not_shared_with_other_dtypes() -> Result<()> {
    let arena_of = |dtype: DType| -> Result<usize> {
        let g = Graph::new();
        let x = g.input("x", DType::U8, shape!["n", 64])?;
        // `largest` must be stored until its sum is known; then its elements are read for the last time.
        let largest = x.reduce_max(1)?;
        let last = largest.greater(largest.reduce_sum(0)?)?;
        let exe = g.compile(if dtype == DType::Bool { last } else { last.cast(dtype)? })?;
        exe.run_all(&[Tensor::full(&[96, 64], 2u8)?.view()])?;
        Ok(exe.stats().arena_bytes)
    };
    assert_eq!(arena_of(DType::Bool)? - arena_of(DType::U8)?, 128);
    Ok(())
}

#[test]
fn host_kernels_write_into_caller_memory() -> Result<()> {
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
    // Output memory of other sizes than the result is refused.
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
fn memory_of_dropped_results_is_reused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(x + 1.0)?;
    let fed = vec![1.0f32; 1 << 16];
    let run = |n: usize| -> Result<Tensor> {
        let [y] = exe.run(&[TensorView::new(&[n], &fed[..n])?])?;
        assert!(y.as_slice::<f32>()?.iter().all(|y| *y == 2.0));
        Ok(y)
    };
    let address = |y: &Tensor| -> Result<usize> { Ok(y.as_slice::<f32>()?.as_ptr().addr()) };
    let first = run(1 << 16)?;
    let (first_address, clone) = (address(&first)?, first.clone());
    drop(first);
    let second = run(1 << 16)?;
    assert_ne!(address(&second)?, first_address, "a clone still uses the memory");
    assert!(clone.as_slice::<f32>()?.iter().all(|y| *y == 2.0));
    drop(clone);
    assert_eq!(address(&run(60_000)?)?, first_address, "a smaller result reuses the memory");
    exe.trim();
    drop(exe);
    assert_eq!(second.len(), 1 << 16);
    Ok(())
}

/// The system's allocator, which counts the allocations and the bytes of each thread.
struct CountingAllocator;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE_BYTES: Cell<isize> = const { Cell::new(0) };
}

/// Returns the bytes that this thread has allocated and not freed.
pub fn live_bytes() -> isize {
    LIVE_BYTES.get()
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller upholds the contract of `GlobalAlloc::alloc`.
        let start = unsafe { System.alloc(layout) };
        if !start.is_null() {
            LIVE_BYTES.set(LIVE_BYTES.get() + layout.size().cast_signed());
        }
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        LIVE_BYTES.set(LIVE_BYTES.get() - layout.size().cast_signed());
        // SAFETY: `start` comes from `alloc`, so from the system's allocator, with the same layout.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns the number of allocations of two runs into caller memory, after a first run.
fn allocations_of_runs(build: impl for<'g> Fn(Value<'g>) -> Result<Vec<Value<'g>>>) -> usize {
    let (g, fed) = (Graph::new(), numbers(&[96, 64]));
    let outputs = build(g.input("x", DType::F32, shape!["n", 64]).unwrap()).unwrap();
    let exe = g.compile(&outputs).unwrap();
    let views = [fed.view()];
    let mut results = exe.run_all(&views).unwrap();
    let mut into: Vec<TensorViewMut<'_>> = results.iter_mut().map(|y| y.view_mut().unwrap()).collect();
    let mut runner = exe.runner();
    runner.run_into(&views, &mut into).unwrap();
    let before = ALLOCATIONS.get();
    for _ in 0..2 {
        runner.run_into(&views, &mut into).unwrap();
    }
    ALLOCATIONS.get() - before
}

#[test]
fn runs_into_caller_memory_allocate_nothing() {
    assert_eq!(allocations_of_runs(|x| Ok(vec![(x * 2.0 + 1.0).relu()?])), 0);
    assert_eq!(allocations_of_runs(|x| Ok(vec![x.softmax(-1)?, x.reduce_sum(0)?, x.reduce_max(1)?])), 0);
    assert_eq!(allocations_of_runs(|x| Ok(vec![(matmul_64(x)? + 1.0).softmax(1)?])), 0);
    assert_eq!(
        allocations_of_runs(|x| Ok(vec![x.transpose([1, 0])?, x.reverse([1])?, x.pad([1, 2, 3, 4])?])),
        0
    );
    assert_eq!(
        allocations_of_runs(|x| Ok(vec![x.gather(x.graph().constant([3, 1, 95])?, 0)?, (x * 0.5).ok()?])),
        0
    );
}
