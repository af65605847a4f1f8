//! [`Batch`]: kernels that are compiled together, with the cases that they must pass.

use shapeflow_processor::Program;

use super::super::isa::Isa;
use super::super::module::{FuncIndex, Jit};
use super::super::simd;
use super::case::{KernelCase, ReadyFunction};
use crate::lower::kernel_body::KernelBody;

/// The machine that runs the kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TestMachine {
    /// This processor with these instructions, which it must have.
    Host(Isa),
    /// This processor, for code that uses only the instructions that every supported processor has.
    Least,
    /// A simulated processor with these instructions.
    Software(Isa),
}

impl TestMachine {
    /// Returns this processor with each of its instruction sets, this processor with the least instructions, and a
    /// simulated processor with AVX2 and with AVX-512. The simulated processor detects reads outside of buffers, and
    /// runs instructions that this processor lacks.
    pub fn all() -> impl Iterator<Item = TestMachine> {
        let hosts = [Isa::Clif, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.is_present());
        let software = [Isa::Avx2, Isa::Avx512].map(TestMachine::Software);
        hosts.map(TestMachine::Host).chain([TestMachine::Least]).chain(software)
    }
}

/// Kernels with the cases that they must pass on a machine.
pub(super) struct Batch {
    target: BatchTarget,
    /// Each case with the number of its function in `target`, and its name.
    cases: Vec<(usize, KernelCase, String)>,
}

enum BatchTarget {
    /// Functions of one module. `fused` says whether `MulAdd` rounds once.
    Host { jit: Box<Jit>, fused: bool, functions: Vec<FuncIndex> },
    /// Functions of the SIMD emitter. A kernel that it refuses has no function.
    Software { isa: simd::VectorIsa, functions: Vec<(KernelBody, Option<Program>)> },
}

impl Batch {
    pub fn new(machine: TestMachine) -> Batch {
        let host = |native: bool, isa: Isa| {
            let (jit, fused) = Jit::for_tests(native, isa);
            BatchTarget::Host { jit: Box::new(jit), fused, functions: Vec::new() }
        };
        let target = match machine {
            TestMachine::Host(isa) => host(true, isa),
            TestMachine::Least => host(false, Isa::Clif),
            TestMachine::Software(isa) => {
                let isa = isa.wide().expect("the processor in software has only wide instructions");
                BatchTarget::Software { isa, functions: Vec::new() }
            }
        };
        Batch { target, cases: Vec::new() }
    }

    /// Compiles the kernel of `case` and adds the case. `name` is for the message of a failure.
    pub fn add(&mut self, case: KernelCase, name: impl Into<String>) {
        let number = match &mut self.target {
            BatchTarget::Host { jit, functions, .. } => {
                functions.push(jit.add(&case.code).unwrap_or_else(|e| panic!("{e}\n{}", case.describe())));
                functions.len() - 1
            }
            BatchTarget::Software { isa, functions } => {
                if functions.last().is_none_or(|(code, _)| *code != case.code) {
                    functions.push((case.code.clone(), simd::emit(&case.code, *isa).ok().map(Program::new)));
                }
                functions.len() - 1
            }
        };
        self.cases.push((number, case, name.into()));
    }

    /// Returns the number of cases that run with the requested instructions, and the number of all cases.
    pub fn report(&self) -> [usize; 2] {
        let as_requested = |number: usize| match &self.target {
            BatchTarget::Host { jit, functions, .. } => jit.emitted(functions[number]).reason.is_none(),
            BatchTarget::Software { functions, .. } => functions[number].1.is_some(),
        };
        let requested = self.cases.iter().filter(|(number, ..)| as_requested(*number));
        [requested.count(), self.cases.len()]
    }

    /// Compares every case whose kernel has a function with the interpreter. Panics at the first failure.
    pub fn check(self) {
        self.check_each(&KernelCase::check);
    }

    /// Checks that every case whose kernel has a function ends early. Panics at the first failure.
    pub fn check_stops(self) {
        self.check_each(&|case, code, _| case.check_stops(code));
    }

    /// Calls `check` with each case, its function, and whether `MulAdd` rounds once.
    fn check_each(self, check: &dyn Fn(&KernelCase, ReadyFunction<'_>, bool) -> Result<(), String>) {
        let check = |case: &KernelCase, ready: ReadyFunction<'_>, fused: bool, name: &str| {
            if let Err(reason) = check(case, ready, fused) {
                panic!("{name}: {reason}\n{}", case.describe());
            }
        };
        match self.target {
            BatchTarget::Host { jit, fused, functions } => {
                let module = jit.finish().unwrap();
                for (number, case, name) in &self.cases {
                    check(case, ReadyFunction::Placed(&module, functions[*number]), fused, name);
                }
            }
            BatchTarget::Software { functions, .. } => {
                for (number, case, name) in &self.cases {
                    if let Some(program) = &functions[*number].1 {
                        check(case, ReadyFunction::Decoded(program), true, name);
                    }
                }
            }
        }
    }
}
