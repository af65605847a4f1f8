//! Ragged values whose parts belong to two graphs are refused.

use shapeflow::{DType, ErrorKind, Graph, Param, RaggedValue, Result, ragged, shape};

/// Checks that a call refuses values of two graphs.
fn refused<T>(what: &str, made: Result<T>) {
    let Err(error) = made else { panic!("{what}: must be refused") };
    assert_eq!(error.kind(), ErrorKind::ForeignValue, "{what}: {error}");
    assert!(error.to_string().contains(file!()), "{what}: {error}");
}

#[test]
fn parts_of_two_graphs_are_refused() -> Result<()> {
    // A graph without partitions, and a graph that has some.
    for has_partition in [false, true] {
        let (g, h) = (Graph::new(), Graph::new());
        if has_partition {
            let _ = g.ragged_input("other", DType::F32, "rows", shape![])?;
        }
        let v = g.input("v", DType::F32, shape!["n"])?;
        let flat = g.input("flat", DType::F32, shape![3])?;
        let flags = g.constant([true, false, true])?;
        let ints = g.input("ints", DType::I64, shape!["m"])?;
        let r = h.ragged_constant(&ragged![[1.0f32], [2.0, 3.0]])?;
        let fed = h.ragged_input("fed", DType::F32, "rows", shape![])?;
        let hv = h.input("hv", DType::F32, shape!["n"])?;
        for (what, made) in [
            ("with_flat_values", fed.with_flat_values(v)),
            ("with_flat_values of a known size", r.with_flat_values(flat)),
            ("with_values", r.with_values(flat)),
            ("map_flat_values", r.map_flat_values(|_| Ok(flat))),
            ("map_flat_values of unknown sizes", fed.map_flat_values(|_| Ok(v))),
            ("from_row_splits", RaggedValue::from_row_splits(hv, ints)),
            ("from_row_lengths", RaggedValue::from_row_lengths(hv, ints)),
            ("from_row_starts", RaggedValue::from_row_starts(hv, ints)),
            ("from_row_limits", RaggedValue::from_row_limits(hv, ints)),
            ("from_value_rowids", RaggedValue::from_value_rowids(hv, ints, None)),
            ("nrows", RaggedValue::from_value_rowids(v, ints, Some(Param::Value(hv)))),
            ("from_nested_row_splits", RaggedValue::from_nested_row_splits(hv, &[ints])),
            ("from_nested_row_lengths", RaggedValue::from_nested_row_lengths(hv, &[ints])),
            ("from_nested_value_rowids", RaggedValue::from_nested_value_rowids(hv, &[ints], &[])),
            ("from_row_splits of a ragged value", RaggedValue::from_row_splits(fed, ints)),
            ("top_k", fed.top_k(ints.reduce_sum(0)?, 1).map(|[top, _]| top)),
            ("boolean_mask", fed.boolean_mask(flags)),
        ] {
            refused(what, made);
        }
        let mixed = r.flat_values().add(flat);
        refused("add", mixed);
    }
    Ok(())
}
