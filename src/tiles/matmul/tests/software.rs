//! Tile functions for processors with wider vectors than this machine may have. A software processor runs each compiled
//! function of a kernel. The processor's memory holds only the operands that a tile names, so the processor reports
//! every other access.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use shapeflow_processor::{LibraryFunction, Processor, Program, Space};

use super::super::kernel::{Float, TileFunctions};
use super::super::prefetcher::Prefetcher;
use super::super::tile::{Tile, TileFn, UNROLL};
use super::{Number, number};

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

/// Returns the code and the constants of this program, as they are mapped into memory.
fn image() -> Vec<&'static [u8]> {
    let program = std::env::current_exe().expect("a running program has a path");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("Linux lists a program's mappings");
    let lines = maps.lines().filter(|line| line.ends_with(program.to_str().expect("the path is UTF-8")));
    let parts = lines.filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        rest.starts_with("r-").then_some((address(start)?, address(end)?))
    });
    // SAFETY: a program's code and constants stay mapped and unchanged while it runs.
    parts.map(|(start, end)| unsafe { std::slice::from_raw_parts(start as *const u8, end - start) }).collect()
}

/// The layout of the left operand.
#[derive(Clone, Copy, Debug)]
enum Left {
    Packed,
    Rows,
    Columns,
}

/// The arguments of one call of a tile function.
#[derive(Debug)]
struct Case {
    rows: usize,
    vectors: usize,
    left: Left,
    /// Whether the right operand is packed.
    packed: bool,
    /// Whether the function packs the right operand.
    copying: bool,
    /// The number of runs of the left operand, and the number of terms in a run.
    runs: usize,
    run: usize,
    /// The number of groups of rows that one call computes.
    count: usize,
    columns: usize,
    add: bool,
}

/// Runs the functions of kernels on a software processor. Counts the executed instructions and the cases.
struct Machine {
    program: Program,
    image: Vec<&'static [u8]>,
    steps: u64,
    cases: usize,
}

fn bytes_of<T>(values: &[T]) -> Vec<u8> {
    // SAFETY: the values are floats, which have no padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }.to_vec()
}

impl Machine {
    fn new() -> Machine {
        Machine { program: Program::default(), image: image(), steps: 0, cases: 0 }
    }

    /// Runs a function and checks every byte of the result and of the packed copy. The expected sums add their terms in
    /// order.
    fn check<T: Number>(&mut self, kernel: &TileFunctions<T>, function: TileFn<T>, case: &Case) {
        let Case { rows, vectors, left, packed, copying, runs, run, count, columns, add } = *case;
        let (depth, width) = (runs * run, vectors * kernel.lanes);
        let (a_row, a_step, a_next) = match left {
            Left::Packed => (1, rows, rows * depth),
            Left::Rows => (depth + runs + 3, 1, rows * (depth + runs + 3)),
            Left::Columns => (1, rows * count + 2, rows),
        };
        let (b_step, out_row) = (if packed { width } else { width + 5 }, columns + 3);
        // An operand ends at the last element that the tile reads. Elements in between that the tile does not read are
        // NaN.
        let layout = |elements: &mut dyn Iterator<Item = (usize, T)>| {
            let elements: Vec<(usize, T)> = elements.collect();
            let len = elements.iter().map(|(offset, _)| offset + 1).max().unwrap_or(0);
            let mut values = vec![T::of(f64::NAN); len];
            elements.into_iter().for_each(|(offset, value)| values[offset] = value);
            values
        };
        // One column of the left operand lies between two runs.
        let a_runs: Vec<usize> = (0..runs).map(|number| number * (run + 1) * a_step).collect();
        let a_column = |p: usize| a_runs[p / run] + p % run * a_step;
        let a_offset = |i: usize, p: usize| i / rows * a_next + i % rows * a_row + a_column(p);
        let indices = |m: usize, n: usize| (0..m).flat_map(move |i| (0..n).map(move |j| (i, j)));
        let a = layout(&mut indices(rows * count, depth).map(|(i, p)| (a_offset(i, p), T::of(number(i, p)))));
        let b = layout(&mut indices(depth, width).map(|(p, j)| (p * b_step + j, T::of(number(j, p)))));
        let out = layout(&mut indices(rows * count, columns).map(|(i, j)| (i * out_row + j, T::of(0.25))));
        let copy = vec![T::of(3.0); if copying { depth * width } else { 0 }];
        let mut expected = out.clone();
        for (i, j) in indices(rows * count, columns) {
            let sum = (0..depth).fold(T::default(), |sum, p| a[a_offset(i, p)].fma(b[p * b_step + j], sum));
            let element = &mut expected[i * out_row + j];
            *element = if add { *element + sum } else { sum };
        }

        let mut space = Space::default();
        self.image.iter().for_each(|part| space.show(part));
        let a_runs = a_runs.leak();
        // SAFETY: numbers have no padding.
        space.show(unsafe { std::slice::from_raw_parts(a_runs.as_ptr().cast(), size_of_val(a_runs)) });
        let mut place = |name: &str, values: &[T], writable| {
            space.place_at(name, &bytes_of(values), writable, 1 + size_of::<T>()) as usize
        };
        let (a_start, b_start) = (place("a", &a, false), place("b", &b, false));
        let (out_start, copy_start) = (place("out", &out, true), place("copy", &copy, true));
        let mut tile = MaybeUninit::<Tile<T>>::zeroed();
        let fields = tile.as_mut_ptr();
        // SAFETY: the fields are written one by one, so the padding between them stays zero and all bytes are
        // initialized.
        let tile = unsafe {
            (&raw mut (*fields).count).write(count);
            (&raw mut (*fields).a).write(std::ptr::without_provenance(a_start));
            (&raw mut (*fields).a_rows).write(std::array::from_fn(|i| i * a_row));
            (&raw mut (*fields).a_runs).write(a_runs);
            (&raw mut (*fields).a_run).write(run);
            (&raw mut (*fields).a_step).write(a_step);
            (&raw mut (*fields).a_next).write(a_next);
            (&raw mut (*fields).b).write(std::ptr::without_provenance(b_start));
            (&raw mut (*fields).b_step).write(b_step);
            (&raw mut (*fields).copy).write(std::ptr::without_provenance_mut(copy_start));
            (&raw mut (*fields).out).write(std::ptr::without_provenance_mut(out_start));
            (&raw mut (*fields).out_row).write(out_row);
            (&raw mut (*fields).columns).write(columns);
            (&raw mut (*fields).add).write(add);
            (&raw mut (*fields).prefetcher).write(Prefetcher::rows(
                std::ptr::without_provenance(7),
                40,
                5,
                3,
            ));
            std::slice::from_raw_parts(fields.cast::<u8>(), size_of::<Tile<T>>())
        };
        let argument = space.place("tile", tile, false);
        let mut processor = Processor::new(space);
        let copies = [memcpy as *const (), memmove as *const ()];
        processor.library_functions.extend(copies.map(|function| (function as u64, LibraryFunction::Copy)));
        processor.library_functions.insert(memset as *const () as u64, LibraryFunction::Fill);
        let outcome = processor.call(&self.program, function as *const () as u64, argument);
        outcome.unwrap_or_else(|fault| panic!("{case:?}: {fault}"));
        let bytes = |start: usize| processor.space.region(start as u64);
        assert_eq!(bytes(out_start), bytes_of(&expected), "{case:?}: the result");
        let copied = |index: usize| b[index / width * b_step + index % width];
        let copied: Vec<T> = (0..copy.len()).map(copied).collect();
        assert_eq!(bytes(copy_start), bytes_of(&copied), "{case:?}: the copy");
        self.steps += processor.steps;
        self.cases += 1;
    }

    /// Checks a function for tiles of `rows` rows and `vectors` vectors, at several depths, counts, and widths.
    fn check_all<T: Number>(
        &mut self,
        kernel: &TileFunctions<T>,
        function: TileFn<T>,
        [rows, vectors]: [usize; 2],
        lefts: &[Left],
        [packed, copying]: [bool; 2],
    ) {
        let width = vectors * kernel.lanes;
        for (number, &left) in lefts.iter().enumerate() {
            // The cases alternate: adding or not, and a last vector that lacks one column or all but one.
            let odd = (number + rows) % 2 == 1;
            let (most, least) = (width - 1, width - kernel.lanes + 1);
            let (first, second) = if odd { (most, least) } else { (least, most) };
            // Packed operands have one run.
            let runs = if matches!(left, Left::Packed) { 1 } else { 3 };
            for (runs, run, count, columns, add) in [
                (1, 0, 1, width, odd),
                (1, 1, 1, width, !odd),
                (1, UNROLL, 1, first, odd),
                (1, UNROLL + 3, 2, width, odd),
                (runs, 2, 3, second, odd),
                (1, 1, 1 + rows % 2, second, !odd),
            ] {
                let case = Case { rows, vectors, left, packed, copying, runs, run, count, columns, add };
                self.check(kernel, function, &case);
            }
        }
    }

    fn check_kernel<T: Number>(&mut self, kernel: &TileFunctions<T>) {
        let strided = [Left::Rows, Left::Columns];
        for rows in 1..=kernel.packed.len() {
            for (index, function) in kernel.packed[rows - 1].iter().enumerate() {
                self.check_all(kernel, *function, [rows, index + 1], &[Left::Packed], [true, false]);
            }
            for (index, function) in kernel.strided[rows - 1].iter().enumerate() {
                self.check_all(kernel, *function, [rows, index + 1], &strided, [false, false]);
            }
            let size = [rows, kernel.vectors];
            self.check_all(kernel, kernel.copying[rows - 1], size, &strided, [false, true]);
        }
        for (index, function) in kernel.wide.iter().enumerate() {
            let size = [index + 1, 2 * kernel.vectors];
            self.check_all(kernel, *function, size, &strided, [false, false]);
        }
    }
}

#[test]
fn tiles_of_256_bit_vectors_match_their_sums() {
    let mut machine = Machine::new();
    machine.check_kernel(f32::FMA);
    machine.check_kernel(f64::FMA);
    eprintln!("{} tiles, {} instructions", machine.cases, machine.steps);
}

#[test]
fn tiles_of_512_bit_vectors_match_their_sums() {
    let mut machine = Machine::new();
    machine.check_kernel(f32::AVX512);
    machine.check_kernel(f64::AVX512);
    eprintln!("{} tiles, {} instructions", machine.cases, machine.steps);
}
