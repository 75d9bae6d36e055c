// SPDX-License-Identifier: Apache-2.0

//! The client of a load: it receives the load's events.

use super::error::{Code, Error, Outcome};
use super::field::Field;
use super::host::Host;
use super::interrupt::Interrupts;
use super::load::LoadState;
use super::order::Order;
use super::request::{Change, Request};
use super::response::{Response, Step};
use super::{abi, borrowed};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::ptr;

/// Receives the events of a load, and serves its requests for bodies, credentials and nested loads.
///
/// `did_receive` and `did_load` return when the reader is ready for the next event. After the load was stopped, every call returns an
/// error for which [`Error::is_stop`] is true. A call that breaks the order of events returns an error that names the
/// broken rule, and the host does not receive the event.
pub struct Client {
    raw: *mut abi::portolan_client,
    state: *const LoadState,
    order: Cell<Order>,
    /// Whether the load knows that it was stopped, or that its redirect was taken.
    is_over: Cell<bool>,
    /// The nested loads that are open.
    pub(super) nested: RefCell<Vec<*mut abi::portolan_nested>>,
}

impl Client {
    /// # Safety
    /// `state` and its client are valid as long as the result.
    pub(super) unsafe fn new(state: &LoadState, is_multipart: bool) -> Client {
        let request = state.request();
        let order = Order::new(is_multipart, request.is_head(), request.body_length());
        Client {
            raw: state.client,
            state,
            order: Cell::new(order),
            is_over: Cell::new(false),
            nested: RefCell::new(Vec::new()),
        }
    }

    pub(super) fn state(&self) -> &LoadState {
        // SAFETY: the state is valid, see `new`.
        unsafe { &*self.state }
    }

    /// The pointer that the functions of the host take as the client.
    pub(super) fn raw(&self) -> *mut abi::portolan_client {
        self.raw
    }

    pub(super) fn table(&self) -> &abi::portolan_client {
        // SAFETY: the client is valid, see `new`.
        unsafe { &*self.raw }
    }

    pub(super) fn interrupts(&self) -> &Interrupts {
        &self.state().interrupts
    }

    /// The host, for logging.
    pub fn host(&self) -> &Host {
        self.state().host()
    }

    // A stop.

    /// Whether the load was stopped. For loops that call no other function.
    pub fn is_stopped(&self) -> bool {
        self.is_over.get() || self.stop_flag().is_stopped()
    }

    /// Returns the stop as an error, to pass it on: `client.check_stopped()?`.
    pub fn check_stopped(&self) -> Outcome {
        if self.is_stopped() {
            Err(self.note_stop())
        } else {
            Ok(())
        }
    }

    /// Tells other threads, such as those of `std::thread::scope`, whether the load was stopped.
    pub fn stop_flag(&self) -> StopFlag<'_> {
        StopFlag { raw: self.raw, borrows: PhantomData }
    }

    /// Records the stop, and returns it as an error.
    pub(super) fn note_stop(&self) -> Error {
        self.is_over.set(true);
        Error::stopped()
    }

    pub(super) fn outcome(&self, flow: abi::portolan_flow) -> Outcome {
        if flow == abi::PORTOLAN_STOPPED {
            Err(self.note_stop())
        } else {
            Ok(())
        }
    }

    /// Converts the result of a read: the number of bytes, or, if it is negative, the stop as an error.
    pub(super) fn count(&self, count: i64) -> Result<usize, Error> {
        usize::try_from(count).map_err(|_| self.note_stop())
    }

    // The response.

    /// Delivers an interim response, status 100 to 199, before the response.
    pub fn did_receive_interim(&self, response: &Response) -> Outcome {
        self.check_stopped()?;
        response.check(true)?;
        self.order.get().check_before_response("did_receive_interim")?;
        // SAFETY: the response is valid during the call.
        unsafe { (self.table().did_receive_interim)(self.raw, &response.raw()) };
        Ok(())
    }

    /// Delivers the response. With the flag `multipart`, delivers one for each part.
    pub fn did_receive(&self, response: &Response) -> Outcome {
        self.check_over()?;
        response.check(false)?;
        self.record(|order| order.record_response(response.expected_length))?;
        // SAFETY: the response is valid during the call.
        self.outcome(unsafe { (self.table().did_receive_response)(self.raw, &response.raw()) })
    }

    /// Delivers the next bytes of the body: a text, a slice or a vector. Pieces of 4 KiB to 1 MiB are most efficient.
    pub fn did_load(&self, bytes: impl AsRef<[u8]>) -> Outcome {
        let bytes = bytes.as_ref();
        self.check_over()?;
        self.record(|order| order.record_data(bytes.len()))?;
        // SAFETY: the bytes are valid and do not change during the call.
        self.outcome(unsafe { (self.table().did_load)(self.raw, bytes.as_ptr() as *const c_void, bytes.len()) })
    }

    /// Delivers the trailer fields (RFC 9110 section 6.5), at most once.
    pub fn did_receive_trailers(&self, fields: &[Field]) -> Outcome {
        self.check_stopped()?;
        Field::check(fields, false, Code::BAD_RESPONSE)?;
        self.record(Order::record_trailers)?;
        let start = borrowed::address(fields) as *const abi::portolan_field;
        // SAFETY: the fields are valid during the call, and have the layout of `portolan_field`.
        unsafe { (self.table().did_receive_trailers)(self.raw, start, fields.len()) };
        Ok(())
    }

    /// Reports that the resource is at another URL, before the response. If the redirect is taken, the load is over,
    /// and the result is the stop. `Ok` means that it is not taken: deliver this response and its body. Without a response,
    /// the result is then `Code::BAD_REDIRECT`.
    pub fn was_redirected(&self, to: &Change, response: Option<&Response>) -> Outcome {
        self.check_over()?;
        to.check()?;
        response.map_or(Ok(()), |response| response.check(false))?;
        self.order.get().check_before_response("was_redirected")?;
        let raw = response.map(Response::raw);
        let pointer = raw.as_ref().map_or(ptr::null(), |raw| raw as *const _);
        // SAFETY: the change and the response are valid during the call.
        self.outcome(unsafe { (self.table().was_redirected)(self.raw, &to.raw(), pointer) })?;
        if response.is_none() {
            return Err(Error::new(
                Code::BAD_REDIRECT,
                "the caller did not follow the redirect, and the redirect has no response to deliver",
            ));
        }
        Ok(())
    }

    // A stored response.

    /// The stored response, which the load can confirm. It can be damaged: check each value that you use (CACHE-06).
    pub fn cached_response(&self) -> Option<Response<'_>> {
        // SAFETY: the response is valid as long as the load.
        unsafe { self.state().cached.as_ref().map(|raw| Response::from_raw(raw)) }
    }

    /// Reports that the stored response is still valid, with newer fields if the server sent some. Call this instead of
    /// [`Client::did_receive`]. No data follows.
    pub fn cached_response_is_valid(&self, newer: Option<&Response>) -> Outcome {
        self.check_stopped()?;
        newer.map_or(Ok(()), |response| response.check(false))?;
        let has_stored_response = !self.state().cached.is_null();
        self.record(|order| order.record_confirmation(has_stored_response))?;
        let raw = newer.map(Response::raw);
        let pointer = raw.as_ref().map_or(ptr::null(), |raw| raw as *const _);
        // SAFETY: the response is valid during the call.
        unsafe { (self.table().cached_response_is_valid)(self.raw, pointer) };
        Ok(())
    }

    // Progress.

    /// Reports the total number of bytes of the upload body that were sent to the peer.
    pub fn did_send(&self, total: u64) -> Outcome {
        self.check_stopped()?;
        self.record(|order| order.record_sent(total))?;
        // SAFETY: there are no pointers except the client.
        unsafe { (self.table().did_send)(self.raw, i64::try_from(total).unwrap_or(i64::MAX)) };
        Ok(())
    }

    /// Reports for the metrics that the load has reached a step. Report each step once, and again after a rewind.
    pub fn did_reach(&self, step: Step) -> Outcome {
        self.check_stopped()?;
        // SAFETY: there are no pointers except the client.
        unsafe { (self.table().did_reach)(self.raw, step as abi::portolan_step) };
        Ok(())
    }

    // The end.

    /// Closes leaked nested loads, and reports the end, unless the load knows that it is over.
    pub(super) fn end(&self, outcome: Outcome) {
        // Only nested loads that the plugin leaked are still open.
        self.close_nested_loads();
        if self.is_over.get() {
            return;
        }
        match outcome.and_then(|()| self.order.get().check_end()) {
            // SAFETY: this is the load's only end.
            Ok(()) => unsafe { (self.table().did_finish)(self.raw) },
            Err(error) if error.is_stop() => self.fail(&Error::new(
                Code::UNKNOWN,
                "the plugin returned an error that means a stop, but this load was not stopped; ask its author",
            )),
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&self, error: &Error) {
        // SAFETY: this is the load's only end, and the error is valid during the call.
        error.with_raw(|raw| unsafe { (self.table().did_fail)(self.raw, raw) })
    }

    /// Like `check_stopped`, but does not ask the host, because the result of the call that follows reports a new stop.
    pub(super) fn check_over(&self) -> Outcome {
        if self.is_over.get() {
            Err(Error::stopped())
        } else {
            Ok(())
        }
    }

    pub(super) fn check_challenge(&self) -> Outcome {
        self.order.get().check_challenge()
    }

    pub(super) fn record(&self, step: impl FnOnce(&mut Order) -> Outcome) -> Outcome {
        let mut order = self.order.get();
        step(&mut order)?;
        self.order.set(order);
        Ok(())
    }
}

/// Whether a load was stopped, for any thread.
#[derive(Clone, Copy)]
pub struct StopFlag<'a> {
    raw: *mut abi::portolan_client,
    borrows: PhantomData<&'a Client>,
}

// SAFETY: `is_stopped` is [any], and the client is valid for the lifetime.
unsafe impl Send for StopFlag<'_> {}
// SAFETY: as above.
unsafe impl Sync for StopFlag<'_> {}

impl StopFlag<'_> {
    pub fn is_stopped(&self) -> bool {
        // SAFETY: the client is valid for the lifetime.
        unsafe { ((*self.raw).is_stopped)(self.raw) != 0 }
    }
}
