//! Ops whose parameters are sizes and positions for each axis.

use shapeflow_shape_fns::{Attr, DType, shape};

use super::{Program, call, draw_floats, draw_rank, draw_sizes, shape_of, vector};
use crate::error::Result;
use crate::exec::tests::specializations::draws::Draws;
use crate::exec::tests::specializations::loops::{element, indices_of, ints, offset_of, tensor_of};
use crate::graph::{Graph, Value};
use crate::op::Registry;
use crate::tensor::Tensor;

pub(in super::super) const STRIDED_SLICE: Program = Program {
    op: "strided_slice",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        of_vectors(graph, "strided_slice", x, &["begin", "end", "strides"])
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let sizes = draw_sizes(draws, rank);
        let slice = Slice::draw(draws, &sizes);
        let mut feeds = vec![draw_floats(draws, &sizes)];
        feeds.extend(slice.feeds());
        feeds
    },
    naive: |feeds| {
        let slice = Slice::of(&feeds[1..], feeds[0].sizes());
        vec![tensor_of::<f32>(&slice.sizes(), &|index| element(&feeds[0], &slice.read(index)))]
    },
};

/// `x[:end:stride, new_axis, .., position]`: each kind of mask of a strided slice.
pub(in super::super) const MASKED_SLICE: Program = Program {
    op: "strided_slice",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        let params = vectors(graph, &["begin", "end", "strides"])?;
        let masks = [
            ("begin_mask", 0b1),
            ("new_axis_mask", 0b10),
            ("ellipsis_mask", 0b100),
            ("shrink_axis_mask", 0b1000),
        ];
        call("strided_slice", &[x], &params, &masks.map(|(name, mask)| (name, Attr::Int(mask))))
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked).max(2);
        let sizes = draw_sizes(draws, rank);
        let any = |draws: &mut Draws, size: usize| draws.below(2 * size) as i64 - size as i64;
        let end = any(draws, sizes[0] + 2);
        let stride = [1, 1, 2, -1, -2][draws.below(5)];
        let position = any(draws, sizes[rank - 1]);
        // The parameters of the new axis and of the ellipsis are not read.
        let unread = draws.below(5) as i64 - 2;
        vec![
            draw_floats(draws, &sizes),
            vector(&[unread, unread, unread, position]),
            vector(&[end, unread, unread, position + 1]),
            vector(&[stride, 1, 1, 1]),
        ]
    },
    naive: |feeds| {
        let (x, sizes) = (&feeds[0], feeds[0].sizes());
        let [begin, end, strides] = [1, 2, 3].map(|number| ints(&feeds[number]));
        let first = if strides[0] > 0 { 0 } else { sizes[0] as i64 };
        let rows = positions(sizes[0] as i64, first, end[0], strides[0]);
        let last = sizes[sizes.len() - 1] as i64;
        let position = if begin[3] < 0 { begin[3] + last } else { begin[3] } as usize;
        let mut result = vec![rows.len(), 1];
        result.extend(&sizes[1..sizes.len() - 1]);
        vec![tensor_of::<f32>(&result, &|index| {
            let mut read = vec![rows[index[0]]];
            read.extend(&index[2..]);
            read.push(position);
            element(x, &read)
        })]
    },
};

pub(in super::super) const STRIDED_SLICE_GRAD: Program = Program {
    op: "strided_slice_grad",
    build: |graph, is_ranked| {
        let dy = graph.input("dy", DType::F32, shape_of(is_ranked, 3))?;
        of_vectors(graph, "strided_slice_grad", dy, &["shape", "begin", "end", "strides"])
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let sizes = draw_sizes(draws, rank);
        let slice = Slice::draw(draws, &sizes);
        let mut feeds = vec![draw_floats(draws, &slice.sizes()), vector_of(&sizes)];
        feeds.extend(slice.feeds());
        feeds
    },
    naive: |feeds| {
        let sizes: Vec<usize> = ints(&feeds[1]).iter().map(|size| *size as usize).collect();
        let slice = Slice::of(&feeds[2..], &sizes);
        let mut result = vec![0.0f32; sizes.iter().product()];
        for index in indices_of(feeds[0].sizes()) {
            result[offset_of(&slice.read(&index), &sizes)] = element(&feeds[0], &index);
        }
        vec![Tensor::from_vec(&sizes, result).unwrap()]
    },
};

pub(in super::super) const STRIDED_SLICE_UPDATE: Program = Program {
    op: "strided_slice_update",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        let value = graph.input("value", DType::F32, shape_of(is_ranked, 3))?;
        let mut call = graph.op(Registry::builtin().get("strided_slice_update").unwrap()).data(x);
        for name in ["begin", "end", "strides"] {
            call = call.structure(name, graph.input(name, DType::I32, shape![?])?);
        }
        call.data(value).finish_all()
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let sizes = draw_sizes(draws, rank);
        let slice = Slice::draw(draws, &sizes);
        let mut feeds = vec![draw_floats(draws, &sizes), draw_floats(draws, &slice.sizes())];
        feeds.extend(slice.feeds());
        feeds
    },
    naive: |feeds| {
        let sizes = feeds[0].sizes();
        let slice = Slice::of(&feeds[2..], sizes);
        let mut result = feeds[0].to_vec::<f32>().unwrap();
        for index in indices_of(feeds[1].sizes()) {
            result[offset_of(&slice.read(&index), sizes)] = element(&feeds[1], &index);
        }
        vec![Tensor::from_vec(sizes, result).unwrap()]
    },
};

pub(in super::super) const SLICE: Program = Program {
    op: "slice",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        of_vectors(graph, "slice", x, &["begin", "size"])
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let sizes = draw_sizes(draws, rank);
        let begin: Vec<usize> = sizes.iter().map(|size| draws.below(*size)).collect();
        let taken: Vec<usize> =
            sizes.iter().zip(&begin).map(|(size, begin)| draws.below(size - begin + 1)).collect();
        vec![draw_floats(draws, &sizes), vector_of(&begin), vector_of(&taken)]
    },
    naive: |feeds| {
        let begin = ints(&feeds[1]);
        let taken: Vec<usize> = ints(&feeds[2]).iter().map(|size| *size as usize).collect();
        vec![tensor_of::<f32>(&taken, &|index| {
            let read: Vec<usize> =
                index.iter().zip(&begin).map(|(index, begin)| index + *begin as usize).collect();
            element(&feeds[0], &read)
        })]
    },
};

pub(in super::super) const PAD: Program = Program {
    op: "pad",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        call("pad", &[x], &[("paddings", graph.input("paddings", DType::I32, shape![?, 2])?)], &[])
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let sizes = draw_sizes(draws, rank);
        let paddings: Vec<usize> = (0..2 * rank).map(|_| draws.below(3)).collect();
        vec![draw_floats(draws, &sizes), vector_of(&paddings).reshape(&[rank, 2]).unwrap()]
    },
    naive: |feeds| {
        let (x, paddings) = (&feeds[0], ints(&feeds[1]));
        let padded: Vec<usize> = (0..x.sizes().len())
            .map(|axis| x.sizes()[axis] + (paddings[2 * axis] + paddings[2 * axis + 1]) as usize)
            .collect();
        vec![tensor_of(&padded, &|index| {
            let read: Option<Vec<usize>> = (0..index.len())
                .map(|axis| index[axis].checked_sub(paddings[2 * axis] as usize))
                .zip(x.sizes())
                .map(|(read, size)| read.filter(|read| read < size))
                .collect();
            read.map_or(0.0f32, |read| element(x, &read))
        })]
    },
};

pub(in super::super) const BROADCAST_TO: Program = Program {
    op: "broadcast_to",
    build: |graph, is_ranked| {
        let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
        of_vectors(graph, "broadcast_to", x, &["shape"])
    },
    draw: |draws, is_ranked| {
        let rank = draw_rank(draws, is_ranked);
        let mut sizes = draw_sizes(draws, rank);
        sizes[draws.below(rank)] = 1;
        let mut target: Vec<usize> =
            sizes.iter().map(|size| if *size == 1 { 1 + draws.below(4) } else { *size }).collect();
        (0..draws.below(3)).for_each(|_| target.insert(0, 1 + draws.below(3)));
        vec![draw_floats(draws, &sizes), vector_of(&target)]
    },
    naive: |feeds| {
        let x = &feeds[0];
        let target: Vec<usize> = ints(&feeds[1]).iter().map(|size| *size as usize).collect();
        vec![tensor_of::<f32>(&target, &|index| {
            let inner = &index[index.len() - x.sizes().len()..];
            let read: Vec<usize> = inner
                .iter()
                .zip(x.sizes())
                .map(|(index, size)| if *size == 1 { 0 } else { *index })
                .collect();
            element(x, &read)
        })]
    },
};

pub(in super::super) const FILL: Program = Program {
    op: "fill",
    build: |graph, _| of_vectors(graph, "fill", graph.input("x", DType::F32, shape![])?, &["dims"]),
    draw: |draws, _| {
        let rank = draws.below(4);
        vec![draw_floats(draws, &[]), vector_of(&draw_sizes(draws, rank))]
    },
    naive: |feeds| {
        let sizes: Vec<usize> = ints(&feeds[1]).iter().map(|size| *size as usize).collect();
        vec![Tensor::full(&sizes, feeds[0].item::<f32>().unwrap()).unwrap()]
    },
};

/// Calls an op with parameters that are fed vectors of unknown length.
fn of_vectors<'g>(
    graph: &'g Graph,
    op: &str,
    x: Value<'g>,
    names: &[&'static str],
) -> Result<Vec<Value<'g>>> {
    call(op, &[x], &vectors(graph, names)?, &[])
}

/// Adds an input for each name, a vector of unknown length.
fn vectors<'g>(graph: &'g Graph, names: &[&'static str]) -> Result<Vec<(&'static str, Value<'g>)>> {
    names.iter().map(|name| Ok((*name, graph.input(name, DType::I32, shape![?])?))).collect()
}

fn vector_of(sizes: &[usize]) -> Tensor {
    vector(&sizes.iter().map(|size| *size as i64).collect::<Vec<_>>())
}

/// A strided slice of all axes of a tensor.
struct Slice {
    begin: Vec<i64>,
    end: Vec<i64>,
    strides: Vec<i64>,
    /// The positions that the slice takes from each axis.
    positions: Vec<Vec<usize>>,
}

impl Slice {
    fn new(begin: Vec<i64>, end: Vec<i64>, strides: Vec<i64>, sizes: &[usize]) -> Slice {
        let positions =
            (0..sizes.len()).map(|axis| positions(sizes[axis] as i64, begin[axis], end[axis], strides[axis]));
        let positions = positions.collect();
        Slice { begin, end, strides, positions }
    }

    fn draw(draws: &mut Draws, sizes: &[usize]) -> Slice {
        let mut near = |size: &usize| draws.below(2 * size + 3) as i64 - *size as i64 - 1;
        let begin = sizes.iter().map(&mut near).collect();
        let end = sizes.iter().map(&mut near).collect();
        let strides = sizes.iter().map(|_| [1, 1, 2, 3, -1, -2][draws.below(6)]).collect();
        Slice::new(begin, end, strides, sizes)
    }

    fn of(feeds: &[Tensor], sizes: &[usize]) -> Slice {
        Slice::new(ints(&feeds[0]), ints(&feeds[1]), ints(&feeds[2]), sizes)
    }

    fn feeds(&self) -> [Tensor; 3] {
        [&self.begin, &self.end, &self.strides].map(|list| vector(list))
    }

    fn sizes(&self) -> Vec<usize> {
        self.positions.iter().map(Vec::len).collect()
    }

    fn read(&self, index: &[usize]) -> Vec<usize> {
        index.iter().zip(&self.positions).map(|(index, positions)| positions[*index]).collect()
    }
}

/// Returns the positions of Python's `begin:end:stride`.
fn positions(size: i64, begin: i64, end: i64, stride: i64) -> Vec<usize> {
    let (low, high) = if stride > 0 { (0, size) } else { (-1, size - 1) };
    let clamped = |given: i64| if given < 0 { given + size } else { given }.clamp(low, high);
    let (mut position, end) = (clamped(begin), clamped(end));
    let mut taken = Vec::new();
    while (stride > 0 && position < end) || (stride < 0 && position > end) {
        taken.push(position as usize);
        position += stride;
    }
    taken
}
