// SPDX-License-Identifier: Apache-2.0

//! Panics of the plugin. Each function that the host calls catches them.
//!
//! Rust's standard library is linked into the plugin's library, so its panic hook is the plugin's own.

use super::error::{Code, Error};
use super::host::{Host, LogLevel};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::{Mutex, Once, PoisonError};

pub(super) struct Panic {
    message: String,
    place: String,
}

impl Panic {
    /// The failure of a load. It has no place, which is of use only to the plugin's author.
    pub(super) fn into_error(self) -> Error {
        Error::new(Code::UNKNOWN, format!("the plugin panicked: {}; ask its author", self.message))
    }

    pub(super) fn log(&self, host: &Host) {
        host.log(LogLevel::Error, &format!("the plugin panicked at {}: {}", self.place, self.message));
    }
}

thread_local! {
    /// The place of this thread's last panic.
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
    /// The number of calls of `catch` on this thread's stack.
    static CATCHES: Cell<usize> = const { Cell::new(0) };
}

/// Panics on threads of the plugin, for the log. Such a thread has no host.
static OTHER_PANICS: Mutex<Vec<Panic>> = Mutex::new(Vec::new());
const OTHER_PANIC_LIMIT: usize = 16;

/// Replaces the hook that prints each panic to standard error.
pub(super) fn replace_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        set_hook(Box::new(|info| {
            let place = info.location().map_or("an unknown place".to_string(), ToString::to_string);
            // A thread that is ending has no thread-locals any more.
            if CATCHES.try_with(Cell::get).unwrap_or(0) > 0 {
                let _ = PLACE.try_with(|last| last.try_borrow_mut().map(|mut last| *last = place));
                return;
            }
            let mut others = OTHER_PANICS.lock().unwrap_or_else(PoisonError::into_inner);
            if others.len() < OTHER_PANIC_LIMIT {
                let message = text(info.payload()).unwrap_or(NO_TEXT).to_string();
                others.push(Panic { message, place });
            }
        }));
    });
}

/// Logs the panics of the plugin's threads since the last call.
pub(super) fn log_other_panics(host: &Host) {
    let others = std::mem::take(&mut *OTHER_PANICS.lock().unwrap_or_else(PoisonError::into_inner));
    others.iter().for_each(|panic| panic.log(host));
}

/// Calls `body`, and catches a panic of it.
pub(super) fn catch<Value>(body: impl FnOnce() -> Value) -> Result<Value, Panic> {
    replace_hook();
    let _ = CATCHES.try_with(|count| count.set(count.get() + 1));
    // The plugin's handler must be usable after a panic, as the data of every server.
    let result = catch_unwind(AssertUnwindSafe(body));
    let _ = CATCHES.try_with(|count| count.set(count.get() - 1));
    result.map_err(|payload| {
        let message = text(&*payload).unwrap_or(NO_TEXT).to_string();
        discard(payload);
        let place = PLACE.try_with(|last| last.try_borrow_mut().map(|mut last| std::mem::take(&mut *last)));
        Panic { message, place: place.ok().and_then(Result::ok).unwrap_or_default() }
    })
}

/// Calls `body`. If it panics, logs that, and returns `fallback`.
pub(super) fn guard<Value>(host: &Host, fallback: Value, body: impl FnOnce() -> Value) -> Value {
    catch(body).unwrap_or_else(|panic| {
        panic.log(host);
        fallback
    })
}

const NO_TEXT: &str = "a value that is not text";

fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    payload.downcast_ref::<&'static str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Frees the payload of a panic. Its destructor can panic again, and so can the destructor of the payload of that.
fn discard(mut payload: Box<dyn Any + Send>) {
    for _ in 0..8 {
        match catch_unwind(AssertUnwindSafe(move || drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}
