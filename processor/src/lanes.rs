//! [`Vector`] and [`Lane`]: the bytes of a vector register, and its lanes as numbers.

/// The number of bytes of a vector register.
pub(super) const BYTES: usize = 64;

/// The bytes of a vector register. A narrower value takes the first bytes.
pub(super) type Vector = [u8; BYTES];

/// A number type of a lane.
pub(super) trait Lane: Copy {
    const SIZE: usize;
    fn read(bytes: &[u8]) -> Self;
    fn write(self, bytes: &mut [u8]);
}

macro_rules! lanes {
    ($($t:ty)*) => {
        $(impl Lane for $t {
            const SIZE: usize = size_of::<$t>();
            fn read(bytes: &[u8]) -> $t {
                <$t>::from_le_bytes(bytes[..size_of::<$t>()].try_into().expect("the slice has the size of the number"))
            }
            fn write(self, bytes: &mut [u8]) {
                bytes[..size_of::<$t>()].copy_from_slice(&self.to_le_bytes());
            }
        })*
    };
}

lanes!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Returns lane `k`.
pub(super) fn get<T: Lane>(from: &Vector, k: usize) -> T {
    T::read(&from[k * T::SIZE..])
}

/// Sets lane `k`.
pub(super) fn set<T: Lane>(to: &mut Vector, k: usize, value: T) {
    value.write(&mut to[k * T::SIZE..]);
}

/// Returns a vector whose lanes `k < count` are `f(k)`. The other bytes are zero.
pub(super) fn make<T: Lane>(count: usize, f: impl Fn(usize) -> T) -> Vector {
    let mut result = [0; BYTES];
    for k in 0..count {
        set(&mut result, k, f(k));
    }
    result
}

/// Applies `f` to the first `count` lanes.
pub(super) fn map<A: Lane, B: Lane>(count: usize, a: &Vector, f: impl Fn(A) -> B) -> Vector {
    make(count, |k| f(get(a, k)))
}

/// Applies `f` to the first `count` pairs of lanes.
pub(super) fn zip<A: Lane, B: Lane>(count: usize, a: &Vector, b: &Vector, f: impl Fn(A, A) -> B) -> Vector {
    make(count, |k| f(get(a, k), get(b, k)))
}
