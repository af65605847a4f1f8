//! 64-bit hashes of bytes: FarmHash's `Fingerprint64`, and the 64-bit hash of older TensorFlow files.

use crate::error::Result;
#[cfg(not(feature = "strings"))]
use crate::error::{Error, ErrorKind, Phase};

const K0: u64 = 0xc3a5_c85c_97cb_3127;
const K1: u64 = 0xb492_b66f_be98_f273;
const K2: u64 = 0x9ae1_6a3b_2f90_404f;

fn fetch(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(*bytes[at..].first_chunk().expect("a fetch lies inside the string"))
}

fn fetch32(bytes: &[u8], at: usize) -> u64 {
    u32::from_le_bytes(*bytes[at..].first_chunk().expect("a fetch lies inside the string")).into()
}

fn shift_mix(value: u64) -> u64 {
    value ^ value >> 47
}

fn hash_pair(u: u64, v: u64, factor: u64) -> u64 {
    let a = shift_mix((u ^ v).wrapping_mul(factor));
    let b = shift_mix((v ^ a).wrapping_mul(factor));
    b.wrapping_mul(factor)
}

/// Returns SipHash-2-4 of the bytes with this key.
#[cfg(feature = "strings")]
pub(super) fn siphash([first, second]: [u64; 2], bytes: &[u8]) -> u64 {
    let mut hasher = siphasher::sip::SipHasher24::new_with_keys(first, second);
    std::hash::Hasher::write(&mut hasher, bytes);
    std::hash::Hasher::finish(&hasher)
}

/// Returns the hash of the bytes that TensorFlow's ops call strong.
#[cfg(feature = "strings")]
pub(super) fn strong_hash(key: [u64; 2], bytes: &[u8]) -> Result<u64> {
    Ok(siphash(key, bytes))
}

/// Refuses a strong hash.
///
/// # Errors
/// The build lacks the feature `strings`.
#[cfg(not(feature = "strings"))]
pub(super) fn strong_hash(_: [u64; 2], _: &[u8]) -> Result<u64> {
    let message = "strong hashes need the feature `strings` of this crate";
    Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
}

/// Returns FarmHash's `Fingerprint64`, which never changes.
pub(in crate::ops) fn fingerprint64(bytes: &[u8]) -> u64 {
    match bytes.len() {
        0..=16 => up_to_16(bytes),
        17..=32 => up_to_32(bytes),
        33..=64 => up_to_64(bytes),
        _ => long(bytes),
    }
}

fn factor(len: usize) -> u64 {
    K2.wrapping_add(2 * len as u64)
}

fn up_to_16(s: &[u8]) -> u64 {
    let len = s.len();
    match len {
        8.. => {
            let factor = factor(len);
            let a = fetch(s, 0).wrapping_add(K2);
            let b = fetch(s, len - 8);
            let c = b.rotate_right(37).wrapping_mul(factor).wrapping_add(a);
            let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(factor);
            hash_pair(c, d, factor)
        }
        4.. => hash_pair((len as u64).wrapping_add(fetch32(s, 0) << 3), fetch32(s, len - 4), factor(len)),
        1.. => {
            let y = u64::from(s[0]) + (u64::from(s[len >> 1]) << 8);
            let z = len as u64 + (u64::from(s[len - 1]) << 2);
            shift_mix(y.wrapping_mul(K2) ^ z.wrapping_mul(K0)).wrapping_mul(K2)
        }
        0 => K2,
    }
}

fn up_to_32(s: &[u8]) -> u64 {
    let (len, factor) = (s.len(), factor(s.len()));
    let a = fetch(s, 0).wrapping_mul(K1);
    let b = fetch(s, 8);
    let c = fetch(s, len - 8).wrapping_mul(factor);
    let d = fetch(s, len - 16).wrapping_mul(K2);
    let u = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let v = a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c);
    hash_pair(u, v, factor)
}

fn up_to_64(s: &[u8]) -> u64 {
    let (len, factor) = (s.len(), factor(s.len()));
    let a = fetch(s, 0).wrapping_mul(K2);
    let b = fetch(s, 8);
    let c = fetch(s, len - 8).wrapping_mul(factor);
    let d = fetch(s, len - 16).wrapping_mul(K2);
    let y = a.wrapping_add(b).rotate_right(43).wrapping_add(c.rotate_right(30)).wrapping_add(d);
    let z = hash_pair(y, a.wrapping_add(b.wrapping_add(K2).rotate_right(18)).wrapping_add(c), factor);
    let e = fetch(s, 16).wrapping_mul(factor);
    let f = fetch(s, 24);
    let g = y.wrapping_add(fetch(s, len - 32)).wrapping_mul(factor);
    let h = z.wrapping_add(fetch(s, len - 24)).wrapping_mul(factor);
    let u = e.wrapping_add(f).rotate_right(43).wrapping_add(g.rotate_right(30)).wrapping_add(h);
    let v = e.wrapping_add(f.wrapping_add(a).rotate_right(18)).wrapping_add(g);
    hash_pair(u, v, factor)
}

/// Hashes 32 bytes from `at` on with two seeds.
fn weak_hash(s: &[u8], at: usize, a: u64, b: u64) -> [u64; 2] {
    let [w, x, y, z] = [0, 8, 16, 24].map(|offset| fetch(s, at + offset));
    let a = a.wrapping_add(w);
    let b = b.wrapping_add(a).wrapping_add(z).rotate_right(21);
    let sum = a.wrapping_add(x).wrapping_add(y);
    [sum.wrapping_add(z), b.wrapping_add(sum.rotate_right(44)).wrapping_add(a)]
}

/// The state of the hash of a long string.
struct HashState {
    x: u64,
    y: u64,
    z: u64,
    v: [u64; 2],
    w: [u64; 2],
}

impl HashState {
    /// Mixes in 64 bytes from `at` on. `weight` is 9 for the last round and 1 for the others.
    fn mix(&mut self, s: &[u8], at: usize, factor: u64, weight: u64) {
        let HashState { x, y, z, v, w } = self;
        let next = x.wrapping_add(*y).wrapping_add(v[0]).wrapping_add(fetch(s, at + 8));
        *x = next.rotate_right(37).wrapping_mul(factor);
        let next = y.wrapping_add(v[1]).wrapping_add(fetch(s, at + 48));
        *y = next.rotate_right(42).wrapping_mul(factor);
        *x ^= w[1].wrapping_mul(weight);
        *y = y.wrapping_add(v[0].wrapping_mul(weight)).wrapping_add(fetch(s, at + 40));
        *z = z.wrapping_add(w[0]).rotate_right(33).wrapping_mul(factor);
        *v = weak_hash(s, at, v[1].wrapping_mul(factor), x.wrapping_add(w[0]));
        *w = weak_hash(s, at + 32, z.wrapping_add(w[1]), y.wrapping_add(fetch(s, at + 16)));
        std::mem::swap(z, x);
    }
}

fn long(s: &[u8]) -> u64 {
    const SEED: u64 = 81;
    let y = SEED.wrapping_mul(K1).wrapping_add(113);
    let z = shift_mix(y.wrapping_mul(K2).wrapping_add(113)).wrapping_mul(K2);
    let x = SEED.wrapping_mul(K2).wrapping_add(fetch(s, 0));
    let mut state = HashState { x, y, z, v: [0; 2], w: [0; 2] };
    let rounds = (s.len() - 1) / 64;
    for round in 0..rounds {
        state.mix(s, 64 * round, K1, 1);
    }
    let factor = K1.wrapping_add((state.z & 0xff) << 1);
    let rest = (s.len() - 1) & 63;
    state.w[0] = state.w[0].wrapping_add(rest as u64);
    state.v[0] = state.v[0].wrapping_add(state.w[0]);
    state.w[0] = state.w[0].wrapping_add(state.v[0]);
    state.mix(s, s.len() - 64, factor, 9);
    let HashState { x, y, z, v, w } = state;
    let left = hash_pair(v[0], w[0], factor).wrapping_add(shift_mix(y).wrapping_mul(K0)).wrapping_add(z);
    let right = hash_pair(v[1], w[1], factor).wrapping_add(x);
    hash_pair(left, right, factor)
}

/// Returns one fingerprint of two: TensorFlow's `FingerprintCat64`.
pub(in crate::ops) fn join_fingerprints(first: u64, second: u64) -> u64 {
    let mixed = shift_mix(second.wrapping_mul(MURMUR)).wrapping_mul(MURMUR);
    let result = (first ^ MURMUR ^ mixed).wrapping_mul(MURMUR);
    shift_mix(shift_mix(result).wrapping_mul(MURMUR))
}

/// The factor of MurmurHash64A.
const MURMUR: u64 = 0xc6a4_a793_5bd1_e995;

/// Returns TensorFlow's `Hash64`: MurmurHash64A with a fixed seed.
#[cfg(feature = "strings")]
pub(super) fn murmur64(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x00de_cafc_affe;
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MURMUR);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(MURMUR);
        hash = (hash ^ (word ^ word >> 47).wrapping_mul(MURMUR)).wrapping_mul(MURMUR);
    }
    if !tail.is_empty() {
        let last = tail.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
        hash = (hash ^ last).wrapping_mul(MURMUR);
    }
    hash = shift_mix(hash).wrapping_mul(MURMUR);
    shift_mix(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths at which the hash of TensorFlow's `Fingerprint` changes its formula.
    #[test]
    fn strings_of_every_length_have_distinct_hashes() {
        let text: Vec<u8> = (0..200).collect();
        for hash in [fingerprint64, murmur64] {
            let mut hashes: Vec<u64> = (0..200).map(|len| hash(&text[..len])).collect();
            hashes.sort_unstable();
            hashes.dedup();
            assert_eq!(hashes.len(), 200);
        }
        assert_eq!(fingerprint64(b""), K2);
    }
}
