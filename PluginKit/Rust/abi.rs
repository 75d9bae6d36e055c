// SPDX-License-Identifier: Apache-2.0

//! The plugin contract, as in `portolan/*.h`. The headers describe each part, and have its rules.
//!
//! The names are those of C. In a table that the plugin fills, every function can be absent. In a table that the host
//! fills, none is. An enumeration is a number, because each side can get a value that it does not know.
//! `scripts/rust-layouts.py` of Portolan compares the layouts with those of C.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_void};

pub const PORTOLAN_ABI_MAJOR: u32 = 1;
pub const PORTOLAN_ABI_MINOR: u32 = 3;

// base.h: a host reads static tables from any thread. They only point to static values.
macro_rules! static_tables {
    ($($name:ident)*) => { $(
        // SAFETY: nobody changes a static table, or what it points to.
        unsafe impl Sync for $name {}
    )* };
}
static_tables!(portolan_string portolan_load_table portolan_handler portolan_plugin);

// text.h

#[repr(C)]
#[derive(Clone, Copy)]
pub struct portolan_string {
    pub bytes: *const c_char,
    pub length: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct portolan_field {
    pub name: portolan_string,
    pub value: portolan_string,
}

pub type portolan_kind = i32;
pub const PORTOLAN_KIND_TEXT: portolan_kind = 1;
pub const PORTOLAN_KIND_BYTES: portolan_kind = 2;
pub const PORTOLAN_KIND_INTEGER: portolan_kind = 3;
pub const PORTOLAN_KIND_REAL: portolan_kind = 4;
pub const PORTOLAN_KIND_TRUTH: portolan_kind = 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct portolan_property {
    pub name: portolan_string,
    pub kind: portolan_kind,
    pub reserved: u32,
    pub integer: i64,
    pub real: f64,
    pub bytes: portolan_string,
}

// error.h

pub type portolan_code = i32;
pub const PORTOLAN_ERROR_UNKNOWN: portolan_code = -1;
pub const PORTOLAN_ERROR_BAD_URL: portolan_code = -2;
pub const PORTOLAN_ERROR_UNSUPPORTED_SCHEME: portolan_code = -3;
pub const PORTOLAN_ERROR_BAD_REQUEST: portolan_code = -4;
pub const PORTOLAN_ERROR_NOT_FOUND: portolan_code = -5;
pub const PORTOLAN_ERROR_ACCESS_DENIED: portolan_code = -6;
pub const PORTOLAN_ERROR_IS_DIRECTORY: portolan_code = -7;
pub const PORTOLAN_ERROR_NOT_REGULAR_FILE: portolan_code = -8;
pub const PORTOLAN_ERROR_RANGE_NOT_SATISFIABLE: portolan_code = -9;
pub const PORTOLAN_ERROR_CANCELLED: portolan_code = -10;
pub const PORTOLAN_ERROR_TIMED_OUT: portolan_code = -11;
pub const PORTOLAN_ERROR_TOO_MANY_REDIRECTS: portolan_code = -12;
pub const PORTOLAN_ERROR_BAD_REDIRECT: portolan_code = -13;
pub const PORTOLAN_ERROR_AUTHENTICATION_REQUIRED: portolan_code = -14;
pub const PORTOLAN_ERROR_AUTHENTICATION_CANCELLED: portolan_code = -15;
pub const PORTOLAN_ERROR_BODY_FAILED: portolan_code = -16;
pub const PORTOLAN_ERROR_NAME_NOT_FOUND: portolan_code = -17;
pub const PORTOLAN_ERROR_CANNOT_CONNECT: portolan_code = -18;
pub const PORTOLAN_ERROR_CONNECTION_LOST: portolan_code = -19;
pub const PORTOLAN_ERROR_SECURE_CONNECTION_FAILED: portolan_code = -20;
pub const PORTOLAN_ERROR_BAD_RESPONSE: portolan_code = -21;
pub const PORTOLAN_ERROR_TRUNCATED: portolan_code = -22;
pub const PORTOLAN_ERROR_DECODING_FAILED: portolan_code = -23;
pub const PORTOLAN_ERROR_LIMIT_EXCEEDED: portolan_code = -24;
pub const PORTOLAN_ERROR_NESTED_TOO_DEEP: portolan_code = -25;
pub const PORTOLAN_ERROR_IO_FAILED: portolan_code = -26;
pub const PORTOLAN_ERROR_NO_MEMORY: portolan_code = -27;
pub const PORTOLAN_ERROR_NO_RESOURCES: portolan_code = -28;
pub const PORTOLAN_ERROR_NOT_OFFERED: portolan_code = -29;
pub const PORTOLAN_ERROR_PROTOCOL_VIOLATION: portolan_code = -30;
pub const PORTOLAN_ERROR_PLUGIN_NOT_LOADABLE: portolan_code = -31;
pub const PORTOLAN_ERROR_PLUGIN_REFUSED: portolan_code = -32;
pub const PORTOLAN_ERROR_CERTIFICATE_NOT_TRUSTED: portolan_code = -33;
pub const PORTOLAN_ERROR_TRUST_ROOTS_UNUSABLE: portolan_code = -34;
pub const PORTOLAN_ERROR_CLIENT_CERTIFICATE_UNUSABLE: portolan_code = -35;
pub const PORTOLAN_ERROR_EMPTY_RESPONSE: portolan_code = -36;
pub const PORTOLAN_ERROR_PROXY_NOT_FOUND: portolan_code = -37;
pub const PORTOLAN_ERROR_TUNNEL_FAILED: portolan_code = -38;
pub const PORTOLAN_ERROR_SOCKS_FAILED: portolan_code = -39;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct portolan_error {
    pub size: u32,
    pub code: i32,
    pub domain: portolan_string,
    pub message: portolan_string,
    pub cause: *const portolan_error,
}

#[repr(C)]
pub struct portolan_refusal {
    pub size: u32,
    pub reserved: u32,
    pub give: unsafe extern "C" fn(*mut portolan_refusal, *const portolan_error),
}

// request.h

pub type portolan_cache_policy = i32;
pub const PORTOLAN_CACHE_USE_PROTOCOL: portolan_cache_policy = 0;
pub const PORTOLAN_CACHE_NO_STORE: portolan_cache_policy = 1;
pub const PORTOLAN_CACHE_RELOAD: portolan_cache_policy = 2;
pub const PORTOLAN_CACHE_REVALIDATE: portolan_cache_policy = 3;
pub const PORTOLAN_CACHE_RETURN_CACHED_ELSE_LOAD: portolan_cache_policy = 4;
pub const PORTOLAN_CACHE_ONLY_CACHED: portolan_cache_policy = 5;

pub type portolan_service = i32;
pub const PORTOLAN_SERVICE_DEFAULT: portolan_service = 0;
pub const PORTOLAN_SERVICE_RESPONSIVE: portolan_service = 1;
pub const PORTOLAN_SERVICE_BACKGROUND: portolan_service = 2;
pub const PORTOLAN_SERVICE_VIDEO: portolan_service = 3;
pub const PORTOLAN_SERVICE_VOICE: portolan_service = 4;

#[repr(C)]
pub struct portolan_request {
    pub size: u32,
    pub method_is_safe: u32,
    pub url: portolan_string,
    pub scheme: portolan_string,
    pub user: portolan_string,
    pub password: portolan_string,
    pub host: portolan_string,
    pub path: portolan_string,
    pub query: portolan_string,
    pub fragment: portolan_string,
    pub port: i32,
    pub cache_policy: portolan_cache_policy,
    pub method: portolan_string,
    pub fields: *const portolan_field,
    pub properties: *const portolan_property,
    pub field_count: usize,
    pub property_count: usize,
    pub body_length: i64,
    pub timeout_ms: i64,
    pub main_document: portolan_string,
    pub priority: i32,
    pub service: portolan_service,
}

#[repr(C)]
pub struct portolan_change {
    pub size: u32,
    pub drops_body: u32,
    pub url: portolan_string,
    pub method: portolan_string,
    pub fields: *const portolan_field,
    pub properties: *const portolan_property,
    pub field_count: usize,
    pub property_count: usize,
    pub drops_fields: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct portolan_canonical {
    pub size: u32,
    pub reserved: u32,
    pub give: unsafe extern "C" fn(*mut portolan_canonical, *const portolan_change),
}

// response.h

pub type portolan_storage = i32;
pub const PORTOLAN_STORE_NOT: portolan_storage = 0;
pub const PORTOLAN_STORE_IN_MEMORY: portolan_storage = 1;
pub const PORTOLAN_STORE: portolan_storage = 2;

#[repr(C)]
pub struct portolan_response {
    pub size: u32,
    pub status: i32,
    pub url: portolan_string,
    pub mime_type: portolan_string,
    pub text_encoding: portolan_string,
    pub suggested_name: portolan_string,
    pub expected_length: i64,
    pub fields: *const portolan_field,
    pub field_count: usize,
    pub storage: portolan_storage,
    pub has_length: u32,
}

// challenge.h

pub type portolan_method = i32;
pub const PORTOLAN_ASK_PASSWORD: portolan_method = 1;
pub const PORTOLAN_ASK_CLIENT_CERTIFICATE: portolan_method = 2;
pub const PORTOLAN_ASK_SERVER_TRUST: portolan_method = 3;

#[repr(C)]
pub struct portolan_challenge {
    pub size: u32,
    pub method: portolan_method,
    pub protocol: portolan_string,
    pub host: portolan_string,
    pub realm: portolan_string,
    pub scheme: portolan_string,
    pub port: i32,
    pub is_proxy: i32,
    pub failure_count: i32,
    pub reserved: u32,
    pub certificates: *const portolan_string,
    pub certificate_count: usize,
    pub previous: *const portolan_error,
}

pub type portolan_disposition = i32;
pub const PORTOLAN_USE: portolan_disposition = 1;
pub const PORTOLAN_WITHOUT: portolan_disposition = 2;
pub const PORTOLAN_DEFAULT: portolan_disposition = 3;
pub const PORTOLAN_REJECT_SPACE: portolan_disposition = 4;
pub const PORTOLAN_CANCEL: portolan_disposition = 5;

#[repr(C)]
pub struct portolan_answer {
    pub size: u32,
    pub disposition: portolan_disposition,
    pub user: portolan_string,
    pub password: portolan_string,
    pub certificates: *const portolan_string,
    pub certificate_count: usize,
    pub private_key: portolan_string,
}

// client.h

pub type portolan_flow = i32;
pub const PORTOLAN_WAIT: portolan_flow = -2;
pub const PORTOLAN_STOPPED: portolan_flow = -1;
pub const PORTOLAN_PAUSE: portolan_flow = 0;
pub const PORTOLAN_CONTINUE: portolan_flow = 1;

pub type portolan_step = i32;
pub const PORTOLAN_NAME_FOUND: portolan_step = 1;
pub const PORTOLAN_CONNECTED: portolan_step = 2;
pub const PORTOLAN_SECURED: portolan_step = 3;
pub const PORTOLAN_REUSED: portolan_step = 4;
pub const PORTOLAN_REQUEST_SENT: portolan_step = 5;
pub const PORTOLAN_FIRST_BYTE: portolan_step = 6;

#[repr(C)]
pub struct portolan_client {
    pub size: u32,
    pub reserved: u32,
    pub did_receive_interim: unsafe extern "C" fn(*mut portolan_client, *const portolan_response),
    pub did_receive_response: unsafe extern "C" fn(*mut portolan_client, *const portolan_response) -> portolan_flow,
    pub did_load: unsafe extern "C" fn(*mut portolan_client, *const c_void, usize) -> portolan_flow,
    pub did_receive_trailers: unsafe extern "C" fn(*mut portolan_client, *const portolan_field, usize),
    pub did_finish: unsafe extern "C" fn(*mut portolan_client),
    pub did_fail: unsafe extern "C" fn(*mut portolan_client, *const portolan_error),
    pub was_redirected:
        unsafe extern "C" fn(*mut portolan_client, *const portolan_change, *const portolan_response) -> portolan_flow,
    pub cached_response_is_valid: unsafe extern "C" fn(*mut portolan_client, *const portolan_response),
    pub read_cached: unsafe extern "C" fn(*mut portolan_client, i64, *mut c_void, usize) -> i64,
    pub did_receive_challenge: unsafe extern "C" fn(
        *mut portolan_client,
        *const portolan_challenge,
        *mut *const portolan_answer,
    ) -> portolan_flow,
    pub did_cancel_challenge: unsafe extern "C" fn(*mut portolan_client),
    pub read_body: unsafe extern "C" fn(*mut portolan_client, *mut c_void, usize) -> i64,
    pub did_send: unsafe extern "C" fn(*mut portolan_client, i64),
    pub did_reach: unsafe extern "C" fn(*mut portolan_client, portolan_step),
    pub rewind_body: unsafe extern "C" fn(*mut portolan_client) -> i32,
    pub is_stopped: unsafe extern "C" fn(*mut portolan_client) -> i32,
    pub wake: unsafe extern "C" fn(*mut portolan_client),
}

// load.h

#[repr(C)]
pub struct portolan_load_table {
    pub size: u32,
    pub reserved: u32,
    pub run: Option<unsafe extern "C" fn(*mut c_void)>,
    pub start: Option<unsafe extern "C" fn(*mut c_void)>,
    pub resume: Option<unsafe extern "C" fn(*mut c_void)>,
    pub woken: Option<unsafe extern "C" fn(*mut c_void)>,
    pub answered: Option<unsafe extern "C" fn(*mut c_void, *const portolan_answer)>,
    pub stop: Option<unsafe extern "C" fn(*mut c_void)>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
}

// handler.h

pub type portolan_handler_flags = i32;
pub const PORTOLAN_ANY_SCHEME: portolan_handler_flags = 1;
pub const PORTOLAN_MULTIPART: portolan_handler_flags = 2;
pub const PORTOLAN_COOKIES: portolan_handler_flags = 4;
pub const PORTOLAN_CACHEABLE: portolan_handler_flags = 8;

pub type portolan_can_init = unsafe extern "C" fn(*mut c_void, *const portolan_request) -> i32;
pub type portolan_canonical_request =
    unsafe extern "C" fn(*mut c_void, *const portolan_request, *mut portolan_canonical);
pub type portolan_is_cache_equivalent =
    unsafe extern "C" fn(*mut c_void, *const portolan_request, *const portolan_request) -> i32;
pub type portolan_make = unsafe extern "C" fn(
    *mut c_void,
    *const portolan_request,
    *const portolan_response,
    *mut portolan_client,
    *mut portolan_refusal,
) -> *mut c_void;

#[repr(C)]
pub struct portolan_handler {
    pub size: u32,
    pub flags: u32,
    pub identifier: portolan_string,
    pub schemes: *const portolan_string,
    pub scheme_count: usize,
    pub can_init: Option<portolan_can_init>,
    pub canonical_request: Option<portolan_canonical_request>,
    pub is_cache_equivalent: Option<portolan_is_cache_equivalent>,
    pub make: Option<portolan_make>,
    pub loads: *const portolan_load_table,
}

// host.h

pub type portolan_level = i32;
pub const PORTOLAN_LOG_ERROR: portolan_level = 1;
pub const PORTOLAN_LOG_WARNING: portolan_level = 2;
pub const PORTOLAN_LOG_INFO: portolan_level = 3;
pub const PORTOLAN_LOG_DEBUG: portolan_level = 4;

#[repr(C)]
pub struct portolan_host {
    pub size: u32,
    pub abi_minor: u32,
    pub version: portolan_string,
    pub configuration: portolan_string,
    pub settings: *const portolan_property,
    pub setting_count: usize,
    pub extension: unsafe extern "C" fn(*mut portolan_host, *const c_char) -> *const c_void,
    pub log: unsafe extern "C" fn(*mut portolan_host, portolan_level, portolan_string),
}

// plugin.h

#[repr(C)]
pub struct portolan_plugin {
    pub size: u32,
    pub abi_major: u32,
    pub identifier: portolan_string,
    pub name: portolan_string,
    pub vendor: portolan_string,
    pub version: portolan_string,
    pub handlers: *const *const portolan_handler,
    pub handler_count: usize,
    pub init: Option<unsafe extern "C" fn(*mut portolan_host, *mut portolan_refusal) -> *mut c_void>,
    pub deinit: Option<unsafe extern "C" fn(*mut c_void)>,
    pub extension: Option<unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void>,
}

// nested.h

/// The identifier, with the NUL of a C string.
pub const PORTOLAN_NESTED: &[u8] = b"portolan.nested/1\0";

#[repr(C)]
pub struct portolan_nested {
    private: [u8; 0],
}

#[repr(C)]
pub struct portolan_nested_table {
    pub size: u32,
    pub reserved: u32,
    pub open: unsafe extern "C" fn(*mut portolan_client, *const portolan_change) -> *mut portolan_nested,
    pub response: unsafe extern "C" fn(*mut portolan_nested, *mut *const portolan_response) -> portolan_flow,
    pub next: unsafe extern "C" fn(*mut portolan_nested, *mut *const c_void) -> i64,
    pub error: unsafe extern "C" fn(*mut portolan_nested) -> *const portolan_error,
    pub close: unsafe extern "C" fn(*mut portolan_nested),
}

// watch.h: for event-driven loads, which the safe wrapper does not offer.

/// The identifier, with the NUL of a C string.
pub const PORTOLAN_WATCH: &[u8] = b"portolan.watch/1\0";

pub type portolan_readiness = i32;
pub const PORTOLAN_READABLE: portolan_readiness = 1;
pub const PORTOLAN_WRITABLE: portolan_readiness = 2;
pub const PORTOLAN_HUNG_UP: portolan_readiness = 4;

pub const PORTOLAN_WATCH_LIMIT: usize = 64;
pub const PORTOLAN_TIMER_LIMIT: usize = 8;

#[repr(C)]
pub struct portolan_watch_table {
    pub size: u32,
    pub reserved: u32,
    pub watch: unsafe extern "C" fn(*mut portolan_client, i32, i32) -> i32,
    pub ready: unsafe extern "C" fn(*mut portolan_client, i32) -> i32,
    pub unwatch: unsafe extern "C" fn(*mut portolan_client, i32),
    pub set_timer: unsafe extern "C" fn(*mut portolan_client, i32, i64) -> i32,
    pub fired: unsafe extern "C" fn(*mut portolan_client, i32) -> i32,
}

// helper_table.h

pub const PORTOLAN_HELPERS: &[u8] = b"portolan.helpers/1\0";

#[repr(C)]
pub struct portolan_helper_table {
    pub size: u32,
    pub reserved: u32,
    pub decode: unsafe extern "C" fn(portolan_string, *mut c_char, usize) -> i64,
    pub join: unsafe extern "C" fn(portolan_string, portolan_string, *mut c_char, usize) -> i64,
    pub quote: unsafe extern "C" fn(portolan_string, *mut c_char, usize) -> i64,
    pub equal: unsafe extern "C" fn(portolan_string, portolan_string) -> i32,
    pub equal_ignoring_case: unsafe extern "C" fn(portolan_string, portolan_string) -> i32,
    pub find_field: unsafe extern "C" fn(*const portolan_field, usize, portolan_string) -> *const portolan_field,
    pub find_property: unsafe extern "C" fn(*const portolan_property, usize, portolan_string) -> *const portolan_property,
    pub query_item: unsafe extern "C" fn(portolan_string, portolan_string) -> portolan_string,
    pub range_value: unsafe extern "C" fn(i64, i64, *mut c_char, usize) -> i64,
    pub parse_range: unsafe extern "C" fn(portolan_string, i64, *mut i64, *mut i64) -> i32,
    pub read_whole_body: unsafe extern "C" fn(*mut portolan_client, *mut c_void, usize) -> i64,
    pub forward: unsafe extern "C" fn(*mut portolan_client, *const portolan_nested_table, *mut portolan_nested) -> portolan_flow,
}
