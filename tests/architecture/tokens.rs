//! A tokenizer of Rust sources, enough to find paths and items: it knows comments, literals and lifetimes.

/// Splits `source` into words, `::` and single signs, each with its line. Comments, strings, characters, lifetimes and
/// `#` are left out.
pub(crate) fn tokenize(source: &str) -> Vec<(usize, String)> {
    let bytes = source.as_bytes();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < bytes.len() {
        let rest = &source[at..];
        let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80;
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment_length(rest)
        } else if let Some(length) = string_length(rest) {
            length
        } else if bytes[at] == b'\'' {
            quote_length(rest)
        } else if rest.starts_with("::") {
            tokens.push((line, "::".to_owned()));
            2
        } else if is_word(bytes[at]) {
            let length = rest.bytes().take_while(|&byte| is_word(byte)).count();
            if rest[..length] != *"r" || !rest[length..].starts_with('#') {
                tokens.push((line, rest[..length].to_owned()));
            }
            length
        } else {
            if !bytes[at].is_ascii_whitespace() && bytes[at] != b'#' {
                tokens.push((line, (bytes[at] as char).to_string()));
            }
            1
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    tokens
}

fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text.as_bytes().get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// Returns the length of the string literal at the start of `text`, with any prefix of `b`, `c` and `r`.
fn string_length(text: &str) -> Option<usize> {
    let prefix = text.bytes().take_while(|byte| b"bcr".contains(byte)).count();
    let raw = text[..prefix].ends_with('r');
    let hashes = text[prefix..].bytes().take_while(|&byte| byte == b'#').count();
    let body = text[prefix + hashes..].strip_prefix('"')?;
    let opened = text.len() - body.len();
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(body.find(&end).map_or(text.len(), |found| opened + found + end.len()));
    }
    if hashes > 0 {
        return None;
    }
    let mut escaped = false;
    for (offset, byte) in body.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(opened + offset + 1),
            _ => {}
        }
    }
    Some(text.len())
}

/// Returns the length of the character literal at the start of `text`, or 1 for the quote of a lifetime.
fn quote_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            characters.next();
            characters.find(|(_, character)| *character == '\'').map_or(text.len(), |(end, _)| end + 1)
        }
        Some(_) => match characters.next() {
            Some((end, '\'')) => end + 1,
            _ => 1,
        },
        None => 1,
    }
}
