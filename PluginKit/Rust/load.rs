// SPDX-License-Identifier: Apache-2.0

//! The state of a load, from `make` to `destroy`.

use super::abi;
use super::host::Host;
use super::interrupt::Interrupts;
use super::request::Request;

/// The load-thread and `stop` share it.
pub(super) struct LoadState {
    request: *const abi::portolan_request,
    /// NULL if there is no stored response.
    pub(super) cached: *const abi::portolan_response,
    pub(super) client: *mut abi::portolan_client,
    host: *const Host,
    pub(super) interrupts: Interrupts,
}

impl LoadState {
    /// # Safety
    /// The values are valid as long as the result, and `cached` can be NULL.
    pub(super) unsafe fn new(
        request: *const abi::portolan_request,
        cached: *const abi::portolan_response,
        client: *mut abi::portolan_client,
        host: *const Host,
    ) -> LoadState {
        LoadState { request, cached, client, host, interrupts: Interrupts::new() }
    }

    pub(super) fn request(&self) -> &Request {
        // SAFETY: the request is valid, see `new`.
        unsafe { Request::from_raw(self.request) }
    }

    pub(super) fn host(&self) -> &Host {
        // SAFETY: the host is valid, see `new`.
        unsafe { &*self.host }
    }
}
