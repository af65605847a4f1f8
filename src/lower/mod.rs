//! Partition of a graph into kernels, and kernels as plain data.

mod access;
mod affine;
pub(crate) mod boxes;
mod build;
mod cluster;
pub(crate) mod code;
mod define;
mod display;
#[cfg(test)]
mod fold_lanes;
mod home;
pub(crate) mod in_place;
mod inline;
#[cfg(test)]
pub(crate) mod interpret;
pub(crate) mod kernel;
pub(crate) mod mode;
mod order;
mod partition;
pub(crate) mod plan;
mod plan_axes;
pub(crate) mod program;
mod schedule;
mod sized;
pub(crate) mod verify;

pub(crate) use sized::Unsized;
