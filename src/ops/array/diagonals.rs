//! [`Band`]: the positions of the elements of diagonals in matrices and in packed rows.

use shapeflow_shape_fns::Dim;

use crate::expr::{InRange, Index, LowerCx};

/// Where a packed row holds a diagonal that is shorter than the row. The first word of a name is for the diagonals
/// above the main diagonal, the second word for the diagonals below.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DiagonalAlign {
    /// Upper diagonals end at the end of their rows, lower ones start at the start.
    #[default]
    RightLeft,
    /// Upper diagonals start at the start of their rows, lower ones end at the end.
    LeftRight,
    /// Every diagonal starts at the start of its row.
    LeftLeft,
    /// Every diagonal ends at the end of its row.
    RightRight,
}

impl DiagonalAlign {
    /// Returns TensorFlow's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            DiagonalAlign::RightLeft => "RIGHT_LEFT",
            DiagonalAlign::LeftRight => "LEFT_RIGHT",
            DiagonalAlign::LeftLeft => "LEFT_LEFT",
            DiagonalAlign::RightRight => "RIGHT_RIGHT",
        }
    }
}

/// The diagonals `low..=high` of matrices, packed into rows of `longest` elements, from the highest diagonal to the
/// lowest. Element `(i, j)` is on diagonal `j - i`.
pub(super) struct Band {
    low: i64,
    high: i64,
    rows: Dim,
    columns: Dim,
    parts: Vec<BandPart>,
}

/// A part of a band in which the position in a packed row is one formula.
struct BandPart {
    /// The bounds of the diagonals in the part, each `low <= diagonal < high`.
    diagonals: Vec<(Dim, Dim)>,
    /// Whether the position is counted along the rows of the matrix, or else along its columns.
    by_row: bool,
    /// The position in the packed row minus the row number, or minus the column number.
    offset: Dim,
}

impl Band {
    /// Reads the derived parameter `k`. `matrix` are the dimensions of the matrices, and `longest` is the length of
    /// packed rows. `align` is an alignment as TensorFlow names it.
    pub(super) fn new(cx: &mut dyn LowerCx, matrix: &[Dim], longest: &Dim, align: &str) -> Band {
        let k: Vec<i64> = cx.derived("k").iter().filter_map(Dim::as_known).collect();
        let (low, high) = match k[..] {
            [low, high] => (low, high),
            _ => (0, 0),
        };
        let [.., rows, columns] = matrix else {
            unreachable!("the shape function checks the rank of matrices")
        };
        // The number after the highest diagonal. Sizes with such a diagonal do not fit, so the run fails elsewhere.
        let above = high.saturating_add(1);
        let (upper, lower) = align.split_once('_').unwrap_or(("RIGHT", "LEFT"));
        let mut parts = Vec::new();
        for (from, to, align, is_upper) in
            [(low.max(0), above, upper, true), (low, above.min(0), lower, false)]
        {
            if from >= to {
                continue;
            }
            let side = (Dim::known(from), Dim::known(to));
            // A single diagonal fills its row.
            if align == "LEFT" || low == high {
                parts.push(BandPart { diagonals: vec![side], by_row: is_upper, offset: Dim::known(0) });
                continue;
            }
            // Diagonals up to `columns - rows` end at the last row, higher ones at the last column.
            let limit = columns - rows + 1;
            let at_last_row = vec![side.clone(), (Dim::known(from), limit.clone())];
            parts.push(BandPart { diagonals: at_last_row, by_row: true, offset: longest - rows });
            let at_last_column = vec![side, (limit, Dim::known(to))];
            parts.push(BandPart { diagonals: at_last_column, by_row: false, offset: longest - columns });
        }
        Band { low, high, rows: rows.clone(), columns: columns.clone(), parts }
    }

    fn is_single(&self) -> bool {
        self.low == self.high
    }

    /// Returns, for element `(row, column)` of a matrix, the packed indices and the ranges in which each holds. An
    /// element outside the band has no packed indices.
    pub(super) fn packed(&self, row: &Index, column: &Index) -> Vec<(Vec<InRange>, Vec<Index>)> {
        let diagonal = column.clone() - row.clone();
        let part = |part: &BandPart| {
            let position =
                if part.by_row { row } else { column }.clone() + Index::constant(part.offset.clone());
            let number = Index::from(self.high) - diagonal.clone();
            let index = if self.is_single() { vec![position] } else { vec![number, position] };
            (in_part(part, &diagonal), index)
        };
        self.parts.iter().map(part).collect()
    }

    /// Returns, for an index of the packed rows, the elements of the matrix and the ranges in which each holds. A
    /// position past the end of a diagonal has no element.
    pub(super) fn unpacked(&self, packed: &[Index]) -> Vec<(Vec<InRange>, [Index; 2])> {
        let position = packed.last().expect("packed rows have a last axis");
        let diagonal = match packed {
            [number, _] => Index::from(self.high) - number.clone(),
            _ => Index::from(self.low),
        };
        let part = |part: &BandPart| {
            let place = position.clone() - Index::constant(part.offset.clone());
            let [row, column] = match part.by_row {
                true => [place.clone(), place + diagonal.clone()],
                false => [place.clone() - diagonal.clone(), place],
            };
            let mut ranges = in_part(part, &diagonal);
            for (index, size) in [(&row, &self.rows), (&column, &self.columns)] {
                ranges.push(InRange { index: index.clone(), low: Dim::known(0), high: size.clone() });
            }
            (ranges, [row, column])
        };
        self.parts.iter().map(part).collect()
    }

    /// Returns the number of packed axes: the number of the diagonal, if there are several, and the position on it.
    pub(super) fn packed_axes(&self) -> usize {
        if self.is_single() { 1 } else { 2 }
    }
}

/// Returns the ranges that hold for the diagonals of a part.
fn in_part(part: &BandPart, diagonal: &Index) -> Vec<InRange> {
    let range =
        |(low, high): &(Dim, Dim)| InRange { index: diagonal.clone(), low: low.clone(), high: high.clone() };
    part.diagonals.iter().map(range).collect()
}
