//! Diagonals of matrices.

use shapeflow_shape_fns::{DType, shape};

use super::{Program, call, draw_floats, scalar, shape_of, vector};
use crate::error::Result;
use crate::exec::tests::specializations::draws::Draws;
use crate::exec::tests::specializations::loops::{element, ints, tensor_of};
use crate::graph::{Graph, Value};
use crate::tensor::Tensor;

pub(in super::super) const DIAG: Program =
    Program { op: "matrix_diag_with", build: diag, draw: draw_diag, naive: naive_diag };

pub(in super::super) const DIAG_PART: Program =
    Program { op: "matrix_diag_part_with", build: diag_part, draw: draw_diag_part, naive: naive_diag_part };

pub(in super::super) const SET_DIAG: Program =
    Program { op: "matrix_set_diag", build: set_diag, draw: draw_set_diag, naive: naive_set_diag };

/// How a diagonal that is shorter than its row is aligned: a word for the diagonals above the main one, then a word for
/// those below.
const ALIGNS: [&str; 4] = ["LEFT_LEFT", "LEFT_RIGHT", "RIGHT_LEFT", "RIGHT_RIGHT"];

/// Diagonals of matrices of these sizes.
#[derive(Clone, Copy)]
struct Band {
    rows: i64,
    columns: i64,
    low: i64,
    high: i64,
}

impl Band {
    fn draw(draws: &mut Draws, is_one: bool) -> Band {
        let (rows, columns) = (1 + draws.below(4) as i64, 1 + draws.below(4) as i64);
        let mut ends = [0; 2].map(|_: i64| draws.below((rows + columns - 1) as usize) as i64 + 1 - rows);
        ends.sort_unstable();
        Band { rows, columns, low: ends[0], high: if is_one { ends[0] } else { ends[1] } }
    }

    fn of(k: &Tensor, rows: i64, columns: i64) -> Band {
        let k = ints(k);
        Band { rows, columns, low: k[0], high: k[k.len() - 1] }
    }

    /// The parameter `k`: one diagonal, or the lowest and the highest.
    fn k(self, is_one: bool) -> Tensor {
        if is_one { vector(&[self.low]) } else { vector(&[self.low, self.high]) }
    }

    fn count(self) -> usize {
        (self.high - self.low + 1) as usize
    }

    fn length(self, k: i64) -> i64 {
        (self.rows + k.min(0)).min(self.columns - k.max(0))
    }

    fn longest(self) -> usize {
        (self.low..=self.high).map(|k| self.length(k)).max().unwrap() as usize
    }

    /// Returns the sizes that hold the diagonals of a batch of 2 matrices.
    fn sizes(self) -> Vec<usize> {
        if self.count() == 1 { vec![2, self.longest()] } else { vec![2, self.count(), self.longest()] }
    }

    /// Returns the index of the element of the packed diagonals that is at a row and column, if it is on a diagonal.
    fn packed(self, align: &str, index: &[usize]) -> Option<Vec<usize>> {
        let (row, column) = (index[1] as i64, index[2] as i64);
        let k = column - row;
        if !(self.low..=self.high).contains(&k) {
            return None;
        }
        let step = row.min(column) as usize;
        if self.count() == 1 {
            return Some(vec![index[0], step]);
        }
        let word = align.split('_').nth(usize::from(k < 0)).unwrap();
        let skipped = if word == "LEFT" { 0 } else { self.longest() - self.length(k) as usize };
        Some(vec![index[0], (self.high - k) as usize, skipped + step])
    }
}

fn call_with_each_align<'g>(
    op: &str,
    data: &[Value<'g>],
    params: &[(&'static str, Value<'g>)],
) -> Result<Vec<Value<'g>>> {
    let mut outputs = Vec::new();
    for align in ALIGNS {
        outputs.extend(call(op, data, params, &[("align", align.into())])?);
    }
    Ok(outputs)
}

fn diag(graph: &Graph, _: bool) -> Result<Vec<Value<'_>>> {
    // The number of diagonals determines the rank.
    let x = graph.input("x", DType::F32, shape![..])?;
    let padding = graph.input("padding", DType::F32, shape![])?;
    let params = [
        ("k", graph.input("k", DType::I32, shape![?])?),
        ("num_rows", graph.input("rows", DType::I32, shape![])?),
        ("num_cols", graph.input("columns", DType::I32, shape![])?),
    ];
    call_with_each_align("matrix_diag_with", &[x, padding], &params)
}

fn draw_diag(draws: &mut Draws, _: bool) -> Vec<Tensor> {
    let is_one = draws.below(2) == 0;
    let band = Band::draw(draws, is_one);
    let x = draw_floats(draws, &band.sizes());
    vec![x, Tensor::scalar(9.0f32), band.k(is_one), scalar(band.rows), scalar(band.columns)]
}

fn naive_diag(feeds: &[Tensor]) -> Vec<Tensor> {
    let [x, padding, k, rows, columns] = feeds else { panic!("five operands") };
    let band = Band::of(k, ints(rows)[0], ints(columns)[0]);
    let sizes = [2, band.rows as usize, band.columns as usize];
    let padding: f32 = padding.item().unwrap();
    let of = |align: &str| {
        tensor_of(&sizes, &|index| band.packed(align, index).map_or(padding, |packed| element(x, &packed)))
    };
    ALIGNS.map(of).to_vec()
}

fn diag_part(graph: &Graph, is_ranked: bool) -> Result<Vec<Value<'_>>> {
    let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
    let padding = graph.input("padding", DType::F32, shape![])?;
    call_with_each_align(
        "matrix_diag_part_with",
        &[x, padding],
        &[("k", graph.input("k", DType::I32, shape![?])?)],
    )
}

fn draw_diag_part(draws: &mut Draws, _: bool) -> Vec<Tensor> {
    let is_one = draws.below(2) == 0;
    let band = Band::draw(draws, is_one);
    let x = draw_floats(draws, &[2, band.rows as usize, band.columns as usize]);
    vec![x, Tensor::scalar(9.0f32), band.k(is_one)]
}

fn naive_diag_part(feeds: &[Tensor]) -> Vec<Tensor> {
    let [x, padding, k] = feeds else { panic!("three operands") };
    let band = Band::of(k, x.sizes()[1] as i64, x.sizes()[2] as i64);
    let of = |align: &str| {
        let mut part = Tensor::full(&band.sizes(), padding.item::<f32>().unwrap()).unwrap();
        let sizes = band.sizes();
        for index in super::indices_of(x.sizes()) {
            if let Some(packed) = band.packed(align, &index) {
                part.as_mut_slice::<f32>().unwrap()[super::offset_of(&packed, &sizes)] = element(x, &index);
            }
        }
        part
    };
    ALIGNS.map(of).to_vec()
}

fn set_diag(graph: &Graph, is_ranked: bool) -> Result<Vec<Value<'_>>> {
    let x = graph.input("x", DType::F32, shape_of(is_ranked, 3))?;
    let diagonal = graph.input("diagonal", DType::F32, shape![..])?;
    call_with_each_align(
        "matrix_set_diag",
        &[x, diagonal],
        &[("k", graph.input("k", DType::I32, shape![?])?)],
    )
}

fn draw_set_diag(draws: &mut Draws, _: bool) -> Vec<Tensor> {
    let is_one = draws.below(2) == 0;
    let band = Band::draw(draws, is_one);
    let x = draw_floats(draws, &[2, band.rows as usize, band.columns as usize]);
    let diagonal = draw_floats(draws, &band.sizes());
    vec![x, diagonal, band.k(is_one)]
}

fn naive_set_diag(feeds: &[Tensor]) -> Vec<Tensor> {
    let [x, diagonal, k] = feeds else { panic!("three operands") };
    let band = Band::of(k, x.sizes()[1] as i64, x.sizes()[2] as i64);
    let of = |align: &str| {
        tensor_of::<f32>(x.sizes(), &|index| match band.packed(align, index) {
            Some(packed) => element(diagonal, &packed),
            None => element(x, index),
        })
    };
    ALIGNS.map(of).to_vec()
}
