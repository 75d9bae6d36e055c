// SPDX-License-Identifier: Apache-2.0

//! The order of a load's events. The host enforces it too, but can only end the load. This state machine returns an
//! error from the wrong call, before the host gets the event.

use super::error::{Code, Error, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    BeforeResponse,
    Body,
    Trailers,
    /// The load has confirmed the stored response.
    Confirmed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    phase: Phase,
    is_multipart: bool,
    /// Whether the method is HEAD. The response then announces a length, but no body follows.
    is_head: bool,
    upload_length: Option<u64>,
    expected_length: Option<u64>,
    delivered_length: u64,
    sent_length: u64,
}

impl Order {
    pub(super) fn new(is_multipart: bool, is_head: bool, upload_length: Option<u64>) -> Order {
        Order {
            phase: Phase::BeforeResponse,
            is_multipart,
            is_head,
            upload_length,
            expected_length: None,
            delivered_length: 0,
            sent_length: 0,
        }
    }

    /// Records data, the most frequent event.
    pub(super) fn record_data(&mut self, count: usize) -> Outcome {
        if self.phase != Phase::Body {
            return Err(self.misplaced_data());
        }
        let total = self.delivered_length.saturating_add(count as u64);
        match self.expected_length {
            Some(expected) if total > expected => Err(violation(
                Code::BAD_RESPONSE,
                "BODY-02",
                &format!("the body has more bytes than the response's expected_length ({expected})"),
                "give the right length, or None",
            )),
            _ => {
                self.delivered_length = total;
                Ok(())
            }
        }
    }

    fn misplaced_data(&self) -> Error {
        match self.phase {
            Phase::Confirmed => mistake(
                "CACHE-03",
                "did_load was called after cached_response_is_valid",
                "deliver no data, because the host delivers the stored body",
            ),
            Phase::Trailers => mistake(
                "ORDER-13",
                "did_load was called after did_receive_trailers",
                "deliver all data before the trailers",
            ),
            Phase::BeforeResponse | Phase::Body => {
                mistake("ORDER-01", "did_load was called before did_receive", "call did_receive with a Response first")
            }
        }
    }

    pub(super) fn record_response(&mut self, expected_length: Option<u64>) -> Outcome {
        match self.phase {
            Phase::BeforeResponse => {}
            Phase::Body if self.is_multipart => self.check_length()?,
            Phase::Body => {
                return Err(mistake(
                    "ORDER-08",
                    "did_receive was called twice",
                    "deliver one response, or set the flag multipart in export!",
                ))
            }
            Phase::Confirmed => {
                return Err(mistake(
                    "CACHE-02",
                    "did_receive was called after cached_response_is_valid",
                    "either confirm the stored response or deliver another one",
                ))
            }
            Phase::Trailers => {
                return Err(mistake(
                    "ORDER-13",
                    "did_receive was called after did_receive_trailers",
                    "deliver trailers after the last response",
                ))
            }
        }
        self.phase = Phase::Body;
        self.expected_length = expected_length;
        self.delivered_length = 0;
        Ok(())
    }

    /// Checks a call that must come before the response.
    pub(super) fn check_before_response(&self, call: &str) -> Outcome {
        if self.phase == Phase::BeforeResponse {
            return Ok(());
        }
        let mistaken = format!("{call} was called after the response or its confirmation");
        Err(mistake("ORDER-13", &mistaken, &format!("call {call} before the response")))
    }

    pub(super) fn check_challenge(&self) -> Outcome {
        match self.phase {
            Phase::BeforeResponse | Phase::Body => Ok(()),
            Phase::Trailers | Phase::Confirmed => Err(mistake(
                "ORDER-13",
                "did_receive_challenge was called after the trailers or the confirmation",
                "send challenges before the response or during the body",
            )),
        }
    }

    pub(super) fn record_trailers(&mut self) -> Outcome {
        match self.phase {
            Phase::Body => {}
            Phase::BeforeResponse => {
                return Err(mistake(
                    "ORDER-01",
                    "did_receive_trailers was called before did_receive",
                    "call did_receive with a Response first",
                ))
            }
            Phase::Confirmed => {
                return Err(mistake(
                    "CACHE-03",
                    "did_receive_trailers was called after cached_response_is_valid",
                    "finish the load after the confirmation",
                ))
            }
            Phase::Trailers => {
                return Err(mistake(
                    "ORDER-13",
                    "did_receive_trailers was called twice",
                    "deliver all trailer fields in one call",
                ))
            }
        }
        self.check_length()?;
        self.phase = Phase::Trailers;
        Ok(())
    }

    pub(super) fn record_confirmation(&mut self, has_stored_response: bool) -> Outcome {
        if !has_stored_response {
            return Err(mistake(
                "ORDER-10",
                "cached_response_is_valid was called without a stored response",
                "call it only if cached_response is not None",
            ));
        }
        self.check_before_response("cached_response_is_valid")?;
        self.phase = Phase::Confirmed;
        Ok(())
    }

    pub(super) fn record_sent(&mut self, total: u64) -> Outcome {
        if total < self.sent_length || self.upload_length.map_or(false, |length| total > length) {
            let mistaken = format!("did_send was called with a total of {total} bytes after {}", self.sent_length);
            return Err(mistake(
                "ORDER-09",
                &mistaken,
                "report the number of bytes since the start of the body, which never falls, and is at most the body's",
            ));
        }
        self.sent_length = total;
        Ok(())
    }

    pub(super) fn record_rewind(&mut self) {
        self.sent_length = 0;
    }

    /// Checks the end of a load whose function has returned `Ok`.
    pub(super) fn check_end(&self) -> Outcome {
        match self.phase {
            Phase::BeforeResponse => Err(mistake(
                "ORDER-01",
                "the plugin's load function returned Ok without a response",
                "call did_receive with a Response, or return an Error",
            )),
            Phase::Body => self.check_length(),
            Phase::Trailers | Phase::Confirmed => Ok(()),
        }
    }

    fn check_length(&self) -> Outcome {
        match self.expected_length {
            Some(expected) if self.delivered_length < expected && !(self.is_head && self.delivered_length == 0) => {
                Err(violation(
                    Code::TRUNCATED,
                    "BODY-02",
                    &format!(
                        "the body has {} bytes, fewer than the response's expected_length ({expected})",
                        self.delivered_length
                    ),
                    "deliver all bytes, or return an Error if the source ended early",
                ))
            }
            _ => Ok(()),
        }
    }
}

fn mistake(rule: &str, mistaken: &str, remedy: &str) -> Error {
    violation(Code::UNKNOWN, rule, mistaken, remedy)
}

fn violation(code: Code, rule: &str, mistaken: &str, remedy: &str) -> Error {
    Error::new(code, format!("{mistaken}, which breaks {rule}; {remedy}"))
}
