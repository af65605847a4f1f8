//! [`CraneliftModule`] in a build without Cranelift: no value of this type exists.

use super::error::cannot_compile;
use crate::error::{Error, Result};
use crate::lower::kernel_body::KernelBody;

/// Stands for the module of a build with Cranelift. It has no values.
pub(super) enum CraneliftModule {}

/// Stands for a function of that module. It has no values.
#[derive(Clone, Copy, Debug)]
pub(super) enum FuncId {}

fn absent() -> Error {
    cannot_compile(
        "this build has no Cranelift; add the feature `cranelift` of shapeflow, or run by Backend::Interpreter",
    )
}

impl CraneliftModule {
    /// Refuses: the build has no Cranelift.
    pub fn new() -> Result<CraneliftModule> {
        Err(absent())
    }

    pub fn define(&mut self, _code: &KernelBody) -> Result<(FuncId, usize)> {
        match *self {}
    }

    pub fn finish(&mut self) -> Result<()> {
        match *self {}
    }

    pub fn address(&self, _id: FuncId) -> *const u8 {
        match *self {}
    }

    /// Refuses: the build has no Cranelift.
    pub fn text(_code: &KernelBody) -> Result<String> {
        Err(absent())
    }
}
