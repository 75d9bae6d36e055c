// SPDX-License-Identifier: Apache-2.0

//! Authentication: the challenge of a load, and its answer.

use super::borrowed::{address, bytes, bytes_of, list_of, optional, string};
use super::client::Client;
use super::error::{Code, Error};
use super::request::Request;
use super::{abi, syntax};
use std::sync::atomic::{compiler_fence, Ordering};
use std::{fmt, ptr, str};

/// A challenge from the peer, with the protection space in which one credential is valid.
#[derive(Clone, Copy)]
pub struct Challenge<'a> {
    pub method: ChallengeMethod<'a>,
    /// The scheme of the URL or of the proxy.
    pub protocol: &'a str,
    /// Empty if the URL has no host.
    pub host: &'a str,
    pub port: Option<u16>,
    pub realm: Option<&'a str>,
    pub is_proxy: bool,
    /// The number of answers in this space that have failed in this load (CHAL-04).
    pub failure_count: u32,
    /// Why the last answer failed.
    pub previous: Option<&'a Error>,
}

#[derive(Clone, Copy)]
pub enum ChallengeMethod<'a> {
    /// A user and a password. `scheme` is the authentication scheme, such as `basic`.
    Password { scheme: Option<&'a str> },
    /// A client certificate and its key. `issuers`: the names of the accepted issuers, DER.
    ClientCertificate { issuers: &'a [&'a [u8]] },
    /// Whether to trust the peer's chain, DER, the leaf first.
    ServerTrust { chain: &'a [&'a [u8]] },
}

impl<'a> Challenge<'a> {
    /// A challenge for a user and a password of the request's host.
    pub fn password(request: &'a Request) -> Challenge<'a> {
        Challenge {
            method: ChallengeMethod::Password { scheme: None },
            protocol: request.scheme(),
            host: request.host().unwrap_or(""),
            port: request.port(),
            realm: None,
            is_proxy: false,
            failure_count: 0,
            previous: None,
        }
    }

    /// Checks the challenge before the host does. The host or the realm can be the peer's mistake.
    fn check(&self) -> Result<(), Error> {
        let has_break = |text: &str| text.chars().any(syntax::is_breaking);
        if self.protocol.is_empty()
            || [self.protocol, self.host, self.realm.unwrap_or("")].iter().any(|text| has_break(text))
        {
            return Err(Error::new(
                Code::BAD_RESPONSE,
                "the protocol of a challenge is empty, or its host or realm has a control character, which breaks \
                 CHAL-01",
            ));
        }
        Ok(())
    }
}

/// The answer to a challenge.
#[derive(Debug)]
pub enum Answer {
    /// Use this credential. For server trust: trust the chain.
    Use(Credential),
    /// Continue without a credential: deliver the peer's response, or fail with `Code::AUTHENTICATION_REQUIRED`.
    ContinueWithoutCredential,
    /// The caller does not decide. For server trust: check the chain with the system's roots. Otherwise the same as
    /// `ContinueWithoutCredential`.
    PerformDefault,
    /// Send a challenge for the next space that the peer offers, or fail as for `ContinueWithoutCredential`.
    RejectProtectionSpace,
    /// Fail with `Code::AUTHENTICATION_CANCELLED`.
    Cancel,
}

/// A credential. Its secrets are wiped when it is dropped. Never put them in a message, log line, URL or field
/// (CHAL-09).
#[derive(Debug)]
pub struct Credential {
    /// UTF-8. Empty if the challenge is not for a password.
    pub user: Secret,
    pub password: Secret,
    /// The chain of a client certificate, DER, the leaf first.
    pub certificates: Vec<Vec<u8>>,
    /// The key of the client certificate, PKCS #8, DER.
    pub private_key: Secret,
}

/// Bytes that are wiped when they are dropped.
pub struct Secret(Box<[u8]>);

impl Secret {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text without a copy; `None` if it is not UTF-8.
    pub fn text(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok()
    }

    /// Compares in a time that depends only on the lengths.
    pub fn equals(&self, other: impl AsRef<[u8]>) -> bool {
        let other = other.as_ref();
        let mut difference = u8::from(self.0.len() != other.len());
        for (index, byte) in other.iter().enumerate() {
            difference |= self.0.get(index).copied().unwrap_or(0) ^ byte;
        }
        difference == 0
    }

    /// # Safety
    /// The string is valid.
    unsafe fn copy(raw: abi::portolan_string) -> Secret {
        // SAFETY: as above. One allocation, so that no part of the secret stays elsewhere.
        Secret(unsafe { bytes_of(raw) }.unwrap_or(&[]).into())
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        for byte in self.0.iter_mut() {
            // SAFETY: the byte belongs to this secret. The optimiser would remove a plain store before the release.
            unsafe { ptr::write_volatile(byte, 0) };
        }
        compiler_fence(Ordering::SeqCst);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Client {
    /// Sends a challenge for a credential or for a decision whether to trust a chain, and waits for the answer.
    ///
    /// The host first looks for a credential in its store and in the URL. If there is none, it asks the caller.
    pub fn did_receive_challenge(&self, challenge: &Challenge) -> Result<Answer, Error> {
        self.check_over()?;
        challenge.check()?;
        self.check_challenge()?;
        match challenge.previous {
            Some(previous) => previous.with_raw(|previous| self.send(challenge, previous)),
            None => self.send(challenge, ptr::null()),
        }
    }

    fn send(&self, challenge: &Challenge, previous: *const abi::portolan_error) -> Result<Answer, Error> {
        let (method, scheme, certificates) = match challenge.method {
            ChallengeMethod::Password { scheme } => (abi::PORTOLAN_ASK_PASSWORD, scheme, &[][..]),
            ChallengeMethod::ClientCertificate { issuers } => (abi::PORTOLAN_ASK_CLIENT_CERTIFICATE, None, issuers),
            ChallengeMethod::ServerTrust { chain } => (abi::PORTOLAN_ASK_SERVER_TRUST, None, chain),
        };
        let certificates: Vec<_> = certificates.iter().map(|certificate| bytes(certificate)).collect();
        let raw = abi::portolan_challenge {
            size: std::mem::size_of::<abi::portolan_challenge>() as u32,
            method,
            protocol: string(challenge.protocol),
            host: string(challenge.host),
            realm: optional(challenge.realm),
            scheme: optional(scheme),
            port: challenge.port.map_or(-1, i32::from),
            is_proxy: challenge.is_proxy.into(),
            failure_count: i32::try_from(challenge.failure_count).unwrap_or(i32::MAX),
            reserved: 0,
            certificates: address(&certificates),
            certificate_count: certificates.len(),
            previous,
        };
        let mut answer = ptr::null();
        // SAFETY: the challenge is valid during the call.
        self.outcome(unsafe { (self.table().did_receive_challenge)(self.raw(), &raw, &mut answer) })?;
        // SAFETY: the answer is valid until the next client call. It is copied before.
        match unsafe { answer.as_ref() } {
            Some(answer) => Ok(unsafe { Answer::copy(answer) }),
            None => Err(self.note_stop()),
        }
    }
}

impl Answer {
    /// # Safety
    /// The answer is valid.
    unsafe fn copy(raw: &abi::portolan_answer) -> Answer {
        match raw.disposition {
            // SAFETY: the strings and the list are valid as long as the answer.
            abi::PORTOLAN_USE => Answer::Use(unsafe {
                Credential {
                    user: Secret::copy(raw.user),
                    password: Secret::copy(raw.password),
                    certificates: list_of(raw.certificates, raw.certificate_count)
                        .iter()
                        .map(|certificate| bytes_of(*certificate).unwrap_or(&[]).to_vec())
                        .collect(),
                    private_key: Secret::copy(raw.private_key),
                }
            }),
            abi::PORTOLAN_WITHOUT => Answer::ContinueWithoutCredential,
            abi::PORTOLAN_REJECT_SPACE => Answer::RejectProtectionSpace,
            abi::PORTOLAN_CANCEL => Answer::Cancel,
            _ => Answer::PerformDefault,
        }
    }
}
