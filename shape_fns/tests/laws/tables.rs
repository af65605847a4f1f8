//! Laws of dimension tables.

use proptest::prelude::*;
use shapeflow_shape_fns::{Dim, DimTable, Guard};

use crate::cases;
use crate::trees::*;

proptest! {
    #![proptest_config(cases(100))]

    /// The equalities and guards that a table records for some requirements hold for exactly the values for which the
    /// requirements hold.
    #[test]
    fn recorded_knowledge_is_equivalent_to_the_requirements(pairs in prop::collection::vec((trees(), trees(), 0..4u8), 1..4)) {
        let mut table = DimTable::new();
        let mut required = Vec::new();
        let mut refused = false;
        for (a, b, kind) in &pairs {
            let (Some(a), Some(b)) = (dim_of(a), dim_of(b)) else { return Ok(()) };
            let guard = match kind {
                0 | 1 => Guard::Eq(a, b),
                2 => Guard::Ge(a, b),
                _ => Guard::OneOrEqual(a, b),
            };
            required.push(guard.clone());
            refused |= table.require(guard).is_err();
            if refused {
                break;
            }
        }
        for values in assignments(7) {
            let value = value_in(&values);
            let outcomes: Option<Vec<bool>> = required.iter().map(|guard| guard.check(&value).ok().flatten()).collect();
            let Some(outcomes) = outcomes else { continue };
            let holds = outcomes.into_iter().all(|holds| holds);
            if refused {
                prop_assert!(!holds, "{:?} was refused but holds at {:?}", required, values);
                continue;
            }
            let equal = table.equalities().iter().all(|equality| {
                Dim::from(equality.symbol).eval(&value).ok() == equality.dim.eval(&value).ok()
            });
            let guarded = table.guards().iter().all(|record| record.guard.check(&value) == Ok(Some(true)));
            prop_assert_eq!(equal && guarded, holds, "{:?} at {:?}: {:?}", required, values, table);
        }
    }

    #[test]
    fn a_rollback_restores_the_table(before in trees(), a in trees(), b in trees()) {
        let (Some(before), Some(a), Some(b)) = (dim_of(&before), dim_of(&a), dim_of(&b)) else { return Ok(()) };
        let mut table = DimTable::new();
        if table.merge(&before, &Dim::symbol(NAMES[1])).is_err() {
            return Ok(());
        }
        let (resolved, guards) = (table.resolve(&a), table.guards().to_vec());
        let mark = table.begin();
        let outcome = table.merge(&a, &b).is_ok();
        table.rollback(mark);
        prop_assert_eq!(table.resolve(&a), resolved);
        prop_assert_eq!(table.guards(), guards);
        prop_assert_eq!(table.merge(&a, &b).is_ok(), outcome);
    }
}

/// A chain of equalities as long as a graph neither exhausts the stack nor is slow.
#[test]
fn a_long_chain_of_equalities_resolves() {
    let mut table = DimTable::new();
    let count = 30_000;
    let symbols: Vec<Dim> = (0..count).map(|_| table.fresh(shapeflow_shape_fns::SymbolKind::Size)).collect();
    for pair in symbols.windows(2).rev() {
        table.merge(&pair[0], &pair[1]).unwrap();
    }
    assert_eq!(table.merge(&symbols[count - 1], &Dim::known(7)), Ok(Dim::known(7)));
    assert!(symbols.iter().step_by(997).all(|symbol| table.resolve(symbol) == Dim::known(7)));
    let terms: Vec<Dim> = (0..count).map(|_| table.fresh(shapeflow_shape_fns::SymbolKind::Size)).collect();
    for pair in terms.windows(2) {
        table.merge(&pair[1], &(&pair[0] + 1)).unwrap();
    }
    assert_eq!(table.resolve(&terms[count - 1]), &terms[0] + (count as i64 - 1));
}
