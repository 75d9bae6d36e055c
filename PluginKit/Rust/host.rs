// SPDX-License-Identifier: Apache-2.0

//! The host, for one instance of a plugin.

use super::borrowed::{list_of, string, text_of};
use super::error::Error;
use super::field::{FromValue, Property};
use super::{abi, syntax};
use std::os::raw::{c_char, c_void};

/// The importance of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    Error = 1,
    Warning = 2,
    Info = 3,
    Debug = 4,
}

/// The services of the host for the whole plugin. They can be used on any thread.
pub struct Host {
    raw: *mut abi::portolan_host,
}

// SAFETY: the functions of a host are [any], and nobody changes its values.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    /// # Safety
    /// The host is valid as long as the result.
    pub(super) unsafe fn new(raw: *mut abi::portolan_host) -> Host {
        Host { raw }
    }

    fn table(&self) -> &abi::portolan_host {
        // SAFETY: the host is valid, see `new`.
        unsafe { &*self.raw }
    }

    /// The host's version (Semantic Versioning).
    pub fn version(&self) -> &str {
        // SAFETY: the text is valid as long as the host.
        unsafe { text_of(self.table().version) }.unwrap_or("")
    }

    /// A JSON object: the manifest's configuration, overridden by the user's. See [`Host::setting`].
    pub fn configuration(&self) -> &str {
        // SAFETY: the text is valid as long as the host.
        unsafe { text_of(self.table().configuration) }.unwrap_or("{}")
    }

    /// The settings with a scalar value. A member of an object has a name like `a.b`.
    pub fn settings(&self) -> &[Property<'_>] {
        // SAFETY: the settings are valid as long as the host, and `Property` has the layout of `portolan_property`.
        unsafe { list_of(self.table().settings as *const Property, self.table().setting_count) }
    }

    /// The value of a setting, as in `host.setting::<i64>("times")?`. `None` if it is not set.
    ///
    /// Returns `Code::BAD_REQUEST` with the setting's name if the value has another kind (REG-06).
    pub fn setting<'a, Type: FromValue<'a>>(&'a self, name: &str) -> Result<Option<Type>, Error> {
        Property::find(self.settings(), name, "setting")
    }

    /// Writes one line to the user's log. A plugin writes nothing to standard output or standard error (ERR-06).
    pub fn log(&self, level: LogLevel, message: &str) {
        let line = syntax::one_line(message);
        // SAFETY: the host copies the line.
        unsafe { (self.table().log)(self.raw, level as abi::portolan_level, string(&line)) }
    }

    pub(super) fn nested_table(&self) -> *const abi::portolan_nested_table {
        // SAFETY: the identifier is a C string.
        let table = unsafe { (self.table().extension)(self.raw, abi::PORTOLAN_NESTED.as_ptr() as *const c_char) };
        table as *const abi::portolan_nested_table
    }
}
