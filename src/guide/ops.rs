#![doc = include_str!("ops.md")]
