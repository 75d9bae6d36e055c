// SPDX-License-Identifier: Apache-2.0

//! The kit for Portolan plugins in Rust: a safe wrapper of the plugin contract (`portolan/*.h`).
//!
//! A plugin implements [`Handler`], and exports it with `portolan::export!`. Its own file needs no `unsafe`, no pointer
//! and no function of C. This folder is the module `portolan` at the root of the plugin's crate, and uses only `std`.
//!
//! - **Blocking loads.** [`Handler::load`] is one function, on a thread of the host, which it can block. A client call
//!   waits while the reader is slow. The thread has 512 KiB of stack.
//! - **The end.** Returning `Ok` finishes the load. Returning an [`Error`] fails it.
//! - **A stop** comes out of every client call as an error, and `?` passes it on. The kit then calls nothing more. A
//!   load that waits in a system call uses [`Client::interruptible`].
//! - **Panics** become failed loads. The host's log has the message and the place. Nothing is written to standard
//!   error. A second panic while the first one unwinds aborts the process, as in every Rust program.
//! - **Values** are borrowed. A value of the host is valid as long as the reference from which it came.
//!
//! The kit is written for Rust 1.63 and later.
#![allow(dead_code, unsafe_code, unused_imports, unused_macros)]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(panic = "abort")]
compile_error!("a panic must not end the program that loads the plugin: build with panic = \"unwind\"");

pub mod abi;
pub mod entry;

mod body;
mod borrowed;
mod challenge;
mod client;
mod error;
mod field;
mod handler;
mod host;
mod interrupt;
mod load;
mod nested;
mod order;
mod panics;
mod request;
mod response;
mod syntax;
mod url;

pub use challenge::{Answer, Challenge, ChallengeMethod, Credential, Secret};
pub use client::{Client, StopFlag};
pub use error::{Code, Error, Outcome};
pub use field::{Field, FromValue, Property, Value};
pub use handler::{CacheComparing, Canonical, Handler, RequestCanonicalizing, RequestChoosing};
pub use host::{Host, LogLevel};
pub use nested::NestedLoad;
pub use request::{CachePolicy, Change, Request, Service};
pub use response::{Response, Step, Storage};
pub use url::{join, percent_decode, percent_decode_bytes, query_item, quote};

/// Exports a handler as the plugin of this library. The texts are the same as in the manifest.
///
/// ```text
/// portolan::export!(Hello {
///     identifier: "org.example.hello",
///     name: "Hello",
///     vendor: "Example",
///     version: "0.1.0",
///     schemes: ["hello"],            // or: any, for an interposer, which the host offers every request
///     flags: [cookies, cacheable],   // can be left out; see `entry::flags`
/// });
/// ```
macro_rules! export {
    ($handler:ty {
        identifier: $identifier:expr,
        name: $name:expr,
        vendor: $vendor:expr,
        version: $version:expr,
        schemes: $schemes:tt
        $(, flags: [$($flag:ident),* $(,)?])?
        $(,)?
    }) => {
        #[allow(unsafe_code)]
        const _: () = {
            #[allow(unused_imports)]
            use $crate::portolan::entry::Absent as _;
            use $crate::portolan::{abi, entry};

            const _: () = assert!(
                entry::is_reverse_dns($identifier),
                "write the identifier in reverse DNS, as in org.example.hello"
            );
            const _: () = assert!(!$name.is_empty() && !$vendor.is_empty(), "the name and the vendor are not empty");
            const SCHEMES: &[abi::portolan_string] = $crate::portolan::export!(@schemes $schemes);
            const FLAGS: u32 = $crate::portolan::export!(@flags $schemes) $($(| entry::flags::$flag)*)?;

            static LOADS: abi::portolan_load_table = entry::load_table::<$handler>();
            static HANDLER: abi::portolan_handler = abi::portolan_handler {
                can_init: entry::Ability::<$handler>::CAN_INIT,
                canonical_request: entry::Ability::<$handler>::CANONICAL_REQUEST,
                is_cache_equivalent: entry::Ability::<$handler>::IS_CACHE_EQUIVALENT,
                ..entry::handler::<$handler>($identifier, SCHEMES, FLAGS, &LOADS)
            };
            static HANDLERS: entry::Handlers = entry::Handlers([&HANDLER]);
            static PLUGIN: abi::portolan_plugin =
                entry::plugin::<$handler>($identifier, $name, $vendor, $version, &HANDLERS);

            #[no_mangle]
            pub extern "C" fn portolan_plugin_entry(abi_major: u32) -> *const abi::portolan_plugin {
                if abi_major == abi::PORTOLAN_ABI_MAJOR { &PLUGIN } else { std::ptr::null() }
            }
        };
    };
    (@schemes [$($scheme:expr),+ $(,)?]) => {
        &[$({
            const _: () = assert!(
                $crate::portolan::entry::is_scheme($scheme),
                "a scheme has lower-case letters, digits, '+', '-' and '.', and begins with a letter"
            );
            $crate::portolan::entry::string($scheme)
        }),+]
    };
    (@schemes any) => { &[] };
    (@flags [$($scheme:expr),+ $(,)?]) => { 0 };
    (@flags any) => { $crate::portolan::abi::PORTOLAN_ANY_SCHEME as u32 };
}

pub(crate) use export;
