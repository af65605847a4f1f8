//! Renaming of reduction axes, so that no reduction shadows an axis that is bound around it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Axis, Expr, ExprKind, Index, Interner, post_order};

/// Returns `root` with its reduction axes renamed so that no path from the root binds an axis twice. The axes of
/// `outer` count as bound.
///
/// If every reduction binds axes of its own, the function returns `root` unchanged. Otherwise the axes are numbered by
/// the height of their reduction, which is the greatest number of reductions nested in it. So nested reductions get
/// different axes, and equal reductions side by side stay shared.
pub(super) fn without_shadowing(root: &Expr, outer: &[Axis]) -> Expr {
    let mut bound: FxHashSet<Axis> = outer.iter().copied().collect();
    let mut largest = outer.iter().map(|axis| axis.0).max().unwrap_or(0);
    let mut repeated = false;
    for expr in post_order([root]) {
        if let ExprKind::Reduce { axes, .. } = expr.kind() {
            for (axis, _) in axes {
                repeated |= !bound.insert(*axis);
                largest = largest.max(axis.0);
            }
        }
        for_each_axis(expr, &mut |axis| largest = largest.max(axis.0));
    }
    if repeated { number_by_height(root, largest.saturating_add(1)) } else { root.clone() }
}

/// Renames the axes of every reduction. The height of a reduction is the greatest number of reductions nested in it;
/// `first` is the first axis of height 0.
fn number_by_height(root: &Expr, first: u32) -> Expr {
    let mut interner = Interner::new();
    let mut heights: FxHashMap<usize, u32> = FxHashMap::default();
    // The first axis of each height. A height reserves as many axes as its widest reduction has.
    let mut starts = vec![first];
    let widths = widths(root);
    for width in widths {
        starts.push(starts.last().copied().unwrap_or(first).saturating_add(width));
    }
    interner.rewrite(post_order([root]), &mut Index::axis, &mut |interner, expr| {
        let mut height = 0;
        expr.for_each_child(&mut |child| {
            height = height.max(heights.get(&child.address()).copied().unwrap_or(0));
        });
        let renamed = match expr.kind() {
            ExprKind::Reduce { op, axes, body } => {
                let start = starts.get(height as usize).copied().unwrap_or(first);
                height += 1;
                let number = |axis: Axis| axes.iter().position(|(bound, _)| *bound == axis);
                let rename = |axis: Axis| number(axis).map_or(axis, |k| Axis(start + k as u32));
                let mut renamed = |axis| Index::axis(rename(axis));
                let body = interner.rewrite(post_order([body]), &mut renamed, &mut |_, _| None);
                let axes = axes.iter().map(|(axis, extent)| (rename(*axis), extent.clone())).collect();
                Some(interner.intern(expr.dtype(), ExprKind::Reduce { op: *op, axes, body }))
            }
            _ => None,
        };
        heights.insert(renamed.as_ref().unwrap_or(expr).address(), height);
        renamed
    })
}

/// Returns, for each height, the number of axes of its widest reduction.
fn widths(root: &Expr) -> Vec<u32> {
    let mut heights: FxHashMap<usize, usize> = FxHashMap::default();
    let mut widths: Vec<u32> = Vec::new();
    for expr in post_order([root]) {
        let mut height = 0;
        expr.for_each_child(&mut |child| {
            height = height.max(heights.get(&child.address()).copied().unwrap_or(0));
        });
        if let ExprKind::Reduce { axes, .. } = expr.kind() {
            widths.resize(widths.len().max(height + 1), 0);
            widths[height] = widths[height].max(axes.len() as u32);
            height += 1;
        }
        heights.insert(expr.address(), height);
    }
    widths
}

/// Calls `f` on every axis in the indices of one node.
fn for_each_axis(expr: &Expr, f: &mut dyn FnMut(Axis)) {
    match expr.kind() {
        ExprKind::Iota(index) | ExprKind::LoadFlat { position: index, .. } => index.for_each_axis(f),
        ExprKind::Load { index, .. } => index.iter().for_each(|index| index.for_each_axis(f)),
        ExprKind::Case(arms, _) => {
            let ranges = arms.iter().flat_map(|(ranges, _)| ranges.iter());
            ranges.for_each(|range| range.index.for_each_axis(f));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::ReduceOp;
    use shapeflow_shape_fns::{DType, Dim};

    #[test]
    fn nested_reductions_get_distinct_axes() {
        let i = |axis| Index::axis(Axis(axis));
        let x = Expr::new(DType::F32, ExprKind::Load { source: 0, index: [i(0), i(1)].into() });
        let over = |expr: Expr, axis: u32| expr.reduce(ReduceOp::Sum, [(Axis(axis), Dim::known(3))].into());
        let once = over(x.clone(), 1);
        assert!(without_shadowing(&once, &[Axis(0)]) == once);
        let nested = over(over(x.clone(), 1) * x.clone(), 1);
        let renamed = without_shadowing(&nested, &[Axis(0)]);
        assert_eq!(renamed.to_string(), "sum(i3 < 3) (sum(i2 < 3) %0[i0, i2]) * %0[i0, i3]");
        let of_outer = without_shadowing(&over(x, 0), &[Axis(0), Axis(1)]);
        assert_eq!(of_outer.to_string(), "sum(i2 < 3) %0[i2, i1]");
    }
}
