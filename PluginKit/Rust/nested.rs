// SPDX-License-Identifier: Apache-2.0

//! Nested loads, for layered schemes and interposers.

use super::abi;
use super::client::Client;
use super::error::{Code, Error};
use super::request::Change;
use super::response::Response;
use std::{ptr, slice};

/// A nested load, which is closed when it is dropped. Reading gives its response, and then its bytes, once. It pauses
/// while the plugin does not read.
///
/// If the nested load fails, reading returns an error with the same code and domain, and the failure as its cause
/// (NEST-02).
pub struct NestedLoad<'a> {
    client: &'a Client,
    table: &'a abi::portolan_nested_table,
    raw: *mut abi::portolan_nested,
}

impl Client {
    /// Starts a nested load, whose request is this load's request with a change. See [`Change::nested`].
    ///
    /// The host never chooses this plugin for the nested request. It follows redirects of the nested load, handles its
    /// challenges as those of this load, and limits the depth.
    pub fn open_nested(&self, change: &Change) -> Result<NestedLoad<'_>, Error> {
        self.check_stopped()?;
        change.check()?;
        // SAFETY: the table is valid as long as the host, which lives longer than the load.
        let table = unsafe { self.host().nested_table().as_ref() }.ok_or_else(|| {
            Error::new(
                Code::NOT_OFFERED,
                "this host has no nested loads; use a host with the extension portolan.nested/1",
            )
        })?;
        // SAFETY: the change is valid during the call.
        let raw = unsafe { (table.open)(self.raw(), &change.raw()) };
        self.nested.borrow_mut().push(raw);
        Ok(NestedLoad { client: self, table, raw })
    }

    /// Closes the nested loads that are open.
    pub(super) fn close_nested_loads(&self) {
        for raw in self.nested.take() {
            // SAFETY: the nested load is open, because it is in the list.
            if let Some(table) = unsafe { self.host().nested_table().as_ref() } {
                unsafe { (table.close)(raw) }
            }
        }
    }
}

impl NestedLoad<'_> {
    /// The response, with the URL of the last redirect. A repeated call returns the same.
    pub fn response(&self) -> Result<Response<'_>, Error> {
        self.client.check_over()?;
        let mut response = ptr::null();
        // SAFETY: the nested load is open.
        let flow = unsafe { (self.table.response)(self.raw, &mut response) };
        // SAFETY: the response is valid until the close, and so as long as `self` is borrowed.
        match unsafe { response.as_ref() } {
            Some(response) if flow == abi::PORTOLAN_CONTINUE => Ok(unsafe { Response::from_raw(response) }),
            _ => Err(self.error()),
        }
    }

    /// The next bytes of the body, which are valid until the next call. `None` after the whole body.
    pub fn next_bytes(&mut self) -> Result<Option<&[u8]>, Error> {
        self.client.check_over()?;
        let mut bytes = ptr::null();
        // SAFETY: the nested load is open.
        let count = unsafe { (self.table.next)(self.raw, &mut bytes) };
        match usize::try_from(count) {
            Ok(0) => Ok(None),
            // SAFETY: the bytes are valid until the next call, and so as long as `self` is borrowed.
            Ok(count) => Ok(Some(unsafe { slice::from_raw_parts(bytes as *const u8, count) })),
            Err(_) => Err(self.error()),
        }
    }

    /// Reads the rest of the body. Returns `Code::LIMIT_EXCEEDED` if it has more than `limit` bytes.
    pub fn read_all(&mut self, limit: usize) -> Result<Vec<u8>, Error> {
        let mut whole = Vec::new();
        while let Some(bytes) = self.next_bytes()? {
            if bytes.len() > limit - whole.len() {
                return Err(Error::new(Code::LIMIT_EXCEEDED, format!("the nested body has more than {limit} bytes")));
            }
            whole.extend_from_slice(bytes);
        }
        Ok(whole)
    }

    /// The reason after PORTOLAN_STOPPED: a copy of the failure, or the stop of the parent load.
    fn error(&self) -> Error {
        // SAFETY: the nested load is open, and the error is valid until the close.
        match unsafe { (self.table.error)(self.raw).as_ref() } {
            Some(cause) => Error::of_nested(unsafe { Error::from_raw(cause) }),
            None => self.client.note_stop(),
        }
    }
}

impl Drop for NestedLoad<'_> {
    fn drop(&mut self) {
        self.client.nested.borrow_mut().retain(|&raw| raw != self.raw);
        // SAFETY: the nested load is open, because only this function closes it while `self` lives.
        unsafe { (self.table.close)(self.raw) }
    }
}
