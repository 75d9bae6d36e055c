// SPDX-License-Identifier: Apache-2.0

//! Text and lists that cross the boundary without a copy.

use super::abi::portolan_string;
use std::os::raw::c_char;
use std::{ptr, slice, str};

/// A string that is absent, which differs from an empty string.
pub(super) const ABSENT: portolan_string = portolan_string { bytes: ptr::null(), length: 0 };

/// A string for the host, which borrows `text`.
pub(super) const fn string(text: &str) -> portolan_string {
    portolan_string { bytes: text.as_ptr() as *const c_char, length: text.len() }
}

pub(super) fn optional(text: Option<&str>) -> portolan_string {
    text.map_or(ABSENT, string)
}

pub(super) fn bytes(bytes: &[u8]) -> portolan_string {
    portolan_string { bytes: bytes.as_ptr() as *const c_char, length: bytes.len() }
}

/// The bytes of a string of the host; `None` if it is absent.
///
/// # Safety
/// The string's bytes stay valid and unchanged for `'a`.
pub(super) unsafe fn bytes_of<'a>(string: portolan_string) -> Option<&'a [u8]> {
    if string.bytes.is_null() {
        return None;
    }
    // SAFETY: as above.
    Some(unsafe { slice::from_raw_parts(string.bytes as *const u8, string.length) })
}

/// The text of a string of the host; `None` if it is absent. A host gives only UTF-8. Text of a host that breaks this
/// rule is empty.
///
/// # Safety
/// As for [`bytes_of`].
pub(super) unsafe fn text_of<'a>(string: portolan_string) -> Option<&'a str> {
    // SAFETY: as above.
    unsafe { bytes_of(string) }.map(|bytes| str::from_utf8(bytes).unwrap_or(""))
}

/// A list of the host, whose pointer can be NULL.
///
/// # Safety
/// The `count` elements at `start` stay valid and unchanged for `'a`.
pub(super) unsafe fn list_of<'a, Element>(start: *const Element, count: usize) -> &'a [Element] {
    if start.is_null() {
        return &[];
    }
    // SAFETY: as above.
    unsafe { slice::from_raw_parts(start, count) }
}

/// The address of a list for the host: NULL if it is empty.
pub(super) fn address<Element>(list: &[Element]) -> *const Element {
    if list.is_empty() {
        ptr::null()
    } else {
        list.as_ptr()
    }
}
