//! Plugins for the push router Carillon, in safe Rust and without dependencies.
//!
//! A plugin is a `cdylib`. It implements [`Transport`] or [`Filter`] and exports itself with [`plugin!`]; `carillon
//! plugin check` tests it. `examples/webhook.rs` is a complete transport, `examples/wordlist.rs` a complete filter, and
//! `examples/snpp.rs` a transport that uses timers, state, streams, batches and requests from outside.
//! `carillon/plugin.h` is the contract. This crate ensures its rules: a delivery ends once, texts are escaped, and a
//! panic becomes a failure of the call it happened in. That requires `panic = "unwind"`, which is Cargo's default.

#![allow(unsafe_op_in_unsafe_fn)]
#![allow(clippy::missing_safety_doc)]

pub mod abi;
pub mod filter;
mod guard;
mod host;
pub mod json;
mod message;
mod stream;
pub mod testing;
mod testing_services;
mod ticket;
mod timer;
pub mod transport;

pub use filter::{Filter, FilterCall, FollowDistance, Need, Verdict};
pub use host::{Host, LogLevel, Outcome, OutcomeKind, Refusal, Request, Scope};
pub use message::{Action, InboundAnswer, InboundRequest, Mode, Notification, Registration, Response, Urgency};
pub use stream::{Stream, StreamHandler, StreamTarget};
pub use ticket::{Reply, Ticket};
pub use timer::Timer;
pub use transport::{Delivery, Transport};

/// Exports the entry function of a plugin. Use it once in a `cdylib`:
///
/// ```ignore
/// carillon_plugin::plugin! {
///     id: "org.example.pager",
///     version: env!("CARGO_PKG_VERSION"),
///     transports: [Pager],
///     filters: [],
/// }
/// ```
#[macro_export]
macro_rules! plugin {
    (
        id: $id:expr, version: $version:expr,
        transports: [$($transport:ty),* $(,)?], filters: [$($filter:ty),* $(,)?] $(,)?
    ) => {
        /// The only symbol that a plugin exports.
        #[no_mangle]
        pub extern "C" fn carillon_plugin_entry_v1() -> *const $crate::abi::Plugin {
            static TRANSPORTS: &[&$crate::abi::Transport] = &[$(&$crate::transport::table::<$transport>()),*];
            static FILTERS: &[&$crate::abi::Filter] = &[$(&$crate::filter::table::<$filter>()),*];
            static PLUGIN: $crate::abi::Plugin = $crate::abi::Plugin {
                struct_size: ::std::mem::size_of::<$crate::abi::Plugin>() as u32,
                abi_minor: $crate::abi::MINOR,
                id: $crate::abi::Str::of($id),
                version: $crate::abi::Str::of($version),
                transports: TRANSPORTS.as_ptr() as *const *const $crate::abi::Transport,
                transport_count: TRANSPORTS.len(),
                filters: FILTERS.as_ptr() as *const *const $crate::abi::Filter,
                filter_count: FILTERS.len(),
            };
            &PLUGIN
        }
    };
}
