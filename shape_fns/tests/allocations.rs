//! Known dimensions, plain symbols, and the inference of an elementwise op on them do not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use shapeflow_shape_fns::{
    Attrs, DType, Dim, DimTable, InferenceContext, OperandInfo, Result, ShapeFn, SymbolKind, TensorShape,
    common, shape,
};

/// The system allocator with a count of the allocations of each thread.
struct CountingAllocator;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is forwarded unchanged to the system allocator, so its contract is the caller's.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Returns how often this thread allocates while it runs `f`.
fn allocations(f: impl FnOnce()) -> usize {
    let before = CALLS.get();
    f();
    CALLS.get() - before
}

#[test]
fn known_dimensions_and_plain_symbols_allocate_nothing() -> Result<()> {
    let (n, zero) = (Dim::symbol("n"), Dim::known(0));
    let mut table = DimTable::new();
    let fresh = table.fresh(SymbolKind::Size);
    let dims = [Dim::known(7), n.clone(), fresh.clone(), Dim::known(64)];
    assert_eq!(allocations(|| drop(black_box(TensorShape::new(dims.clone())))), 0);
    assert_eq!(allocations(|| dims.iter().for_each(|dim| drop(black_box(dim.checked_add(&zero))))), 0);
    assert_eq!(allocations(|| drop(black_box((Dim::known(3) * 4, n.same(&fresh), Dim::symbol("n"))))), 0);
    assert_eq!(allocations(|| drop(black_box((table.resolve(&n), table.same(&n, &fresh))))), 0);
    // The counter works: an expression allocates.
    assert!(allocations(|| drop(black_box(&n + 1))) > 0);
    Ok(())
}

#[test]
fn an_elementwise_op_on_rank_4_allocates_nothing() -> Result<()> {
    let cases: [(ShapeFn, &[&'static str], [TensorShape; 2]); 4] = [
        (common::unary, &["x"], [shape!["b", 8, "n", 64], shape![]]),
        (common::broadcast, &["x", "y"], [shape!["b", 8, "n", 64], shape!["b", 8, "n", 64]]),
        (common::broadcast, &["x", "y"], [shape!["b", 8, "n", 64], shape![64]]),
        (common::broadcast, &["x", "y"], [shape![2, 8, 1, 64], shape![8, 16, 64]]),
    ];
    for (shape_fn, names, shapes) in cases {
        let mut table = DimTable::new();
        let shapes = shapes.map(|shape| table.import(&shape));
        let operands = shapes.each_ref().map(|shape| OperandInfo { shape, dtype: DType::F32, value: None });
        let attrs = Attrs::new();
        let mut result = None;
        let calls = allocations(|| {
            let mark = table.begin();
            let mut cx = InferenceContext::new(names, &operands[..names.len()], &attrs, &mut table, 1);
            result = Some(shape_fn(&mut cx).and_then(|()| cx.finish()));
            table.commit(mark);
        });
        let result = result.into_iter().collect::<Result<Vec<_>>>()?;
        assert_eq!(calls, 0, "{:?}", result[0].shapes());
    }
    Ok(())
}
