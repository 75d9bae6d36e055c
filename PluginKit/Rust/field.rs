// SPDX-License-Identifier: Apache-2.0

//! Header fields and properties. Both have the layout of C, so lists of them cross the boundary without a copy.

use super::borrowed::{bytes_of, string, text_of, ABSENT};
use super::error::{Code, Error};
use super::{abi, borrowed, syntax, url};
use std::fmt;
use std::marker::PhantomData;

/// A header field, a trailer field, or the equivalent in another protocol.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Field<'a> {
    raw: abi::portolan_field,
    borrows: PhantomData<&'a [u8]>,
}

impl<'a> Field<'a> {
    /// The value is text or bytes. A client call refuses a field whose name is not a token, or whose value has a NUL,
    /// a CR, an LF or another control character (SEC-08).
    pub fn new(name: &'a str, value: &'a (impl AsRef<[u8]> + ?Sized)) -> Field<'a> {
        Field::of(name, borrowed::bytes(value.as_ref()))
    }

    /// For a [`Change`](super::Change): removes all fields of this name.
    pub fn removing(name: &'a str) -> Field<'a> {
        Field::of(name, ABSENT)
    }

    fn of(name: &'a str, value: abi::portolan_string) -> Field<'a> {
        Field { raw: abi::portolan_field { name: string(name), value }, borrows: PhantomData }
    }

    pub fn name(&self) -> &'a str {
        // SAFETY: the name is valid for 'a.
        unsafe { text_of(self.raw.name) }.unwrap_or("")
    }

    /// The bytes of the value. No charset is declared. Most values are ASCII.
    pub fn value(&self) -> &'a [u8] {
        // SAFETY: the value is valid for 'a.
        unsafe { bytes_of(self.raw.value) }.unwrap_or(&[])
    }

    /// The value as text; `None` if it is not UTF-8.
    pub fn value_text(&self) -> Option<&'a str> {
        std::str::from_utf8(self.value()).ok()
    }

    fn is_well_formed(&self, can_remove: bool) -> bool {
        let has_value = !self.raw.value.bytes.is_null();
        syntax::is_token(self.name()) && (has_value || can_remove) && syntax::is_field_value(self.value())
    }

    /// The largest number of fields of a message.
    const LIMIT: usize = 1024;

    /// Checks fields before the host does, so that the error names the field.
    pub(super) fn check(fields: &[Field], can_remove: bool, code: Code) -> Result<(), Error> {
        if fields.len() > Self::LIMIT {
            let count = fields.len();
            return Err(Error::new(code, format!("{count} fields are more than the 1024 that a message may have")));
        }
        match fields.iter().find(|field| !field.is_well_formed(can_remove)) {
            None => Ok(()),
            Some(field) => Err(Error::new(
                code,
                format!(
                    "the field {} is malformed (SEC-08): the name must be a token, and the value must not contain NUL, \
                     CR, LF or another control character",
                    url::quote(field.name())
                ),
            )),
        }
    }

    /// The first field with this name. Upper and lower case are equal.
    pub(super) fn find(fields: &'a [Field<'a>], name: &str) -> Option<&'a Field<'a>> {
        fields.iter().find(|field| field.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Debug for Field<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.name(), String::from_utf8_lossy(self.value()))
    }
}

/// The value of a property or a setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    Integer(i64),
    Real(f64),
    Truth(bool),
    /// A kind that this kit does not know, or the removal of a property.
    Other,
}

/// A named value: a parameter of a request, or a setting. The name of a request's property is in reverse DNS
/// notation, as in `org.example.hello.times`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Property<'a> {
    raw: abi::portolan_property,
    borrows: PhantomData<&'a [u8]>,
}

impl<'a> Property<'a> {
    pub fn new(name: &'a str, value: Value<'a>) -> Property<'a> {
        let (mut kind, mut integer, mut real, mut bytes) = (0, 0, 0.0, ABSENT);
        match value {
            Value::Text(text) => (kind, bytes) = (abi::PORTOLAN_KIND_TEXT, string(text)),
            Value::Bytes(value) => (kind, bytes) = (abi::PORTOLAN_KIND_BYTES, borrowed::bytes(value)),
            Value::Integer(value) => (kind, integer) = (abi::PORTOLAN_KIND_INTEGER, value),
            Value::Real(value) => (kind, real) = (abi::PORTOLAN_KIND_REAL, value),
            Value::Truth(value) => (kind, integer) = (abi::PORTOLAN_KIND_TRUTH, value.into()),
            Value::Other => {}
        }
        let raw = abi::portolan_property { name: string(name), kind, reserved: 0, integer, real, bytes };
        Property { raw, borrows: PhantomData }
    }

    /// For a [`Change`](super::Change): removes the property of this name.
    pub fn removing(name: &'a str) -> Property<'a> {
        Property::new(name, Value::Other)
    }

    pub fn name(&self) -> &'a str {
        // SAFETY: the name is valid for 'a.
        unsafe { text_of(self.raw.name) }.unwrap_or("")
    }

    pub fn value(&self) -> Value<'a> {
        // SAFETY: the bytes are valid for 'a.
        let bytes = unsafe { bytes_of(self.raw.bytes) }.unwrap_or(&[]);
        match self.raw.kind {
            abi::PORTOLAN_KIND_TEXT => std::str::from_utf8(bytes).map_or(Value::Other, Value::Text),
            abi::PORTOLAN_KIND_BYTES => Value::Bytes(bytes),
            abi::PORTOLAN_KIND_INTEGER => Value::Integer(self.raw.integer),
            abi::PORTOLAN_KIND_REAL => Value::Real(self.raw.real),
            abi::PORTOLAN_KIND_TRUTH => Value::Truth(self.raw.integer != 0),
            _ => Value::Other,
        }
    }

    /// Returns the typed value of the property with this name. `noun` is for the error.
    pub(super) fn find<Type: FromValue<'a>>(
        properties: &'a [Property<'a>],
        name: &str,
        noun: &str,
    ) -> Result<Option<Type>, Error> {
        match properties.iter().find(|property| property.name() == name) {
            None => Ok(None),
            Some(property) => Type::from_value(property.value()).map(Some).ok_or_else(|| {
                Error::new(Code::BAD_REQUEST, format!("the {noun} {} must be {}", url::quote(name), Type::KIND))
            }),
        }
    }
}

/// A type that a property or a setting can have.
pub trait FromValue<'a>: Sized {
    /// For messages, as in "text".
    const KIND: &'static str;
    fn from_value(value: Value<'a>) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty, $kind:literal, $($pattern:pat => $result:expr),+;)*) => { $(
        impl<'a> FromValue<'a> for $type {
            const KIND: &'static str = $kind;
            fn from_value(value: Value<'a>) -> Option<Self> {
                match value { $($pattern => Some($result),)+ _ => None }
            }
        }
    )* };
}
from_value! {
    &'a str, "text", Value::Text(text) => text;
    String, "text", Value::Text(text) => text.to_string();
    &'a [u8], "bytes", Value::Bytes(bytes) => bytes;
    i64, "an integer", Value::Integer(integer) => integer;
    // A JSON number without a fraction arrives as an integer.
    f64, "a number", Value::Real(real) => real, Value::Integer(integer) => integer as f64;
    bool, "true or false", Value::Truth(truth) => truth;
}
