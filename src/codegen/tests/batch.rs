//! [`Batch`]: codes with the cases they must pass on a machine.

use shapeflow_processor::Program;

use super::super::isa::Isa;
use super::super::module::{CodeModule, FuncIndex, Jit};
use super::super::simd;
use super::Case;
use crate::lower::code::Code;

/// A function that may be run.
#[derive(Clone, Copy)]
pub(super) enum Ready<'a> {
    Placed(&'a CodeModule, FuncIndex),
    /// Of the wide emitter.
    Decoded(&'a Program),
}

/// Where codes are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Machine {
    /// The processor of this machine, which must have these instructions.
    Host(Isa),
    /// Its least: what every processor has.
    Least,
    /// The processor in software.
    Software(Isa),
}

impl Machine {
    /// This machine with every instruction set that it has, and the wide ones in software: there what is read outside of
    /// buffers is seen, and what this machine lacks is run.
    pub fn all() -> impl Iterator<Item = Machine> {
        let hosts = [Isa::Clif, Isa::Avx2, Isa::Avx512].into_iter().filter(|isa| isa.is_present());
        let software = [Isa::Avx2, Isa::Avx512].map(Machine::Software);
        hosts.map(Machine::Host).chain([Machine::Least]).chain(software)
    }
}

/// Codes with the cases they must pass on a machine.
pub(super) struct Batch {
    target: Target,
    cases: Vec<(usize, Case, String)>,
}

enum Target {
    /// Codes compiled together; whether a product and a sum round once.
    Host { jit: Box<Jit>, fused: bool, functions: Vec<FuncIndex> },
    /// Codes, as far as the wide emitter serves them.
    Software { isa: simd::VectorIsa, functions: Vec<(Code, Option<Program>)> },
}

impl Batch {
    pub fn new(machine: Machine) -> Batch {
        let host = |native: bool, isa: Isa| {
            let (jit, fused) = Jit::for_tests(native, isa);
            Target::Host { jit: Box::new(jit), fused, functions: Vec::new() }
        };
        let target = match machine {
            Machine::Host(isa) => host(true, isa),
            Machine::Least => host(false, Isa::Clif),
            Machine::Software(isa) => {
                let isa = isa.wide().expect("only wide instructions are known in software");
                Target::Software { isa, functions: Vec::new() }
            }
        };
        Batch { target, cases: Vec::new() }
    }

    pub fn add(&mut self, case: Case, name: impl Into<String>) {
        let number = match &mut self.target {
            Target::Host { jit, functions, .. } => {
                functions.push(jit.add(&case.code).unwrap_or_else(|e| panic!("{e}\n{}", case.describe())));
                functions.len() - 1
            }
            Target::Software { isa, functions } => {
                if functions.last().is_none_or(|(code, _)| *code != case.code) {
                    functions.push((case.code.clone(), simd::emit(&case.code, *isa).ok().map(Program::new)));
                }
                functions.len() - 1
            }
        };
        self.cases.push((number, case, name.into()));
    }

    /// How many cases run in the instructions asked for, and how many there are.
    pub fn report(&self) -> [usize; 2] {
        let is_own = |number: usize| match &self.target {
            Target::Host { jit, functions, .. } => {
                jit.emitted(functions[number]).is_some_and(|emitted| emitted.reason.is_none())
            }
            Target::Software { functions, .. } => functions[number].1.is_some(),
        };
        let own = self.cases.iter().filter(|(number, ..)| is_own(*number));
        [own.count(), self.cases.len()]
    }

    /// Runs every case; of those in software the ones that the emitter serves.
    pub fn check(self) {
        let check = |case: &Case, ready: Ready<'_>, fused: bool, name: &str| {
            if let Err(reason) = case.check(ready, fused) {
                panic!("{name}: {reason}\n{}", case.describe());
            }
        };
        match self.target {
            Target::Host { jit, fused, functions } => {
                let module = jit.finish().unwrap();
                for (number, case, name) in &self.cases {
                    check(case, Ready::Placed(&module, functions[*number]), fused, name);
                }
            }
            Target::Software { functions, .. } => {
                for (number, case, name) in &self.cases {
                    if let Some(program) = &functions[*number].1 {
                        check(case, Ready::Decoded(program), true, name);
                    }
                }
            }
        }
    }
}
