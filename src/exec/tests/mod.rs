//! Tests of whole runs.

mod specializations;
