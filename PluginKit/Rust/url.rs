// SPDX-License-Identifier: Apache-2.0

//! The parts of a URL: percent-decoding, paths below a folder, and quoting for messages.

use super::error::{Code, Error};
use super::syntax;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Percent-decodes a part of a URL once, as text: `%2541` gives `%41`. A `+` stays a `+`.
///
/// Returns `Code::BAD_URL` if a `%` is not followed by two hexadecimal digits, or if the result is not UTF-8 or has a
/// NUL, CR or LF, which could end a line or a file name (SEC-01).
pub fn percent_decode(part: &str) -> Result<String, Error> {
    let bytes = percent_decode_bytes(part)?;
    if let Some(&byte) = bytes.iter().find(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
        return Err(breaking(byte));
    }
    String::from_utf8(bytes)
        .map_err(|_| bad_url("a percent-encoded part of the URL is not UTF-8; encode its text in UTF-8"))
}

/// Percent-decodes a part of a URL once, as bytes. Every byte is allowed.
///
/// Returns `Code::BAD_URL` if a `%` is not followed by two hexadecimal digits.
pub fn percent_decode_bytes(part: &str) -> Result<Vec<u8>, Error> {
    let mut encoded = part.as_bytes();
    let mut decoded = Vec::with_capacity(encoded.len());
    while let Some((&byte, rest)) = encoded.split_first() {
        encoded = rest;
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |index: usize| rest.get(index).and_then(|&digit| char::from(digit).to_digit(16));
        match (digit(0), digit(1)) {
            (Some(high), Some(low)) => decoded.push((high * 16 + low) as u8),
            _ => {
                return Err(bad_url(
                    "the percent-encoding of the URL is malformed; write two hexadecimal digits after each %",
                ))
            }
        }
        encoded = &rest[2..];
    }
    Ok(decoded)
}

/// Percent-decodes a URL's path once, and appends it to `root`, a folder of the system, which is not decoded.
///
/// `/` separates segments, plain or encoded. Empty segments and `.` are left out. A `..` is refused, even if it would
/// stay inside the root, because after a symbolic link it can leave the root. A `\`, NUL, CR and LF are refused. The
/// file system is not read: if links can lead out of the root, open with openat2(2) and RESOLVE_BENEATH (SEC-02).
pub fn join(root: impl AsRef<Path>, path: &str) -> Result<PathBuf, Error> {
    let root = root.as_ref().as_os_str().as_bytes();
    if root.is_empty() || root.contains(&0) {
        return Err(bad_url("the root folder is empty or has a NUL; give the path of a folder"));
    }
    let end = root.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
    let mut joined = root[..end].to_vec();
    let decoded = percent_decode_bytes(path)?;
    for segment in decoded.split(|&byte| byte == b'/') {
        if let Some(&byte) = segment.iter().find(|byte| matches!(byte, b'\0' | b'\r' | b'\n')) {
            return Err(breaking(byte));
        }
        if segment.contains(&b'\\') {
            return Err(bad_url("the path has a backslash, which separates segments on other systems; remove it"));
        }
        match segment {
            b"" | b"." => {}
            b".." => return Err(bad_url("the path has a '..' segment; remove it")),
            _ => {
                joined.push(b'/');
                joined.extend_from_slice(segment);
            }
        }
    }
    if joined.is_empty() {
        joined.push(b'/');
    }
    Ok(PathBuf::from(OsString::from_vec(joined)))
}

/// Returns the value of the first `name=value` in a URL's query, still percent-encoded. Empty if the name has no value.
/// `name` is compared as it is written in the URL.
pub fn query_item<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| match pair.split_once('=') {
        Some((key, value)) if key == name => Some(value),
        None if pair == name => Some(""),
        _ => None,
    })
}

/// The largest number of characters of a quoted text.
const QUOTE_LIMIT: usize = 80;

/// Quotes a part of a URL, or another value, for a message: in `'…'`, on one line, and cut after 80 characters. Never
/// quote a user, a password or a whole URL, which can have both (ERR-05).
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("'");
    quoted.extend(text.chars().take(QUOTE_LIMIT).map(|character| {
        if syntax::is_breaking(character) {
            char::REPLACEMENT_CHARACTER
        } else {
            character
        }
    }));
    quoted.push_str(if text.chars().nth(QUOTE_LIMIT).is_some() { "…'" } else { "'" });
    quoted
}

fn bad_url(message: &str) -> Error {
    Error::new(Code::BAD_URL, message)
}

fn breaking(byte: u8) -> Error {
    bad_url(match byte {
        b'\0' => "the URL has a NUL, where a C string would end; remove %00",
        b'\r' => "the URL has a CR, which could start another command of a protocol; remove %0D",
        _ => "the URL has an LF, which could start another command of a protocol; remove %0A",
    })
}
