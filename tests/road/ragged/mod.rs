//! Ragged tensors: laws, errors, and values recorded from TensorFlow.

mod bytes;
mod graphs;
mod items;
mod laws;
mod mistakes;
mod recorded;
mod selections;

#[test]
fn arbitrary_bytes_never_panic() {
    let mut rng = crate::rng::Rng::new(23);
    for _ in 0..20_000 {
        let length = rng.below(24);
        let bytes: Vec<u8> = (0..length).map(|_| (rng.next_u64() >> 56) as u8).collect();
        bytes::drive(&bytes);
        // Small numbers make ascending splits likelier.
        let small: Vec<u8> = bytes.iter().map(|byte| byte % 24).collect();
        bytes::drive(&small);
    }
}
