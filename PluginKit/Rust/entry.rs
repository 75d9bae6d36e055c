// SPDX-License-Identifier: Apache-2.0

//! The functions that the host calls, and the descriptor. Only `export!` uses this module.

use super::client::Client;
use super::error::Error;
use super::handler::{CacheComparing, Canonical, Handler, RequestCanonicalizing, RequestChoosing};
use super::host::Host;
use super::load::LoadState;
use super::panics::{catch, guard, log_other_panics};
use super::request::Request;
use super::{abi, borrowed, syntax};
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::raw::c_void;
use std::ptr;

/// An instance of the plugin, from `init` to `deinit`.
struct Instance<H> {
    host: Host,
    handler: H,
}

struct Load<H> {
    instance: *const Instance<H>,
    state: LoadState,
    is_multipart: bool,
}

/// # Safety
/// The arguments are those of `portolan_plugin.init`.
unsafe extern "C" fn init<H: Handler>(
    host: *mut abi::portolan_host,
    refusal: *mut abi::portolan_refusal,
) -> *mut c_void {
    // SAFETY: the host is valid until `deinit` has returned.
    let host = unsafe { Host::new(host) };
    let handler = catch(|| H::new(&host)).unwrap_or_else(|panic| {
        panic.log(&host);
        Err(panic.into_error())
    });
    log_other_panics(&host);
    match handler {
        Ok(handler) => Box::into_raw(Box::new(Instance { host, handler })) as *mut c_void,
        Err(error) => {
            // SAFETY: the refusal is valid during the call, and so is the error.
            error.with_raw(|raw| unsafe { ((*refusal).give)(refusal, raw) });
            ptr::null_mut()
        }
    }
}

/// # Safety
/// `plugin` is the result of `init`, and nobody uses it any more.
unsafe extern "C" fn deinit<H: Handler>(plugin: *mut c_void) {
    // SAFETY: as above.
    let Instance { host, handler } = *unsafe { Box::from_raw(plugin as *mut Instance<H>) };
    guard(&host, (), move || drop(handler));
    log_other_panics(&host);
}

/// # Safety
/// `plugin` is the result of `init`.
unsafe fn instance<'a, H>(plugin: *mut c_void) -> &'a Instance<H> {
    // SAFETY: as above.
    unsafe { &*(plugin as *const Instance<H>) }
}

/// # Safety
/// The arguments are those of `portolan_handler.can_init`.
unsafe extern "C" fn can_init<H: RequestChoosing>(plugin: *mut c_void, request: *const abi::portolan_request) -> i32 {
    // SAFETY: the arguments are valid during the call.
    let (instance, request) = unsafe { (instance::<H>(plugin), Request::from_raw(request)) };
    guard(&instance.host, false, || instance.handler.can_init(request)).into()
}

/// # Safety
/// The arguments are those of `portolan_handler.canonical_request`.
unsafe extern "C" fn canonical_request<H: RequestCanonicalizing>(
    plugin: *mut c_void,
    request: *const abi::portolan_request,
    form: *mut abi::portolan_canonical,
) {
    // SAFETY: the arguments are valid during the call.
    let (instance, request) = unsafe { (instance::<H>(plugin), Request::from_raw(request)) };
    // SAFETY: as above.
    let canonical = unsafe { Canonical::new(form, &instance.host) };
    guard(&instance.host, (), || instance.handler.canonical_request(request, canonical))
}

/// # Safety
/// The arguments are those of `portolan_handler.is_cache_equivalent`.
unsafe extern "C" fn is_cache_equivalent<H: CacheComparing>(
    plugin: *mut c_void,
    a: *const abi::portolan_request,
    b: *const abi::portolan_request,
) -> i32 {
    // SAFETY: the arguments are valid during the call.
    let (instance, a, b) = unsafe { (instance::<H>(plugin), Request::from_raw(a), Request::from_raw(b)) };
    guard(&instance.host, false, || instance.handler.is_cache_equivalent(a, b)).into()
}

/// # Safety
/// The arguments are those of `portolan_handler.make`.
unsafe extern "C" fn make<H: Handler, const IS_MULTIPART: bool>(
    plugin: *mut c_void,
    request: *const abi::portolan_request,
    cached: *const abi::portolan_response,
    client: *mut abi::portolan_client,
    _refusal: *mut abi::portolan_refusal,
) -> *mut c_void {
    // SAFETY: the instance lives longer than its loads. The other arguments are valid until `destroy` has returned.
    let state = unsafe { LoadState::new(request, cached, client, &instance::<H>(plugin).host) };
    let instance = plugin as *const Instance<H>;
    Box::into_raw(Box::new(Load { instance, state, is_multipart: IS_MULTIPART })) as *mut c_void
}

/// # Safety
/// `load` is the result of `make`.
unsafe extern "C" fn run<H: Handler>(load: *mut c_void) {
    // SAFETY: the load is valid until `destroy`, and the instance lives longer.
    let (load, instance) = unsafe {
        let load = &*(load as *const Load<H>);
        (load, &*load.instance)
    };
    // SAFETY: the state is valid until `destroy`.
    let client = unsafe { Client::new(&load.state, load.is_multipart) };
    let outcome = catch(|| instance.handler.load(load.state.request(), &client)).unwrap_or_else(|panic| {
        panic.log(&instance.host);
        Err(panic.into_error())
    });
    guard(&instance.host, (), || client.end(outcome));
    log_other_panics(&instance.host);
}

/// # Safety
/// `load` is the result of `make`. `run` can use it at the same time.
unsafe extern "C" fn stop<H: Handler>(load: *mut c_void) {
    // SAFETY: `destroy` waits for this call.
    let load = unsafe { &*(load as *const Load<H>) };
    load.state.interrupts.stop(load.state.host());
}

/// # Safety
/// `load` is the result of `make`, and nobody uses it any more.
unsafe extern "C" fn destroy<H: Handler>(load: *mut c_void) {
    // SAFETY: as above. It owns no value of the author, so nothing can panic.
    drop(unsafe { Box::from_raw(load as *mut Load<H>) });
}

/// The functions that a handler has only if it implements their trait. Those of [`Absent`] are used if it does not: the
/// compiler takes the constant of an inherent implementation first, if its bounds hold.
pub struct Ability<H>(PhantomData<H>);

pub trait Absent {
    const CAN_INIT: Option<abi::portolan_can_init> = None;
    const CANONICAL_REQUEST: Option<abi::portolan_canonical_request> = None;
    const IS_CACHE_EQUIVALENT: Option<abi::portolan_is_cache_equivalent> = None;
}

impl<H> Absent for Ability<H> {}

impl<H: RequestChoosing> Ability<H> {
    pub const CAN_INIT: Option<abi::portolan_can_init> = Some(can_init::<H>);
}

impl<H: RequestCanonicalizing> Ability<H> {
    pub const CANONICAL_REQUEST: Option<abi::portolan_canonical_request> = Some(canonical_request::<H>);
}

impl<H: CacheComparing> Ability<H> {
    pub const IS_CACHE_EQUIVALENT: Option<abi::portolan_is_cache_equivalent> = Some(is_cache_equivalent::<H>);
}

/// The flags of a handler, by the names that `export!` knows.
#[allow(non_upper_case_globals)]
pub mod flags {
    use super::abi;

    /// One load can deliver several responses, each with its data.
    pub const multipart: u32 = abi::PORTOLAN_MULTIPART as u32;
    /// The loads send and store cookies, like loads of `http:`. The manifest must have the permission `cookies`.
    pub const cookies: u32 = abi::PORTOLAN_COOKIES as u32;
    /// Responses can be stored, as far as their `storage` allows.
    pub const cacheable: u32 = abi::PORTOLAN_CACHEABLE as u32;
}

/// The list of handlers of a plugin: one.
#[repr(transparent)]
pub struct Handlers(pub [*const abi::portolan_handler; 1]);

// SAFETY: the handler is static, and nobody changes it.
unsafe impl Sync for Handlers {}

pub const fn load_table<H: Handler>() -> abi::portolan_load_table {
    abi::portolan_load_table {
        size: size_of::<abi::portolan_load_table>() as u32,
        reserved: 0,
        run: Some(run::<H>),
        start: None,
        resume: None,
        woken: None,
        answered: None,
        stop: Some(stop::<H>),
        destroy: Some(destroy::<H>),
    }
}

pub const fn handler<H: Handler>(
    identifier: &'static str,
    schemes: &'static [abi::portolan_string],
    flags: u32,
    loads: &'static abi::portolan_load_table,
) -> abi::portolan_handler {
    abi::portolan_handler {
        size: size_of::<abi::portolan_handler>() as u32,
        flags,
        identifier: string(identifier),
        schemes: if schemes.is_empty() { ptr::null() } else { schemes.as_ptr() },
        scheme_count: schemes.len(),
        can_init: None,
        canonical_request: None,
        is_cache_equivalent: None,
        make: if flags & flags::multipart != 0 { Some(make::<H, true>) } else { Some(make::<H, false>) },
        loads,
    }
}

pub const fn plugin<H: Handler>(
    identifier: &'static str,
    name: &'static str,
    vendor: &'static str,
    version: &'static str,
    handlers: &'static Handlers,
) -> abi::portolan_plugin {
    abi::portolan_plugin {
        size: size_of::<abi::portolan_plugin>() as u32,
        abi_major: abi::PORTOLAN_ABI_MAJOR,
        identifier: string(identifier),
        name: string(name),
        vendor: string(vendor),
        version: string(version),
        handlers: handlers.0.as_ptr(),
        handler_count: handlers.0.len(),
        init: Some(init::<H>),
        deinit: Some(deinit::<H>),
        extension: None,
    }
}

pub const fn string(text: &'static str) -> abi::portolan_string {
    borrowed::string(text)
}

pub const fn is_scheme(text: &str) -> bool {
    syntax::is_scheme(text)
}

pub const fn is_reverse_dns(text: &str) -> bool {
    syntax::is_reverse_dns(text)
}
