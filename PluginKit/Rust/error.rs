// SPDX-License-Identifier: Apache-2.0

//! Why a load failed, or why a plugin did not start.

use super::abi;
use super::borrowed::{list_of, optional, string, text_of};
use super::syntax;
use std::{fmt, io, ptr};

/// What a load returns: `Ok` finishes it.
pub type Outcome = Result<(), Error>;

/// The code on which callers branch. Use the nearest one. `Code::UNKNOWN` is for an unknown cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(i32);

macro_rules! codes {
    ($($name:ident = $value:ident,)*) => {
        impl Code { $(pub const $name: Code = Code(abi::$value);)* }
        const PUBLISHED: &[Code] = &[$(Code::$name),*];
    };
}
codes! {
    UNKNOWN = PORTOLAN_ERROR_UNKNOWN,
    BAD_URL = PORTOLAN_ERROR_BAD_URL,
    UNSUPPORTED_SCHEME = PORTOLAN_ERROR_UNSUPPORTED_SCHEME,
    BAD_REQUEST = PORTOLAN_ERROR_BAD_REQUEST,
    NOT_FOUND = PORTOLAN_ERROR_NOT_FOUND,
    ACCESS_DENIED = PORTOLAN_ERROR_ACCESS_DENIED,
    IS_DIRECTORY = PORTOLAN_ERROR_IS_DIRECTORY,
    NOT_REGULAR_FILE = PORTOLAN_ERROR_NOT_REGULAR_FILE,
    RANGE_NOT_SATISFIABLE = PORTOLAN_ERROR_RANGE_NOT_SATISFIABLE,
    CANCELLED = PORTOLAN_ERROR_CANCELLED,
    TIMED_OUT = PORTOLAN_ERROR_TIMED_OUT,
    TOO_MANY_REDIRECTS = PORTOLAN_ERROR_TOO_MANY_REDIRECTS,
    BAD_REDIRECT = PORTOLAN_ERROR_BAD_REDIRECT,
    AUTHENTICATION_REQUIRED = PORTOLAN_ERROR_AUTHENTICATION_REQUIRED,
    AUTHENTICATION_CANCELLED = PORTOLAN_ERROR_AUTHENTICATION_CANCELLED,
    BODY_FAILED = PORTOLAN_ERROR_BODY_FAILED,
    NAME_NOT_FOUND = PORTOLAN_ERROR_NAME_NOT_FOUND,
    CANNOT_CONNECT = PORTOLAN_ERROR_CANNOT_CONNECT,
    CONNECTION_LOST = PORTOLAN_ERROR_CONNECTION_LOST,
    SECURE_CONNECTION_FAILED = PORTOLAN_ERROR_SECURE_CONNECTION_FAILED,
    BAD_RESPONSE = PORTOLAN_ERROR_BAD_RESPONSE,
    TRUNCATED = PORTOLAN_ERROR_TRUNCATED,
    DECODING_FAILED = PORTOLAN_ERROR_DECODING_FAILED,
    LIMIT_EXCEEDED = PORTOLAN_ERROR_LIMIT_EXCEEDED,
    NESTED_TOO_DEEP = PORTOLAN_ERROR_NESTED_TOO_DEEP,
    IO_FAILED = PORTOLAN_ERROR_IO_FAILED,
    NO_MEMORY = PORTOLAN_ERROR_NO_MEMORY,
    NO_RESOURCES = PORTOLAN_ERROR_NO_RESOURCES,
    NOT_OFFERED = PORTOLAN_ERROR_NOT_OFFERED,
    CERTIFICATE_NOT_TRUSTED = PORTOLAN_ERROR_CERTIFICATE_NOT_TRUSTED,
    TRUST_ROOTS_UNUSABLE = PORTOLAN_ERROR_TRUST_ROOTS_UNUSABLE,
    CLIENT_CERTIFICATE_UNUSABLE = PORTOLAN_ERROR_CLIENT_CERTIFICATE_UNUSABLE,
    EMPTY_RESPONSE = PORTOLAN_ERROR_EMPTY_RESPONSE,
    PROXY_NOT_FOUND = PORTOLAN_ERROR_PROXY_NOT_FOUND,
    TUNNEL_FAILED = PORTOLAN_ERROR_TUNNEL_FAILED,
    SOCKS_FAILED = PORTOLAN_ERROR_SOCKS_FAILED,
}

impl Code {
    /// The number of the code: one of `portolan_code`, or a number of the error's domain.
    pub fn number(self) -> i32 {
        self.0
    }
}

/// Why a load failed, or that it was stopped.
///
/// Write the message as one line: what happened, with values quoted (see [`quote`](super::quote)), and how to fix it.
/// Do not include a user, a password or a secret. The kit cuts a message after 4096 bytes, and replaces control
/// characters.
#[derive(Clone, Debug)]
pub struct Error(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Stopped,
    /// The error and its causes, the nearest first. A flat list, because nested values are released recursively.
    Failed(Vec<Failure>, /** The number of causes that are left out. */ usize),
}

#[derive(Clone, Debug)]
struct Failure {
    code: Code,
    domain: Option<String>,
    message: String,
    /// Whether a signal has interrupted a system call (EINTR).
    is_interrupted: bool,
}

/// The largest number of errors in the list: one, with as many causes as a host keeps.
const LIST_LIMIT: usize = 9;

impl Error {
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error::of(code, None, message.into())
    }

    fn of(code: Code, domain: Option<String>, message: String) -> Error {
        Error(Kind::Failed(vec![Failure { code, domain, message, is_interrupted: false }], 0))
    }

    /// An error with a number of the plugin's own. The domain is in reverse DNS, usually the plugin's identifier.
    pub fn in_domain(domain: impl Into<String>, number: i32, message: impl Into<String>) -> Error {
        Error::of(Code(number), Some(domain.into()), message.into())
    }

    /// This error with the error that led to it. A loop can wrap its last error at each retry: of more than eight
    /// causes, the nearest seven and the last are kept.
    #[must_use]
    pub fn with_cause(mut self, cause: Error) -> Error {
        if let (Kind::Failed(list, omitted), Kind::Failed(causes, more)) = (&mut self.0, cause.0) {
            list.extend(causes);
            *omitted += more;
            while list.len() > LIST_LIMIT {
                list.remove(LIST_LIMIT - 1);
                *omitted += 1;
            }
        }
        self
    }

    /// Whether the load was stopped. Pass such an error on.
    pub fn is_stop(&self) -> bool {
        matches!(self.0, Kind::Stopped)
    }

    pub fn code(&self) -> Code {
        self.first().map_or(Code::CANCELLED, |first| first.code)
    }

    /// `None` for a published code.
    pub fn domain(&self) -> Option<&str> {
        self.first().and_then(|first| first.domain.as_deref())
    }

    pub fn message(&self) -> &str {
        self.first().map_or("the load was stopped", |first| &first.message)
    }

    /// The errors that led to this one, the nearest first. Each is without its causes.
    pub fn causes(&self) -> impl Iterator<Item = Error> + '_ {
        let list: &[Failure] = match &self.0 {
            Kind::Stopped => &[],
            Kind::Failed(list, _) => list,
        };
        list.iter().skip(1).map(|cause| Error(Kind::Failed(vec![cause.clone()], 0)))
    }

    fn first(&self) -> Option<&Failure> {
        match &self.0 {
            Kind::Stopped => None,
            Kind::Failed(list, _) => list.first(),
        }
    }

    /// Whether a signal has interrupted a system call. The call can be repeated.
    pub(super) fn is_interrupted(&self) -> bool {
        self.first().map_or(false, |first| first.is_interrupted)
    }

    pub(super) fn stopped() -> Error {
        Error(Kind::Stopped)
    }

    /// Calls `body` with this error as a struct of the host, which is valid during the call.
    pub(super) fn with_raw<Result>(&self, body: impl FnOnce(&abi::portolan_error) -> Result) -> Result {
        let (list, omitted) = match &self.0 {
            Kind::Stopped => return Error::new(self.code(), self.message()).with_raw(body),
            Kind::Failed(list, omitted) => (&list[..], *omitted),
        };
        let mut messages: Vec<String> = list.iter().map(|failure| syntax::one_line(&failure.message)).collect();
        if let (Some(last), true) = (messages.last_mut(), omitted > 0) {
            let noun = if omitted == 1 { "cause" } else { "causes" };
            *last = syntax::one_line(&format!("({omitted} {noun} left out) {last}"));
        }
        let mut errors: Vec<abi::portolan_error> =
            list.iter().zip(&messages).map(|(failure, message)| failure.raw(message)).collect();
        // From the last one to the first: an error points to the next error of the list, which does not change then.
        let mut cause = ptr::null();
        for error in errors.iter_mut().rev() {
            error.cause = cause;
            cause = error;
        }
        body(&errors[0])
    }

    /// Copies an error of the host with its causes.
    ///
    /// # Safety
    /// The error and its causes are valid.
    pub(super) unsafe fn from_raw(raw: &abi::portolan_error) -> Error {
        let mut list = Vec::new();
        let mut next: *const abi::portolan_error = raw;
        // SAFETY: each error is valid. The list is limited, so that a circle ends.
        while let (Some(raw), true) = (unsafe { next.as_ref() }, list.len() < LIST_LIMIT) {
            // SAFETY: the texts are valid as long as the error.
            let (domain, message) = unsafe { (text_of(raw.domain), text_of(raw.message)) };
            list.push(Failure {
                code: Code(raw.code),
                domain: domain.map(str::to_string),
                message: message.unwrap_or("").to_string(),
                is_interrupted: false,
            });
            next = raw.cause;
        }
        Error(Kind::Failed(list, 0))
    }

    /// The failure of a load whose nested load failed with `cause`: the same code and domain (NEST-02).
    pub(super) fn of_nested(cause: Error) -> Error {
        let message = format!("the nested load failed: {}", cause.message());
        Error::of(cause.code(), cause.domain().map(str::to_string), message).with_cause(cause)
    }
}

impl Failure {
    /// Without a domain, a host accepts only published codes that are not its own (ERR-03).
    fn raw(&self, message: &str) -> abi::portolan_error {
        let domain = self.domain.as_deref().filter(|domain| syntax::is_reverse_dns(domain));
        let code = if domain.is_some() || PUBLISHED.contains(&self.code) { self.code } else { Code::UNKNOWN };
        abi::portolan_error {
            size: std::mem::size_of::<abi::portolan_error>() as u32,
            code: code.0,
            domain: optional(domain),
            message: string(message),
            cause: ptr::null(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// The nearest code for an error of a system call. The message names it.
impl From<io::Error> for Error {
    fn from(error: io::Error) -> Error {
        let code = match error.kind() {
            io::ErrorKind::NotFound => Code::NOT_FOUND,
            io::ErrorKind::PermissionDenied => Code::ACCESS_DENIED,
            io::ErrorKind::ConnectionRefused | io::ErrorKind::AddrNotAvailable => Code::CANNOT_CONNECT,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::NotConnected
            | io::ErrorKind::UnexpectedEof => Code::CONNECTION_LOST,
            io::ErrorKind::TimedOut => Code::TIMED_OUT,
            io::ErrorKind::OutOfMemory => Code::NO_MEMORY,
            _ => Code::IO_FAILED,
        };
        let is_interrupted = error.kind() == io::ErrorKind::Interrupted;
        let message = format!("a system call failed: {error}");
        Error(Kind::Failed(vec![Failure { code, domain: None, message, is_interrupted }], 0))
    }
}
