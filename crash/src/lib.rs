//! The crash proof: a process that works on tasks is made to die, its disk to fail or its power to be lost, and an auditor
//! that knows nothing of the product's code but its tables compares what is stored with what services have done.
//!
//! - [`world`]: the workflows, and the services with their books, which outlive the process.
//! - [`driver`]: the process that is made to die.
//! - [`audit`]: what must hold once it was started again and has come to rest.
//! - [`shim`]: between SQLite and the disk; aborts, errors, and a record from which the disk is rebuilt as it was when the
//!   power went.
//! - [`campaign`]: all of it, many times. `cargo xtask crash`.

pub mod audit;
pub mod campaign;
pub mod child;
pub mod driver;
pub mod folder;
pub mod point;
pub mod shim;
pub mod tick;
pub mod world;
