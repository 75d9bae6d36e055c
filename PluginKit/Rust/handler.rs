// SPDX-License-Identifier: Apache-2.0

//! What a plugin implements.

use super::abi;
use super::client::Client;
use super::error::{Error, Outcome};
use super::host::{Host, LogLevel};
use super::request::{Change, Request};
use std::marker::PhantomData;

/// A plugin: it loads the URLs of its schemes. The host makes one instance each time that it starts the plugin. Loads
/// of one instance run at the same time, on different threads.
pub trait Handler: Send + Sync + Sized + 'static {
    /// Starts an instance. Read the settings here, and return an error that names a wrong one (REG-06).
    fn new(host: &Host) -> Result<Self, Error>;

    /// Performs one load, on a thread that it can block. `Ok` finishes the load, an error fails it.
    fn load(&self, request: &Request, client: &Client) -> Outcome;
}

/// A handler that does not accept every request of its schemes.
pub trait RequestChoosing: Handler {
    /// Whether the handler loads this request. Takes less than 5 microseconds, has no effects, and is always the same for
    /// the same request. Any thread (CAN-01 to CAN-09).
    fn can_init(&self, request: &Request) -> bool;
}

/// A handler whose requests have a canonical form, which is the key of a stored response.
pub trait RequestCanonicalizing: Handler {
    /// Gives the change that makes the request canonical. Gives nothing for a canonical request. Depends on nothing but
    /// the request (CANON-01).
    fn canonical_request(&self, request: &Request, canonical: Canonical);
}

/// A handler that decides whether a stored response serves another request. Otherwise their URLs must be equal.
pub trait CacheComparing: Handler {
    /// Depends on nothing but the two requests, and not on their order (CANON-04, CANON-05).
    fn is_cache_equivalent(&self, a: &Request, b: &Request) -> bool;
}

/// Receives the canonical form of a request.
pub struct Canonical<'a> {
    raw: *mut abi::portolan_canonical,
    host: &'a Host,
    borrows: PhantomData<&'a mut abi::portolan_canonical>,
}

impl<'a> Canonical<'a> {
    /// # Safety
    /// `raw` is valid for the lifetime, and used only by the result.
    pub(super) unsafe fn new(raw: *mut abi::portolan_canonical, host: &'a Host) -> Canonical<'a> {
        Canonical { raw, host, borrows: PhantomData }
    }

    /// Reports how the canonical request differs. A malformed change is logged, and not reported.
    pub fn give(self, change: &Change) {
        match change.check() {
            // SAFETY: the change is valid during the call. It is the only call, because it consumes `self`.
            Ok(()) => unsafe { ((*self.raw).give)(self.raw, &change.raw()) },
            Err(error) => self.host.log(LogLevel::Error, &format!("the canonical request is malformed: {error}")),
        }
    }
}
