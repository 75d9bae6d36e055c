// SPDX-License-Identifier: Apache-2.0

//! The upload body, and the body of a stored response.

use super::client::Client;
use super::error::{Code, Error};
use std::os::raw::c_void;

impl Client {
    /// Reads the next bytes of the upload body. Waits until there are some. Returns their number, 0 at the end. If the
    /// body fails, returns a stop, because the host has then ended the load with the body's error.
    pub fn read_body(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        self.check_over()?;
        check_buffer(buffer)?;
        // SAFETY: the host writes at most `len` bytes.
        self.count(unsafe { (self.table().read_body)(self.raw(), buffer.as_mut_ptr() as *mut c_void, buffer.len()) })
    }

    /// Reads the rest of the upload body. Returns `Code::LIMIT_EXCEEDED` if it has more than `limit` bytes.
    pub fn read_whole_body(&self, limit: usize) -> Result<Vec<u8>, Error> {
        read_all(limit, "upload body", |buffer| self.read_body(buffer))
    }

    /// Requests the upload body from its start, to send it again. `false`: it cannot be read again. Then fail with
    /// `Code::BODY_FAILED`.
    pub fn rewind_body(&self) -> Result<bool, Error> {
        self.check_over()?;
        // SAFETY: there are no pointers except the client.
        match unsafe { (self.table().rewind_body)(self.raw()) } {
            1 => {
                self.record(|order| {
                    order.record_rewind();
                    Ok(())
                })?;
                Ok(true)
            }
            0 => Ok(false),
            _ => Err(self.note_stop()),
        }
    }

    /// Reads the stored response's body from `offset`. The offsets can be in any order. Returns the number of bytes, 0
    /// at or after the end. If the body cannot be read, returns a stop, because the host has then ended the load.
    pub fn read_cached(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Error> {
        self.check_over()?;
        check_buffer(buffer)?;
        let offset = i64::try_from(offset).unwrap_or(i64::MAX);
        let start = buffer.as_mut_ptr() as *mut c_void;
        // SAFETY: the host writes at most `len` bytes.
        self.count(unsafe { (self.table().read_cached)(self.raw(), offset, start, buffer.len()) })
    }
}

fn check_buffer(buffer: &[u8]) -> Result<(), Error> {
    if buffer.is_empty() {
        return Err(Error::new(Code::UNKNOWN, "a read was called with an empty buffer; give it at least one byte"));
    }
    Ok(())
}

/// Calls `read` until it returns 0. `noun` is for the error.
pub(super) fn read_all(
    limit: usize,
    noun: &str,
    mut read: impl FnMut(&mut [u8]) -> Result<usize, Error>,
) -> Result<Vec<u8>, Error> {
    let mut whole = Vec::new();
    let mut piece = vec![0; 1 << 16];
    loop {
        let count = read(&mut piece)?;
        if count == 0 {
            return Ok(whole);
        }
        if count > limit - whole.len() {
            return Err(Error::new(Code::LIMIT_EXCEEDED, format!("the {noun} has more than {limit} bytes")));
        }
        whole.extend_from_slice(&piece[..count]);
    }
}
