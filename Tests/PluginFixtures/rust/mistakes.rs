// SPDX-License-Identifier: Apache-2.0

//! A plugin in Rust whose URLs are the mistakes of an author: panics, and calls that break the contract.
#![deny(unsafe_code)]

#[path = "../../../PluginKit/Rust/mod.rs"]
mod portolan;

use portolan::{Change, Client, Code, Error, Field, Handler, Host, Outcome, Request, RequestChoosing, Response};
use std::panic::panic_any;
use std::sync::atomic::{AtomicBool, Ordering};

struct Mistakes {
    panics_at_end: bool,
}

impl Handler for Mistakes {
    fn new(host: &Host) -> Result<Self, Error> {
        match host.setting("start")?.unwrap_or("") {
            "panics" => panic!("no start, {} times", 2),
            "fails" => Err(Error::in_domain("org.example.own", 7, "two\nlines")),
            start => Ok(Mistakes { panics_at_end: start == "panics at end" }),
        }
    }

    fn load(&self, request: &Request, client: &Client) -> Outcome {
        match request.path() {
            "panic" => {
                client.did_receive(&Response::new())?;
                panic!("no luck with\n{}", 7)
            }
            "payload" => panic_any(Bomb),
            "drop" => {
                let _bomb = Bomb;
                client.did_receive(&Response::new())
            }
            "thread" => {
                let is_failure = std::thread::spawn(|| panic!("no luck on a thread")).join().is_err();
                Err(Error::new(Code::UNKNOWN, format!("the thread failed: {is_failure}")))
            }
            "nested" => {
                let _nested = client.open_nested(&Change::nested("data:,x"))?;
                panic!("a nested load is open");
            }
            "leak" => {
                std::mem::forget(client.open_nested(&Change::nested("data:,x"))?);
                client.did_receive(&Response::new())
            }
            "silent" => Ok(()),
            "twice" => {
                client.did_receive(&Response::new())?;
                client.did_receive(&Response::new())
            }
            "early" => client.did_load("x"),
            "short" => client.did_receive(&Response { expected_length: Some(4), ..Response::new() }),
            "long" => {
                client.did_receive(&Response { expected_length: Some(4), ..Response::new() })?;
                client.did_load("12345")
            }
            "field" => client.did_receive(&Response { fields: &[Field::new("X-A", "a\r\nX-B: b")], ..Response::new() }),
            "type" => client.did_receive(&Response { mime_type: Some("text/plain;charset=utf-8"), ..Response::new() }),
            "message" => Err(Error::new(Code::NOT_FOUND, format!("a\nb{}", "é".repeat(4000)))),
            "domain" => Err(Error::in_domain("no domain", 99, "x")),
            "interrupt" => {
                let is_interrupted = AtomicBool::new(false);
                client.did_receive(&Response::new())?;
                let interrupt = || {
                    is_interrupted.store(true, Ordering::Release);
                    panic!("no luck with an interrupt")
                };
                client.interruptible(interrupt, || {
                    while !is_interrupted.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    Err(Error::new(Code::IO_FAILED, "the error of an interrupted system call"))
                })
            }
            _ => client.did_receive(&Response::new()),
        }
    }
}

impl RequestChoosing for Mistakes {
    fn can_init(&self, request: &Request) -> bool {
        assert_ne!(request.path(), "choice", "no luck with a choice");
        true
    }
}

impl Drop for Mistakes {
    fn drop(&mut self) {
        assert!(!self.panics_at_end, "no luck at the end");
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("no luck in a destructor");
    }
}

portolan::export!(Mistakes {
    identifier: "org.example.mistakes",
    name: "Mistakes",
    vendor: "Example",
    version: "0.1.0",
    schemes: ["mistakes"],
});
