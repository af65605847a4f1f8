//! Random kernels at random sizes.

use super::batch::{Batch, TestMachine};
use super::case::CaseSizes;
use super::random_code::generate;
use super::random_values::Random;
use crate::codegen::Isa;
use crate::lower::verify::verify;

/// Runs a kernel for each seed. Returns the number of cases with the requested instructions, and the number of all
/// cases.
fn random_codes(machine: TestMachine, seeds: std::ops::Range<u64>) -> [usize; 2] {
    // One module per hundred seeds bounds the memory.
    let seeds: Vec<u64> = seeds.collect();
    let [mut requested, mut all] = [0; 2];
    for part in seeds.chunks(100) {
        let mut batch = Batch::new(machine);
        for &seed in part {
            let random = &mut Random::new(seed);
            let generated = generate(random);
            if let Err(reason) = verify(&generated.code) {
                panic!("seed {seed}: {reason}");
            }
            for _ in 0..8 {
                let sizes = CaseSizes::random(random, &generated.code);
                batch.add(generated.case(random, sizes), format!("seed {seed}"));
            }
        }
        let [batch_requested, batch_all] = batch.report();
        (requested, all) = (requested + batch_requested, all + batch_all);
        batch.check();
    }
    [requested, all]
}

#[test]
fn machine_code_equals_the_interpreter() {
    random_codes(TestMachine::Host(Isa::Clif), 0..240);
}

#[test]
fn machine_code_without_avx2_equals_the_interpreter() {
    random_codes(TestMachine::Least, 1000..1060);
}

/// Runs `count` kernels (the environment variable `SHAPEFLOW_CASES` overrides the number) from seed 2000 on (overridden
/// by `SHAPEFLOW_SEED`). At least a sixth must use the requested instructions, so that the test does not lose its
/// object.
fn wide_codes(machine: TestMachine, count: u64) {
    let asked = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = asked("SHAPEFLOW_SEED").unwrap_or(2000);
    let [requested, all] = random_codes(machine, first..first + asked("SHAPEFLOW_CASES").unwrap_or(count));
    eprintln!("{requested} of {all} codes on {machine:?}");
    assert!(6 * requested > all, "{machine:?} serves {requested} of {all} codes");
}

#[test]
fn wide_machine_code_equals_the_interpreter() {
    for isa in [Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.is_present()) {
        wide_codes(TestMachine::Host(isa), 400);
    }
}

#[test]
fn avx2_in_software_equals_the_interpreter() {
    wide_codes(TestMachine::Software(Isa::Avx2), 30);
}

#[test]
fn avx512_in_software_equals_the_interpreter() {
    wide_codes(TestMachine::Software(Isa::Avx512), 60);
}
