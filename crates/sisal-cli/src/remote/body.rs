//! What follows the head of an answer: by length, in chunks, or until the connection is closed; never more than we are ready to hold.

use super::http::{Defect, Length, not_http, read_line};
use std::io::{BufRead, Read};

/// Against answers without end.
pub(super) const LARGEST: u64 = 512 << 20;
/// What is believed before it has come.
const BELIEVED: u64 = 1 << 20;

/// Reads the body to its end.
pub(super) fn read_body(reader: &mut impl BufRead, length: Length, largest: u64) -> Result<Vec<u8>, Defect> {
    let mut body = Vec::new();
    match length {
        Length::Bytes(length) => read_piece(reader, length, largest, &mut body)?,
        Length::UntilClosed => {
            reader.take(largest + 1).read_to_end(&mut body)?;
            check(body.len() as u64, largest)?;
        }
        Length::Chunked => loop {
            let size = chunk_size(&read_line(reader)?)?;
            if size == 0 {
                skip_trailers(reader)?;
                break;
            }
            read_piece(reader, size, largest, &mut body)?;
            if !read_line(reader)?.is_empty() {
                return not_http("a chunk is longer than it says");
            }
        },
    }
    Ok(body)
}

/// Appends so many bytes.
fn read_piece(reader: &mut impl BufRead, length: u64, largest: u64, body: &mut Vec<u8>) -> Result<(), Defect> {
    let before = body.len() as u64;
    check(before.saturating_add(length), largest)?;
    body.reserve(length.min(BELIEVED) as usize);
    let read = reader.take(length).read_to_end(body)? as u64;
    if read < length {
        return not_http(format!("it ends after {} bytes, and should have {}", before + read, before + length));
    }
    Ok(())
}

fn check(length: u64, largest: u64) -> Result<(), Defect> {
    if length > largest {
        return not_http(format!("it has more than {} MB", largest >> 20));
    }
    Ok(())
}

/// The number in front of a chunk, behind which there may be more.
fn chunk_size(line: &str) -> Result<u64, Defect> {
    let number = line.split(';').next().unwrap_or_default().trim();
    match u64::from_str_radix(number, 16) {
        Ok(size) if !number.starts_with('+') => Ok(size),
        _ => not_http("a chunk without its size"),
    }
}

fn skip_trailers(reader: &mut impl BufRead) -> Result<(), Defect> {
    /// More than this is no end.
    const MOST: usize = 100;
    for _ in 0..MOST {
        if read_line(reader)?.is_empty() {
            return Ok(());
        }
    }
    not_http("it has no end")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(text: &str, length: Length) -> Result<String, String> {
        match read_body(&mut text.as_bytes(), length, 20) {
            Ok(body) => Ok(String::from_utf8(body).unwrap()),
            Err(Defect::NotHttp(reason)) => Err(reason),
            Err(Defect::Broken(error)) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_body_has_the_length_that_was_told() {
        assert_eq!(body("hello, world", Length::Bytes(5)).unwrap(), "hello");
        assert_eq!(body("hello", Length::UntilClosed).unwrap(), "hello");
        assert_eq!(body("5\r\nhello\r\n2;x=y\r\n!!\r\n0\r\nt: r\r\n\r\n", Length::Chunked).unwrap(), "hello!!");
    }

    #[test]
    fn a_body_that_ends_too_early_is_told() {
        assert_eq!(body("hell", Length::Bytes(5)).unwrap_err(), "it ends after 4 bytes, and should have 5");
        assert_eq!(body("5\r\nhel", Length::Chunked).unwrap_err(), "it ends after 3 bytes, and should have 5");
        assert_eq!(body("5\r\nhello\r\n", Length::Chunked).unwrap_err(), "it ends too early");
        assert_eq!(body("5\r\nhello\r\n0\r\n", Length::Chunked).unwrap_err(), "it ends too early");
    }

    #[test]
    fn a_body_that_is_too_long_is_not_held() {
        let long = "x".repeat(30);
        assert_eq!(body(&long, Length::Bytes(30)).unwrap_err(), "it has more than 0 MB");
        assert_eq!(body(&long, Length::UntilClosed).unwrap_err(), "it has more than 0 MB");
        let chunks = "10\r\n0123456789abcdef\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n";
        assert_eq!(body(chunks, Length::Chunked).unwrap_err(), "it has more than 0 MB");
        assert_eq!(body("ffffffffffffffff\r\n", Length::Chunked).unwrap_err(), "it has more than 0 MB");
    }

    #[test]
    fn chunks_that_are_none_are_told() {
        assert_eq!(body("zz\r\n", Length::Chunked).unwrap_err(), "a chunk without its size");
        assert_eq!(body("+5\r\nhello\r\n", Length::Chunked).unwrap_err(), "a chunk without its size");
        assert_eq!(body("3\r\nhello\r\n", Length::Chunked).unwrap_err(), "a chunk is longer than it says");
    }
}
