// SPDX-License-Identifier: Apache-2.0

//! A request, and how another request differs from it.

use super::borrowed::{address, list_of, optional, text_of};
use super::error::{Code, Error};
use super::field::{Field, FromValue, Property, Value};
use super::{abi, syntax, url};
use std::time::Duration;

/// The request of a load. The host has parsed the URL, so a plugin needs no URL parser.
///
/// The parts of the URL are still percent-encoded. Decode each part once, with
/// [`percent_decode`](super::percent_decode).
#[repr(transparent)]
pub struct Request {
    raw: abi::portolan_request,
}

/// How the caller wants to use stored responses. The host has the store, so only a protocol that passes this on to a
/// server needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachePolicy {
    UseProtocol,
    NoStore,
    Reload,
    Revalidate,
    ReturnCachedElseLoad,
    OnlyCached,
}

/// The purpose of the traffic, a hint for sockets (RFC 4594).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    Default,
    Responsive,
    Background,
    Video,
    Voice,
}

impl Request {
    /// # Safety
    /// The request is valid and does not change for `'a`.
    pub(super) unsafe fn from_raw<'a>(raw: *const abi::portolan_request) -> &'a Request {
        // SAFETY: `Request` has the layout of `portolan_request`.
        unsafe { &*(raw as *const Request) }
    }

    fn part(&self, part: abi::portolan_string) -> Option<&str> {
        // SAFETY: the parts are valid as long as the request.
        unsafe { text_of(part) }
    }

    /// The absolute URL. It can include a user and a password, so use [`Request::url_without_user`] in messages.
    pub fn url(&self) -> &str {
        self.part(self.raw.url).unwrap_or("")
    }

    /// In lower case.
    pub fn scheme(&self) -> &str {
        self.part(self.raw.scheme).unwrap_or("")
    }

    pub fn user(&self) -> Option<&str> {
        self.part(self.raw.user)
    }

    pub fn password(&self) -> Option<&str> {
        self.part(self.raw.password)
    }

    /// In lower case. `None` if the URL has no authority, as in `echo:text`.
    pub fn host(&self) -> Option<&str> {
        self.part(self.raw.host)
    }

    pub fn port(&self) -> Option<u16> {
        u16::try_from(self.raw.port).ok()
    }

    /// For `echo:text?…`, it is `text`.
    pub fn path(&self) -> &str {
        self.part(self.raw.path).unwrap_or("")
    }

    pub fn query(&self) -> Option<&str> {
        self.part(self.raw.query)
    }

    pub fn fragment(&self) -> Option<&str> {
        self.part(self.raw.fragment)
    }

    /// The value of the first `name=value` of the query, percent-decoded. Empty if the name has no value.
    pub fn query_value(&self, name: &str) -> Result<Option<String>, Error> {
        self.query().and_then(|query| url::query_item(query, name)).map(url::percent_decode).transpose()
    }

    /// The URL without user and password, for messages.
    pub fn url_without_user(&self) -> String {
        let mut url = format!("{}:", self.scheme());
        match self.host() {
            Some(host) => {
                url += &format!("//{host}");
                url += &self.port().map_or(String::new(), |port| format!(":{port}"));
            }
            None if self.path().starts_with("//") => url += "/.",
            None => {}
        }
        url += self.path();
        url += &self.query().map_or(String::new(), |query| format!("?{query}"));
        url += &self.fragment().map_or(String::new(), |fragment| format!("#{fragment}"));
        url
    }

    /// The URL after `scheme:`, without the fragment. A layered handler (`gzip:URL`) loads this URL.
    pub fn nested_url(&self) -> &str {
        let after_scheme = self.url().get(self.scheme().len() + 1..).unwrap_or("");
        let fragment_length = self.fragment().map_or(0, |fragment| fragment.len() + 1);
        &after_scheme[..after_scheme.len().saturating_sub(fragment_length)]
    }

    /// Case-sensitive.
    pub fn method(&self) -> &str {
        self.part(self.raw.method).unwrap_or("GET")
    }

    /// Whether the request is for a response without its body.
    pub fn is_head(&self) -> bool {
        self.method() == "HEAD"
    }

    /// Whether the method is safe, so that a failed request can be repeated (RFC 9110 section 9.2.1).
    pub fn is_method_safe(&self) -> bool {
        self.raw.method_is_safe != 0
    }

    pub fn fields(&self) -> &[Field<'_>] {
        // SAFETY: the fields are valid as long as the request, and `Field` has the layout of `portolan_field`.
        unsafe { list_of(self.raw.fields as *const Field, self.raw.field_count) }
    }

    /// The value of the first field with this name, in either case.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        Field::find(self.fields(), name).map(|field| field.value())
    }

    pub fn properties(&self) -> &[Property<'_>] {
        // SAFETY: as for the fields.
        unsafe { list_of(self.raw.properties as *const Property, self.raw.property_count) }
    }

    /// The value of a property, as in `request.property::<i64>("org.example.hello.times")?`. `None` if it is not set.
    ///
    /// Returns `Code::BAD_REQUEST` with the property's name if the value has another kind (PROP-02).
    pub fn property<'a, Type: FromValue<'a>>(&'a self, name: &str) -> Result<Option<Type>, Error> {
        Property::find(self.properties(), name, "property")
    }

    /// The length of the upload body in bytes: 0 if there is no body, `None` if the length is unknown.
    pub fn body_length(&self) -> Option<u64> {
        u64::try_from(self.raw.body_length).ok()
    }

    /// The time without progress after which the host stops the load. `None` if there is no limit.
    pub fn timeout(&self) -> Option<Duration> {
        u64::try_from(self.raw.timeout_ms).ok().filter(|&timeout| timeout > 0).map(Duration::from_millis)
    }

    /// The page for which this is loaded. `None`: the request's own URL.
    pub fn main_document(&self) -> Option<&str> {
        self.part(self.raw.main_document)
    }

    /// 0 is normal. Requests with a higher number go first.
    pub fn priority(&self) -> i32 {
        self.raw.priority
    }

    pub fn cache_policy(&self) -> CachePolicy {
        match self.raw.cache_policy {
            abi::PORTOLAN_CACHE_NO_STORE => CachePolicy::NoStore,
            abi::PORTOLAN_CACHE_RELOAD => CachePolicy::Reload,
            abi::PORTOLAN_CACHE_REVALIDATE => CachePolicy::Revalidate,
            abi::PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD => CachePolicy::ReturnCachedElseLoad,
            abi::PORTOLAN_CACHE_ONLY_CACHED => CachePolicy::OnlyCached,
            _ => CachePolicy::UseProtocol,
        }
    }

    pub fn service(&self) -> Service {
        match self.raw.service {
            abi::PORTOLAN_SERVICE_RESPONSIVE => Service::Responsive,
            abi::PORTOLAN_SERVICE_BACKGROUND => Service::Background,
            abi::PORTOLAN_SERVICE_VIDEO => Service::Video,
            abi::PORTOLAN_SERVICE_VOICE => Service::Voice,
            _ => Service::Default,
        }
    }
}

/// How a request differs from the load's request: the target of a redirect, a nested load, or a canonical request.
/// Everything that is not named stays the same, also properties that the plugin does not know.
#[derive(Clone, Copy, Default)]
pub struct Change<'a> {
    /// Absolute. `None`: the same URL; in a redirect, the Location of its response.
    pub url: Option<&'a str>,
    /// `None`: the same method.
    pub method: Option<&'a str>,
    /// Each field replaces all fields of its name. See [`Field::removing`].
    pub fields: &'a [Field<'a>],
    /// Each property replaces the property of its name. See [`Property::removing`].
    pub properties: &'a [Property<'a>],
    /// Whether the new request has no body.
    pub drops_body: bool,
    /// Whether only the fields in `fields` stay.
    pub drops_fields: bool,
}

impl<'a> Change<'a> {
    pub fn to(url: &'a str) -> Change<'a> {
        Change { url: Some(url), ..Change::default() }
    }

    /// The change for the nested load of a layered handler: GET of another URL, and neither the fields nor the body of
    /// the load's request, because `Range` and `If-…` do not apply to the nested resource. With the load's own method, a
    /// HEAD request would find no body to decode. If you pass the body on, set the method, too.
    pub fn nested(url: &'a str) -> Change<'a> {
        Change { method: Some("GET"), drops_body: true, drops_fields: true, ..Change::to(url) }
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(method) = self.method.filter(|method| !syntax::is_token(method)) {
            return Err(Error::new(Code::BAD_REQUEST, format!("the method {} is not a token", url::quote(method))));
        }
        Field::check(self.fields, true, Code::BAD_REQUEST)?;
        match self.properties.iter().find(|property| !syntax::is_reverse_dns(property.name())) {
            None => Ok(()),
            Some(property) => Err(Error::new(
                Code::BAD_REQUEST,
                format!("the property {} is malformed; name it in reverse DNS", url::quote(property.name())),
            )),
        }
    }

    pub(super) fn raw(&self) -> abi::portolan_change {
        abi::portolan_change {
            size: std::mem::size_of::<abi::portolan_change>() as u32,
            drops_body: self.drops_body.into(),
            url: optional(self.url),
            method: optional(self.method),
            fields: address(self.fields) as *const abi::portolan_field,
            properties: address(self.properties) as *const abi::portolan_property,
            field_count: self.fields.len(),
            property_count: self.properties.len(),
            drops_fields: self.drops_fields.into(),
            reserved: 0,
        }
    }
}
