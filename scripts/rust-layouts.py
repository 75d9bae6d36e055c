#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a Rust program that compares the layouts and numbers of the bindings for Rust with those of the contract.

    scripts/rust-layouts.py > layouts.rs
    rustc --edition 2021 layouts.rs && ./layouts

The program has one check for each line of Sources/CPortolan/abi_check.c, and includes PluginKit/Rust/abi.rs. It prints each difference, and
fails if there is one. A line of abi_check.c that this script does not know is an error. Other files: rust-layouts.py ABI_CHECK ABI_RS.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = r"""// Written by scripts/rust-layouts.py. Do not edit.
#![allow(dead_code)]

#[path = "%(bindings)s"]
mod abi;

use std::mem::{size_of, MaybeUninit};
use std::ptr::addr_of;

const WORD: usize = size_of::<*const u8>();

/// The offset of a member, without a value of its struct.
macro_rules! offset {
    ($type:ident, $member:ident) => {{
        let value = MaybeUninit::<abi::$type>::uninit();
        let start = value.as_ptr();
        // SAFETY: `addr_of` reads nothing.
        let member = unsafe { addr_of!((*start).$member) };
        member as usize - start as usize
    }};
}

fn main() {
    let mut differences = 0;
    let mut expect = |what: &str, found: i128, expected: i128| {
        if found != expected {
            println!("{}: {} in Rust, {} in C", what, found, expected);
            differences += 1;
        }
    };
%(checks)s
    if differences > 0 {
        std::process::exit(1);
    }
    println!("%(count)d layouts and numbers are equal");
}
"""
LINES = [
    (r"AT\((\w+), (\w+), (\d+), (\d+)\);",
     r'expect("the offset of \1.\2", offset!(\1, \2) as i128, (\3 + \4 * WORD) as i128);'),
    (r"SIZE\((\w+), (\d+), (\d+)\);",
     r'expect("the size of \1", size_of::<abi::\1>() as i128, (\2 + \3 * WORD) as i128);'),
    (r"VALUE\((\w+), (-?\d+)\);",
     r'expect("\1", abi::\1 as i128, \2);'),
    # An enumeration is signed, too: the second line does not compile if it is not.
    (r"ENUM\((\w+)\);",
     r'expect("the size of \1", size_of::<abi::\1>() as i128, 4);' + "\n    " + r"let _: i32 = 0 as abi::\1;"),
    (r'_Static_assert\(sizeof\(size_t\) == sizeof\(void \*\), ".*"\);',
     r'expect("the size of usize", size_of::<usize>() as i128, WORD as i128);'),
]


def checks(source):
    """Returns the checks for the lines of abi_check.c."""
    # The comments and the definitions of the macros are not checks.
    text = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*$", "", text, flags=re.M)
    found = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        for pattern, check in LINES:
            match = re.fullmatch(pattern, line)
            if match:
                found.append("    " + match.expand(check))
                break
        else:
            sys.exit(f"abi_check.c: rust-layouts.py does not know the line '{line}'")
    return found


def main():
    if len(sys.argv) not in (1, 3):
        sys.exit(__doc__)
    source, bindings = sys.argv[1:] or [
        os.path.join(ROOT, "Sources/CPortolan/abi_check.c"), os.path.join(ROOT, "PluginKit/Rust/abi.rs")]
    with open(source, encoding="utf-8") as file:
        found = checks(file.read())
    print(PROGRAM % {"bindings": os.path.abspath(bindings), "checks": "\n".join(found), "count": len(found)}, end="")


if __name__ == "__main__":
    main()
