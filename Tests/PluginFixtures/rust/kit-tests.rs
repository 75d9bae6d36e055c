// SPDX-License-Identifier: Apache-2.0

//! Tests of the kit for plugins in Rust that need no host:
//!
//!     rustc --edition 2021 --test kit-tests.rs && ./kit-tests

#[path = "../../../PluginKit/Rust/mod.rs"]
mod portolan;

use portolan::{abi, entry, join, percent_decode, percent_decode_bytes, query_item, quote};
use portolan::{Code, Error, Handler, Host, Outcome, Request, RequestChoosing};
use std::path::Path;

struct Plain;

impl Handler for Plain {
    fn new(_: &Host) -> Result<Self, Error> {
        Ok(Plain)
    }

    fn load(&self, _: &Request, _: &portolan::Client) -> Outcome {
        Ok(())
    }
}

struct Choosing;

impl Handler for Choosing {
    fn new(_: &Host) -> Result<Self, Error> {
        Ok(Choosing)
    }

    fn load(&self, _: &Request, _: &portolan::Client) -> Outcome {
        Ok(())
    }
}

impl RequestChoosing for Choosing {
    fn can_init(&self, _: &Request) -> bool {
        true
    }
}

#[test]
fn a_table_has_only_the_functions_of_implemented_traits() {
    #[allow(unused_imports)]
    use entry::Absent as _;
    assert!(entry::Ability::<Plain>::CAN_INIT.is_none());
    assert!(entry::Ability::<Choosing>::CAN_INIT.is_some());
    assert!(entry::Ability::<Choosing>::CANONICAL_REQUEST.is_none());
    let table = entry::load_table::<Plain>();
    assert!(table.run.is_some() && table.stop.is_some() && table.destroy.is_some());
    assert!(table.start.is_none() && table.resume.is_none() && table.woken.is_none() && table.answered.is_none());
}

#[test]
fn parts_are_decoded_once() {
    for (part, expected) in [("", ""), ("a", "a"), ("%2541", "%41"), ("a%20b+c", "a b+c"), ("%c3%A9", "é"), ("é", "é")]
    {
        assert_eq!(percent_decode(part).unwrap(), expected, "{part}");
    }
    for part in ["%", "%4", "%zz", "%4g", "%+1", "a%0Ab", "a%0db", "%00", "a\nb", "%ff"] {
        assert_eq!(percent_decode(part).unwrap_err().code(), Code::BAD_URL, "{part}");
    }
    assert_eq!(percent_decode_bytes("%00%ff%0A").unwrap(), [0, 0xFF, 0x0A]);
}

#[test]
fn joined_paths_stay_below_the_root() {
    for (root, path, expected) in [
        ("/srv", "/a/b", "/srv/a/b"),
        ("/srv/", "a", "/srv/a"),
        ("/srv", "", "/srv"),
        ("/", "", "/"),
        ("/", "a", "/a"),
        ("/srv", "//a//./b/", "/srv/a/b"),
        ("/srv", "a%2Fb", "/srv/a/b"),
        ("/srv", ".../..a", "/srv/.../..a"),
        ("/s%41", "%41", "/s%41/A"),
        ("srv", "/etc", "srv/etc"),
    ] {
        assert_eq!(join(root, path).unwrap(), Path::new(expected), "{root} {path}");
    }
    for path in ["..", "/..", "a/../b", "a/%2e%2e", "%2e.", "..%2fa", "a\\b", "a%5cb", "%00", "%0a", "%0D", "%"] {
        assert_eq!(join("/srv", path).unwrap_err().code(), Code::BAD_URL, "{path}");
    }
    assert!(join("", "a").is_err() && join("a\0", "a").is_err());
}

#[test]
fn query_items_are_found_by_name() {
    let query = "a=1&b&c=&a=2&d=x=y&=z";
    for (name, expected) in [
        ("a", Some("1")),
        ("b", Some("")),
        ("c", Some("")),
        ("d", Some("x=y")),
        ("", Some("z")),
        ("e", None),
        ("A", None),
    ] {
        assert_eq!(query_item(query, name), expected, "{name}");
    }
}

#[test]
fn quoted_text_is_one_short_line() {
    assert_eq!(quote("a\r\nb\u{2028}\u{7f}"), "'a\u{FFFD}\u{FFFD}b\u{FFFD}\u{FFFD}'");
    assert_eq!(quote(&"é".repeat(80)).chars().count(), 82);
    assert_eq!(quote(&"é".repeat(81)), format!("'{}…'", "é".repeat(80)));
}

#[test]
fn names_are_checked_at_compile_time() {
    const _: () = assert!(entry::is_scheme("a+b-2.x") && !entry::is_scheme("A") && !entry::is_scheme("2a"));
    const _: () = assert!(entry::is_reverse_dns("org.example.a-b_c") && !entry::is_reverse_dns("org"));
    for name in ["", ".", "a.", ".a", "a..b", "a b.c", "é.b"] {
        assert!(!entry::is_reverse_dns(name), "{name}");
    }
    assert!(
        !entry::is_reverse_dns(&format!("a.{}", "b".repeat(254))) && !entry::is_scheme("") && !entry::is_scheme("+a")
    );
}

#[test]
fn errors_keep_their_first_and_last_causes() {
    let mut error = Error::new(Code::TIMED_OUT, "attempt 0");
    for attempt in 1..=30 {
        error = Error::new(Code::TIMED_OUT, format!("attempt {attempt}")).with_cause(error);
    }
    let messages: Vec<String> = error.causes().map(|cause| cause.message().to_string()).collect();
    assert_eq!(
        messages.join(", "),
        "attempt 29, attempt 28, attempt 27, attempt 26, attempt 25, attempt 24, attempt 23, attempt 0"
    );
    assert_eq!(error.message(), "attempt 30");
    let other = Error::in_domain("org.example.own", 7, "x");
    assert_eq!((other.domain(), other.code().number(), other.is_stop()), (Some("org.example.own"), 7, false));
    assert_eq!(Error::from(std::io::Error::from_raw_os_error(2)).code(), Code::NOT_FOUND);
}

#[test]
fn the_number_of_a_code_is_that_of_the_contract() {
    assert_eq!(Code::SOCKS_FAILED.number(), abi::PORTOLAN_ERROR_SOCKS_FAILED);
}
