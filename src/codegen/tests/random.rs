//! Random codes at random sizes.

use super::random_code::generate;
use super::{Batch, Random, Sizes};
use crate::codegen::Isa;
use crate::lower::verify::verify;

fn random_codes(native: bool, isa: Isa, seeds: std::ops::Range<u64>) -> [usize; 2] {
    let mut batch = Batch::of(native, isa);
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
    let report = batch.report();
    batch.check();
    report
}

#[test]
fn machine_code_equals_the_interpreter() {
    let _ = random_codes(true, Isa::Clif, 0..240);
}

#[test]
fn machine_code_without_avx2_equals_the_interpreter() {
    let _ = random_codes(false, Isa::Clif, 1000..1060);
}

/// Seeds of the test of wide code: as many as the environment asks for.
fn wide_seeds() -> std::ops::Range<u64> {
    let count = std::env::var("SHAPEFLOW_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(400);
    2000..2000 + count
}

#[test]
fn wide_machine_code_equals_the_interpreter() {
    for isa in [Isa::Avx2, Isa::Avx512] {
        if !isa.is_present() {
            eprintln!("this processor has no {isa}: its code is decoded but not run");
            continue;
        }
        // A module a hundred seeds, so that many do not fill memory.
        let seeds: Vec<u64> = wide_seeds().collect();
        let [mut own, mut all] = [0; 2];
        for part in seeds.chunks(100) {
            let [more, of] = random_codes(true, isa, part[0]..part[0] + part.len() as u64);
            (own, all) = (own + more, all + of);
        }
        eprintln!("{own} of {all} codes in {isa}");
        assert!(6 * own > all, "{isa} serves {own} of {all} codes");
    }
}
