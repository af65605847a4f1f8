//! Tiles for processors that this machine need not be: each function of a kernel, as compiled, on a processor in
//! software, to which nothing is there but what a tile says.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use shapeflow_processor::{Processor, Program, Served, Space};

use super::super::cache::Ahead;
use super::super::kernel::{Float, Kernel};
use super::super::tile::{Tile, TileFn, UNROLL};
use super::{Number, number};

unsafe extern "C" {
    fn memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(to: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

/// The code and the constants of this program.
fn image() -> Vec<&'static [u8]> {
    let own = std::env::current_exe().expect("a program has a path");
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the system lists what is mapped");
    let lines = maps.lines().filter(|line| line.ends_with(own.to_str().expect("a path of letters")));
    let parts = lines.filter_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let address = |text| usize::from_str_radix(text, 16).ok();
        rest.starts_with("r-").then_some((address(start)?, address(end)?))
    });
    // SAFETY: a program's code and constants stay where they are, readable and never written, as long as it runs.
    parts.map(|(start, end)| unsafe { std::slice::from_raw_parts(start as *const u8, end - start) }).collect()
}

/// Where the operand on the left has its elements.
#[derive(Clone, Copy, Debug)]
enum Left {
    Packed,
    Rows,
    Columns,
}

/// A tile function, and what it is given.
#[derive(Debug)]
struct Case {
    rows: usize,
    vectors: usize,
    /// Whether both operands are packed, and whether the one on the right is copied.
    left: Left,
    packed: bool,
    copying: bool,
    depth: usize,
    count: usize,
    columns: usize,
    add: bool,
}

/// Functions of a kernel on a processor in software.
struct Machine {
    program: Program,
    image: Vec<&'static [u8]>,
    steps: u64,
    cases: usize,
}

fn bytes_of<T>(values: &[T]) -> Vec<u8> {
    // SAFETY: the values are floats, all of whose bytes are initialised.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }.to_vec()
}

impl Machine {
    fn new() -> Machine {
        Machine { program: Program::default(), image: image(), steps: 0, cases: 0 }
    }

    /// Runs a function; every byte of the result and the copy must be what the sums in their order make it.
    fn check<T: Number>(&mut self, kernel: &Kernel<T>, function: TileFn<T>, case: &Case) {
        let Case { rows, vectors, left, packed, copying, depth, count, columns, add } = *case;
        let width = vectors * kernel.lanes;
        let (a_row, a_step, a_next) = match left {
            Left::Packed => (1, rows, rows * depth),
            Left::Rows => (depth + 3, 1, rows * (depth + 3)),
            Left::Columns => (1, rows * count + 2, rows),
        };
        let (b_step, out_row) = (if packed { width } else { width + 5 }, columns + 3);
        // As far as the last element that is read, with elements between that nothing reads.
        let spread = |places: &mut dyn Iterator<Item = (usize, T)>| {
            let places: Vec<(usize, T)> = places.collect();
            let len = places.iter().map(|(at, _)| at + 1).max().unwrap_or(0);
            let mut values = vec![T::of(f64::NAN); len];
            places.into_iter().for_each(|(at, value)| values[at] = value);
            values
        };
        let a_at = |i: usize, p: usize| i / rows * a_next + i % rows * a_row + p * a_step;
        let indices = |m: usize, n: usize| (0..m).flat_map(move |i| (0..n).map(move |j| (i, j)));
        let a = spread(&mut indices(rows * count, depth).map(|(i, p)| (a_at(i, p), T::of(number(i, p)))));
        let b = spread(&mut indices(depth, width).map(|(p, j)| (p * b_step + j, T::of(number(j, p)))));
        let out = spread(&mut indices(rows * count, columns).map(|(i, j)| (i * out_row + j, T::of(0.25))));
        let copy = vec![T::of(3.0); if copying { depth * width } else { 0 }];
        let mut expected = out.clone();
        for (i, j) in indices(rows * count, columns) {
            let sum = (0..depth).fold(T::default(), |sum, p| a[a_at(i, p)].fused(b[p * b_step + j], sum));
            let place = &mut expected[i * out_row + j];
            *place = if add { *place + sum } else { sum };
        }

        let mut space = Space::default();
        self.image.iter().for_each(|part| space.show(part));
        let mut place = |name: &str, values: &[T], writable| {
            space.place_at(name, &bytes_of(values), writable, 1 + size_of::<T>()) as usize
        };
        let (a_start, b_start) = (place("a", &a, false), place("b", &b, false));
        let (out_start, copy_start) = (place("out", &out, true), place("copy", &copy, true));
        let mut tile = MaybeUninit::<Tile<T>>::zeroed();
        let at = tile.as_mut_ptr();
        // SAFETY: the fields are written one by one, so that the bytes between them stay zeros.
        let tile = unsafe {
            (&raw mut (*at).count).write(count);
            (&raw mut (*at).depth).write(depth);
            (&raw mut (*at).a).write(std::ptr::without_provenance(a_start));
            (&raw mut (*at).a_row).write(a_row);
            (&raw mut (*at).a_step).write(a_step);
            (&raw mut (*at).a_next).write(a_next);
            (&raw mut (*at).b).write(std::ptr::without_provenance(b_start));
            (&raw mut (*at).b_step).write(b_step);
            (&raw mut (*at).copy).write(std::ptr::without_provenance_mut(copy_start));
            (&raw mut (*at).out).write(std::ptr::without_provenance_mut(out_start));
            (&raw mut (*at).out_row).write(out_row);
            (&raw mut (*at).columns).write(columns);
            (&raw mut (*at).add).write(add);
            (&raw mut (*at).ahead).write(Ahead::rows(std::ptr::without_provenance(7), 40, 5, 3));
            std::slice::from_raw_parts(at.cast::<u8>(), size_of::<Tile<T>>())
        };
        let argument = space.place("tile", tile, false);
        let mut processor = Processor::new(space);
        let copies = [memcpy as *const (), memmove as *const ()];
        processor.served.extend(copies.map(|function| (function as u64, Served::Copy)));
        processor.served.insert(memset as *const () as u64, Served::Fill);
        let outcome = processor.call(&self.program, function as *const () as u64, argument);
        outcome.unwrap_or_else(|fault| panic!("{case:?}: {fault}"));
        let bytes = |start: usize| processor.space.region(start as u64);
        assert_eq!(bytes(out_start), bytes_of(&expected), "{case:?}: the result");
        let copied = |at: usize| b[at / width * b_step + at % width];
        let copied: Vec<T> = (0..copy.len()).map(copied).collect();
        assert_eq!(bytes(copy_start), bytes_of(&copied), "{case:?}: the copy");
        self.steps += processor.steps;
        self.cases += 1;
    }

    /// Runs a function for tiles of so many rows and vectors at depths and widths of every kind.
    fn check_all<T: Number>(
        &mut self,
        kernel: &Kernel<T>,
        function: TileFn<T>,
        [rows, vectors]: [usize; 2],
        lefts: &[Left],
        [packed, copying]: [bool; 2],
    ) {
        let width = vectors * kernel.lanes;
        for (number, &left) in lefts.iter().enumerate() {
            // Adding or not, with one missing column and with all but one, in one form of the left operand or the other.
            let odd = (number + rows) % 2 == 1;
            let (most, least) = (width - 1, width - kernel.lanes + 1);
            let (first, second) = if odd { (most, least) } else { (least, most) };
            for (depth, count, columns, add) in [
                (0, 1, width, odd),
                (1, 1, width, !odd),
                (UNROLL, 1, first, odd),
                (UNROLL + 3, 2, width, odd),
                (1, 1 + rows % 2, second, !odd),
            ] {
                let case = Case { rows, vectors, left, packed, copying, depth, count, columns, add };
                self.check(kernel, function, &case);
            }
        }
    }

    fn check_kernel<T: Number>(&mut self, kernel: &Kernel<T>) {
        let apart = [Left::Rows, Left::Columns];
        for rows in 1..=kernel.packed.len() {
            for (at, function) in kernel.packed[rows - 1].iter().enumerate() {
                self.check_all(kernel, *function, [rows, at + 1], &[Left::Packed], [true, false]);
            }
            for (at, function) in kernel.strided[rows - 1].iter().enumerate() {
                self.check_all(kernel, *function, [rows, at + 1], &apart, [false, false]);
            }
            let whole = [rows, kernel.vectors];
            self.check_all(kernel, kernel.copying[rows - 1], whole, &apart, [false, true]);
        }
        for (at, function) in kernel.wide.iter().enumerate() {
            let size = [at + 1, 2 * kernel.vectors];
            self.check_all(kernel, *function, size, &apart, [false, false]);
        }
    }
}

#[test]
fn tiles_of_256_bits_in_software() {
    let mut machine = Machine::new();
    machine.check_kernel(f32::FUSED);
    machine.check_kernel(f64::FUSED);
    eprintln!("{} tiles, {} instructions", machine.cases, machine.steps);
}

#[test]
fn tiles_of_512_bits_in_software() {
    let mut machine = Machine::new();
    machine.check_kernel(f32::WIDE);
    machine.check_kernel(f64::WIDE);
    eprintln!("{} tiles, {} instructions", machine.cases, machine.steps);
}
