//! Chooses the operands of a random op: values of the graph that suit the op, or new sources.

use shapeflow::DType;

use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, MAX_SOURCES, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

impl GraphGenerator<'_> {
    /// Picks a value of this dtype class and rank whose properties fit, or adds a source as such a value.
    pub fn pick(
        &mut self,
        class: DTypeClass,
        ranks: std::ops::RangeInclusive<usize>,
        suits: impl Fn(&ElementProps) -> bool,
    ) -> Option<ValueIndex> {
        let fits = |this: &Self, index: usize| {
            let value = this.values[index];
            class.contains(value.dtype())
                && value.shape().rank().is_some_and(|rank| ranks.contains(&rank))
                && suits(&this.props[index])
        };
        let all: Vec<usize> = (0..self.values.len()).filter(|index| fits(self, *index)).collect();
        if all.is_empty() || self.rng.chance(1, 12) {
            let high = (*ranks.end()).min(self.max_rank).max(*ranks.start());
            let rank = self.rng.range_inclusive(*ranks.start() as i64, high as i64) as usize;
            if let Some(id) = self.random_source(class, rank) {
                return suits(&self.props[id.0]).then_some(id);
            }
        }
        if all.is_empty() {
            return None;
        }
        // A preference for the last values makes graphs deep.
        let recent = if self.rng.chance(2, 3) { all.len().min(3) } else { all.len() };
        Some(ValueIndex(all[all.len() - 1 - self.rng.below(recent)]))
    }

    /// Picks or adds a value of the same dtype that broadcasts with `id`.
    pub fn broadcast_operand(
        &mut self,
        id: ValueIndex,
        suits: impl Fn(&ElementProps) -> bool,
        content: Content,
    ) -> Option<ValueIndex> {
        let dims = self.dims(id);
        let dtype = self.dtype(id);
        if self.rng.chance(1, 8)
            && let Some(turned) = self.turned(id)
            && suits(&self.props[turned.0])
        {
            return Some(turned);
        }
        if self.rng.chance(1, 2) {
            let fits = |this: &Self, index: usize| {
                let other = this.dims(ValueIndex(index));
                this.values[index].dtype() == dtype
                    && this.values[index].shape().rank().is_some()
                    && suits(&this.props[index])
                    && dims.iter().rev().zip(other.iter().rev()).all(|(a, b)| a == b || *a == 1 || *b == 1)
            };
            let all: Vec<usize> = (0..self.values.len()).filter(|index| fits(self, *index)).collect();
            if !all.is_empty() {
                return Some(ValueIndex(*self.rng.choose(&all)));
            }
        }
        self.new_broadcast_source(id, dtype, content)
    }

    /// Adds the transpose of `id`, or, for rank 1, a column of its elements; `None` if the shapes do not broadcast.
    pub fn turned(&mut self, id: ValueIndex) -> Option<ValueIndex> {
        let (dims, props) = (self.dims(id), self.props[id.0]);
        match &dims[..] {
            [_] => self.add_step(Call::new("expand_dims").attr("axis", 1), &[id], &[], props),
            [.., a, b] if a == b || *a == 1 || *b == 1 => {
                let rank = dims.len() as i64;
                let mut order: Vec<i64> = (0..rank).collect();
                order.swap(dims.len() - 2, dims.len() - 1);
                self.add_step(Call::new("transpose").attr("perm", order), &[id], &[], props)
            }
            _ => None,
        }
    }

    /// Adds a source that broadcasts with `id`; `None` if there are enough sources.
    pub fn new_broadcast_source(
        &mut self,
        id: ValueIndex,
        dtype: DType,
        content: Content,
    ) -> Option<ValueIndex> {
        if self.recipe.sources.len() >= MAX_SOURCES {
            return None;
        }
        let dims = self.dims(id);
        if self.rng.chance(1, 3) {
            let constant = self.rng.chance(2, 3);
            return self.source(dtype, Vec::new(), content, constant);
        }
        let rank = if self.rng.chance(1, 3) { self.rng.below(dims.len() + 1) } else { dims.len() };
        let mut sizes = Vec::new();
        for dim in &dims[dims.len() - rank..] {
            let size = if self.dynamic_shapes && self.rng.chance(1, 3) {
                self.size_like_or_one(dim)?
            } else if self.rng.chance(1, 5) {
                Size::Known(1)
            } else {
                self.size_like(dim)?
            };
            sizes.push(size);
        }
        let constant = self.rng.chance(1, 4);
        self.source(dtype, sizes, content, constant)
    }

    /// Adds a scalar source.
    pub fn scalar(&mut self, dtype: DType, content: Content) -> Option<ValueIndex> {
        let constant = self.rng.chance(3, 4);
        self.source(dtype, Vec::new(), content, constant)
    }

    /// Adds a source with the shape of `id`.
    pub fn source_like(&mut self, id: ValueIndex, dtype: DType, content: Content) -> Option<ValueIndex> {
        let dims = self.dims(id);
        let sizes: Option<Vec<Size>> = dims.iter().map(|dim| self.size_like(dim)).collect();
        self.source(dtype, sizes?, content, false)
    }
}
