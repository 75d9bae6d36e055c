// SPDX-License-Identifier: Apache-2.0

//! A response without its body, and the steps of a load.

use super::borrowed::{address, list_of, optional, text_of};
use super::error::{Code, Error};
use super::field::Field;
use super::{abi, syntax, url};

/// Whether a response can be stored. The handler also needs the flag `cacheable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    NotAllowed,
    InMemoryOnly,
    Allowed,
}

/// A response without its body. Write `Response { mime_type: Some("text/plain"), ..Response::new() }`.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    /// 0 if the protocol has none; 100 to 199 only in an interim response.
    pub status: i32,
    /// The URL from which it was loaded, absolute. `None`: the request's URL.
    pub url: Option<&'a str>,
    /// Without parameters, as in `text/plain`. `None`: unknown.
    pub mime_type: Option<&'a str>,
    /// The charset, as in `utf-8`. `None`: unknown, or not text.
    pub text_encoding: Option<&'a str>,
    /// A file name for saving, without a path. `None`: the host makes a name from the URL.
    pub suggested_name: Option<&'a str>,
    /// The number of body bytes that follow. `None`: unknown.
    pub expected_length: Option<u64>,
    pub fields: &'a [Field<'a>],
    pub storage: Storage,
}

impl<'a> Response<'a> {
    /// A response of which nothing is known.
    pub const fn new() -> Response<'a> {
        Response {
            status: 0,
            url: None,
            mime_type: None,
            text_encoding: None,
            suggested_name: None,
            expected_length: None,
            fields: &[],
            storage: Storage::NotAllowed,
        }
    }

    /// The value of the first field with this name, in either case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        Field::find(self.fields, name).map(|field| field.value())
    }

    /// Checks the response before the host does, so that the error names the mistake.
    pub(super) fn check(&self, is_interim: bool) -> Result<(), Error> {
        let refuse = |message: String| Err(Error::new(Code::BAD_RESPONSE, message));
        let is_valid = match self.status {
            100..=199 => is_interim,
            0 | 200..=999 => !is_interim,
            _ => false,
        };
        if !is_valid {
            let subject = if is_interim { "an interim response" } else { "a response" };
            return refuse(format!("the status {} is not valid for {subject}", self.status));
        }
        if let Some(target) = self.url.filter(|url| !syntax::is_absolute(url)) {
            return refuse(format!(
                "the response's URL, with {} bytes, is not absolute or not printable ASCII, which breaks BODY-11",
                target.len()
            ));
        }
        if let Some(kind) = self.mime_type.filter(|kind| !syntax::is_media_type(kind)) {
            return refuse(format!(
                "the response's MIME type {} is not of the form type/subtype without parameters, which breaks BODY-09",
                url::quote(kind)
            ));
        }
        if let Some(charset) = self.text_encoding.filter(|charset| !syntax::is_token(charset)) {
            return refuse(format!(
                "the response's charset {} is not a token, which breaks BODY-09; write one like utf-8",
                url::quote(charset)
            ));
        }
        if self.expected_length.map_or(false, |length| i64::try_from(length).is_err()) {
            return refuse("the response's expected_length is more than 63 bits wide".to_string());
        }
        Field::check(self.fields, false, Code::BAD_RESPONSE)
    }

    pub(super) fn raw(&self) -> abi::portolan_response {
        abi::portolan_response {
            size: std::mem::size_of::<abi::portolan_response>() as u32,
            status: self.status,
            url: optional(self.url),
            mime_type: optional(self.mime_type),
            text_encoding: optional(self.text_encoding),
            suggested_name: optional(self.suggested_name),
            // 0 would promise an empty body.
            expected_length: self.expected_length.map_or(-1, |length| i64::try_from(length).unwrap_or(i64::MAX)),
            fields: address(self.fields) as *const abi::portolan_field,
            field_count: self.fields.len(),
            storage: match self.storage {
                Storage::NotAllowed => abi::PORTOLAN_STORE_NOT,
                Storage::InMemoryOnly => abi::PORTOLAN_STORE_IN_MEMORY,
                Storage::Allowed => abi::PORTOLAN_STORE,
            },
            has_length: self.expected_length.is_some() as u32,
        }
    }

    /// # Safety
    /// What `raw` points to is valid and does not change for `'a`.
    pub(super) unsafe fn from_raw(raw: &abi::portolan_response) -> Response<'a> {
        // SAFETY: as above. `Field` has the layout of `portolan_field`.
        unsafe {
            Response {
                status: raw.status,
                url: text_of(raw.url),
                mime_type: text_of(raw.mime_type),
                text_encoding: text_of(raw.text_encoding),
                suggested_name: text_of(raw.suggested_name),
                expected_length: u64::try_from(raw.expected_length)
                    .ok()
                    .filter(|&length| length > 0 || raw.has_length != 0),
                fields: list_of(raw.fields as *const Field, raw.field_count),
                storage: match raw.storage {
                    abi::PORTOLAN_STORE => Storage::Allowed,
                    abi::PORTOLAN_STORE_IN_MEMORY => Storage::InMemoryOnly,
                    _ => Storage::NotAllowed,
                },
            }
        }
    }
}

impl Default for Response<'_> {
    fn default() -> Self {
        Response::new()
    }
}

/// A step of a load, for its metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    NameFound = 1,
    Connected = 2,
    Secured = 3,
    Reused = 4,
    RequestSent = 5,
    FirstByte = 6,
}
