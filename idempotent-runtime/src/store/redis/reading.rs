//! Answers, out of the bytes of a connection.
//!
//! The three answers of every usual call are read here; of any other, only where it ends (the types of RESP3 and their
//! first bytes: <https://redis.io/docs/latest/develop/reference/protocol-spec/>), and the client's own parser reads it.

use redis::Value;

use super::error::Ended;

/// The first answer in `bytes`, and its length; `None` until all of it is there.
pub(super) fn answer(bytes: &[u8]) -> Result<Option<(Value, usize)>, Ended> {
    match bytes {
        [b'_', b'\r', b'\n', ..] => return Ok(Some((Value::Nil, 3))),
        [b':', digit @ b'0'..=b'9', b'\r', b'\n', ..] => {
            return Ok(Some((Value::Int(i64::from(digit - b'0')), 4)));
        }
        [b'$', b'0'..=b'9', ..] => {
            let Some((length, from)) = number(bytes)? else { return Ok(None) };
            let to = from + length;
            return Ok(bytes.get(..to + 2).map(|whole| (Value::BulkString(whole[from..to].to_vec()), to + 2)));
        }
        _ => {}
    }
    let Some(length) = length(bytes)? else { return Ok(None) };
    let value =
        redis::parse_redis_value(&bytes[..length]).map_err(|error| Ended::Unreadable(error.to_string().into()))?;
    Ok(Some((value, length)))
}

/// Where the first answer ends.
fn length(bytes: &[u8]) -> Result<Option<usize>, Ended> {
    let mut at = 0;
    let mut left = 1_usize;
    while left > 0 {
        left -= 1;
        let rest = &bytes[at..];
        let Some(kind) = rest.first() else { return Ok(None) };
        let Some(line) = line(rest) else { return Ok(None) };
        let counted = |rest| number(rest).map(|number| number.map_or(0, |(number, _)| number));
        match kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {}
            // Nothing, in the older protocol.
            b'$' | b'*' if rest[1] == b'-' => {}
            b'$' | b'=' | b'!' => at += counted(rest)? + 2,
            b'*' | b'~' | b'>' => left += counted(rest)?,
            b'%' => left += 2 * counted(rest)?,
            // Attributes come before what they belong to.
            b'|' => left += 2 * counted(rest)? + 1,
            _ => return Err(Ended::Garbled("an answer of no known type")),
        }
        at += line;
        if at > bytes.len() {
            return Ok(None);
        }
    }
    Ok(Some(at))
}

/// The length of the first line, with its end.
fn line(bytes: &[u8]) -> Option<usize> {
    bytes.windows(2).position(|two| two == b"\r\n").map(|at| at + 2)
}

/// The number after the first byte, and where its line ends.
fn number(bytes: &[u8]) -> Result<Option<(usize, usize)>, Ended> {
    let mut number = 0_usize;
    for (at, &byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' if number < LONGEST => number = 10 * number + usize::from(byte - b'0'),
            b'\r' if at > 1 => return Ok(bytes.get(at + 1).map(|_| (number, at + 2))),
            _ => return Err(Ended::Garbled("an answer of no possible length")),
        }
    }
    Ok(None)
}

/// No string of the server's is longer than 512 MB (`proto-max-bulk-len`), and no list has as many parts.
const LONGEST: usize = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWERS: [&[u8]; 15] = [
        b"_\r\n",
        b":1\r\n",
        b":-42\r\n",
        b"+OK\r\n",
        b"-NOSCRIPT no matching script\r\n",
        b"$0\r\n\r\n",
        b"$5\r\n_\r\n:1\r\n",
        b"$-1\r\n",
        b"*-1\r\n",
        b"*3\r\n$2\r\nhi\r\n:7\r\n*1\r\n#t\r\n",
        b"%2\r\n$1\r\na\r\n:1\r\n$1\r\nb\r\n*0\r\n",
        b"~2\r\n+a\r\n+b\r\n",
        b">2\r\n+message\r\n$1\r\nx\r\n",
        b",1.5\r\n",
        b"=7\r\ntxt:abc\r\n",
    ];

    #[test]
    fn each_answer_is_what_the_clients_parser_reads() {
        for bytes in ANSWERS {
            let (value, length) = answer(bytes).expect("well-formed").expect("whole");
            assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
            assert_eq!(value, redis::parse_redis_value(bytes).expect("well-formed"), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn nothing_is_read_before_all_of_it_is_there() {
        for bytes in ANSWERS {
            for end in 0..bytes.len() {
                let part = answer(&bytes[..end]).expect("the beginning of an answer");
                assert!(part.is_none(), "{}: {part:?}", bytes[..end].escape_ascii());
            }
        }
    }

    #[test]
    fn an_answer_ends_where_the_next_one_begins() {
        let all = ANSWERS.concat();
        let mut at = 0;
        for bytes in ANSWERS {
            let (_, length) = answer(&all[at..]).expect("well-formed").expect("whole");
            assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
            at += length;
        }
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for bytes in [b"HTTP/1.1 400\r\n".as_slice(), b"$x\r\n", b"$\r\n", b"*99999999999999999999\r\n", b":x\r\n"] {
            assert!(answer(bytes).is_err(), "{}", bytes.escape_ascii());
        }
    }
}
