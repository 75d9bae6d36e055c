// SPDX-License-Identifier: Apache-2.0

//! Checks of names and text, which a host makes too. The kit makes them first, so that an error names the mistake.

/// Whether `text` is a token (RFC 9110 section 5.6.2).
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Whether `text` is `type/subtype` without parameters (RFC 9110 section 8.3.1).
pub(super) fn is_media_type(text: &str) -> bool {
    text.split_once('/').map_or(false, |(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Whether `value` has no control character except tab (RFC 9110 section 5.5).
pub(super) fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|&byte| (byte >= 0x20 && byte != 0x7F) || byte == b'\t')
}

/// Whether `url` is `scheme:…` in printable ASCII (RFC 3986 section 4.3). The host parses the rest.
pub(super) fn is_absolute(url: &str) -> bool {
    url.split_once(':').map_or(false, |(scheme, _)| {
        scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && scheme.bytes().next().map_or(false, |first| first.is_ascii_alphabetic())
    }) && url.bytes().all(|byte| (0x21..=0x7E).contains(&byte))
}

/// Whether `text` is a scheme in lower case (RFC 3986 section 3.1).
pub(super) const fn is_scheme(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b'a'..=b'z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if index > 0 => {}
            _ => return false,
        }
        index += 1;
    }
    index > 0
}

/// Whether `text` has at least two labels of letters, digits, hyphens and underscores, and at most 255 bytes.
pub(super) const fn is_reverse_dns(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut index, mut labels, mut label_length) = (0, 1, 0);
    while index < bytes.len() {
        match bytes[index] {
            b'.' if label_length > 0 => {
                labels += 1;
                label_length = 0;
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => label_length += 1,
            _ => return false,
        }
        index += 1;
    }
    labels >= 2 && label_length > 0 && bytes.len() <= 255
}

/// Whether `character` is a control character, or a separator that some terminals treat as a line break.
pub(super) fn is_breaking(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// The largest number of bytes in a message (ERR-02).
const MESSAGE_LIMIT: usize = 4096;

/// Returns `text` as one line of 1 to 4096 bytes.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(MESSAGE_LIMIT));
    for character in text.chars() {
        let visible = if is_breaking(character) { char::REPLACEMENT_CHARACTER } else { character };
        if line.len() + visible.len_utf8() > MESSAGE_LIMIT {
            break;
        }
        line.push(visible);
    }
    if line.is_empty() {
        line.push_str("no reason was given");
    }
    line
}
