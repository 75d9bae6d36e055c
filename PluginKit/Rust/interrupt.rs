// SPDX-License-Identifier: Apache-2.0

//! The stop of a load, which interrupts a system call of the load.

use super::client::Client;
use super::error::Error;
use super::host::Host;
use super::panics;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Interrupt = dyn FnMut() + Send;

/// The interrupts of a load. The load-thread and `stop` use them at the same time.
pub(super) struct Interrupts {
    state: Mutex<State>,
}

struct State {
    is_stopped: bool,
    /// The interrupts of the calls of `interruptible` on the load-thread's stack.
    interrupts: Vec<*mut Interrupt>,
}

// SAFETY: the pointers are to closures that are Send. They are used only with the lock, and while they are valid.
unsafe impl Send for State {}

impl Interrupts {
    pub(super) fn new() -> Interrupts {
        Interrupts { state: Mutex::new(State { is_stopped: false, interrupts: Vec::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the interrupts with the lock, so that `interruptible` does not return, and end their lives, before they
    /// have returned.
    pub(super) fn stop(&self, host: &Host) {
        let mut state = self.lock();
        state.is_stopped = true;
        for interrupt in mem::take(&mut state.interrupts) {
            // SAFETY: a closure of the list is valid, because it is removed, with the lock, before its life ends.
            panics::guard(host, (), || unsafe { (*interrupt)() });
        }
    }
}

impl Client {
    /// Calls `body`, which makes a system call that can wait. If the load is stopped in that time, calls `interrupt` on
    /// another thread. `interrupt` makes the system call return, for example by a shutdown of the socket, and returns
    /// immediately:
    ///
    /// ```text
    /// let count = client.interruptible(|| drop(stream.shutdown(Shutdown::Both)), || (&stream).read(&mut buffer))?;
    /// ```
    ///
    /// If the load was stopped, the result is the stop, whatever `body` returns. So an error of the interrupted system
    /// call does no harm. If the load was stopped before, neither closure is called. `interrupt` is called at most
    /// once, and never after `interruptible` has returned. If a signal has interrupted the system call, `body` is called
    /// again (FAULT-04), so it makes one system call.
    pub fn interruptible<Value, Failure>(
        &self,
        interrupt: impl FnOnce() + Send,
        mut body: impl FnMut() -> Result<Value, Failure>,
    ) -> Result<Value, Error>
    where
        Error: From<Failure>,
    {
        self.check_stopped()?;
        let mut interrupt = Some(interrupt);
        let mut call = || {
            if let Some(interrupt) = interrupt.take() {
                interrupt()
            }
        };
        let pointer: *mut (dyn FnMut() + Send + '_) = &mut call;
        // SAFETY: only the lifetime changes. `registration` removes the pointer before the life of `call` ends, also if
        // `body` panics.
        let pointer: *mut Interrupt = unsafe { mem::transmute(pointer) };
        let interrupts = self.interrupts();
        {
            let mut state = interrupts.lock();
            if state.is_stopped {
                return Err(self.note_stop());
            }
            state.interrupts.push(pointer);
        }
        let registration = Registration { interrupts, pointer };
        let mut result = body().map_err(Error::from);
        while matches!(&result, Err(error) if error.is_interrupted()) && !self.is_stopped() {
            result = body().map_err(Error::from);
        }
        drop(registration);
        if interrupts.lock().is_stopped {
            return Err(self.note_stop());
        }
        self.check_stopped()?;
        result
    }
}

/// Removes an interrupt when it is dropped. Waits for its end if it is running.
struct Registration<'a> {
    interrupts: &'a Interrupts,
    pointer: *mut Interrupt,
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        let pointer = self.pointer as *mut ();
        self.interrupts.lock().interrupts.retain(|&other| other as *mut () != pointer);
    }
}
