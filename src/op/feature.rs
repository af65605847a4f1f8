//! [`Feature`]: a feature of this crate that an op needs.

use crate::error::{Error, ErrorKind, Phase};

/// A feature of this crate that an op needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feature {
    pub name: &'static str,
    /// What needs the feature, in the plural.
    pub users: &'static str,
    /// Whether this build has the feature.
    pub is_present: bool,
}

impl Feature {
    /// Returns the error of an op that needs the feature, in a build that lacks the feature.
    pub(crate) fn error(&self, phase: Phase) -> Error {
        let Feature { name, users, .. } = self;
        let message = format!("{users} need the feature `{name}` of shapeflow, which this build lacks");
        Error::new(ErrorKind::Compile, phase, message)
    }
}
