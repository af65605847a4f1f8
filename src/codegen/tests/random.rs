//! Random codes at random sizes.

use super::random_code::generate;
use super::{Batch, Random, Sizes};
use crate::lower::verify::verify;

fn random_codes(native: bool, seeds: std::ops::Range<u64>) {
    let mut batch = Batch::new(native);
    for seed in seeds {
        let random = &mut Random::new(seed);
        let generated = generate(random);
        if let Err(reason) = verify(&generated.code) {
            panic!("seed {seed}: {reason}");
        }
        for _ in 0..8 {
            let sizes = Sizes::random(random, &generated.code);
            batch.add(generated.case(random, sizes), format!("seed {seed}"));
        }
    }
    batch.check();
}

#[test]
fn machine_code_equals_the_interpreter() {
    random_codes(true, 0..240);
}

#[test]
fn machine_code_without_avx2_equals_the_interpreter() {
    random_codes(false, 1000..1060);
}
