//! Server-sent events, read from bytes as they come.

/// The most bytes of one event: more than the server puts into any.
const MOST: usize = 4 << 20;

/// Bytes that have come, and are not all read yet.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    bytes: Vec<u8>,
    /// The place up to which it is known that no event ends.
    looked: usize,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: String,
}

/// An event that does not end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Parser {
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        if self.bytes.len() + bytes.len() > MOST {
            return Err(TooLong);
        }
        // The standard knows three ends of lines. This server writes one, and what stands between may write another.
        self.bytes.extend(bytes.iter().filter(|byte| **byte != b'\r'));
        Ok(())
    }

    /// The next event that is whole. Comments and fields that nobody knows are passed over.
    pub(crate) fn next(&mut self) -> Option<Block> {
        loop {
            let from = self.looked.saturating_sub(1);
            let Some(end) = self.bytes[from..].windows(2).position(|two| two == b"\n\n") else {
                self.looked = self.bytes.len();
                return None;
            };
            let rest = self.bytes.split_off(from + end + 2);
            let block = std::mem::replace(&mut self.bytes, rest);
            self.looked = 0;
            let block = Block::read(&String::from_utf8_lossy(&block));
            if !block.data.is_empty() {
                return Some(block);
            }
        }
    }
}

impl Block {
    fn read(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.lines().filter(|line| !line.starts_with(':')) {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match name {
                "id" => block.id = Some(value.to_owned()),
                "event" => block.event = Some(value.to_owned()),
                "data" if block.data.is_empty() => value.clone_into(&mut block.data),
                "data" => block.data.extend(["\n", value]),
                _ => {}
            }
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ": hello\n\nid: 1\nevent: change\ndata: {\"a\":\ndata: 1}\n\n:\n\nid: 2\r\ndata:x\r\n\r\nid: 3\ndata: half";

    fn all(parser: &mut Parser) -> Vec<Block> {
        std::iter::from_fn(|| parser.next()).collect()
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_cut() {
        let mut whole = Parser::default();
        whole.push(TEXT.as_bytes()).unwrap();
        let whole = all(&mut whole);
        assert_eq!(whole.len(), 2);
        assert_eq!(whole[0].data, "{\"a\":\n1}");
        assert_eq!((whole[0].id.as_deref(), whole[0].event.as_deref()), (Some("1"), Some("change")));
        assert_eq!((whole[1].id.as_deref(), whole[1].data.as_str()), (Some("2"), "x"));
        for size in 1..TEXT.len() {
            let mut parser = Parser::default();
            let mut read = Vec::new();
            for part in TEXT.as_bytes().chunks(size) {
                parser.push(part).unwrap();
                read.extend(all(&mut parser));
            }
            assert_eq!(read, whole, "in parts of {size} bytes");
        }
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let mut parser = Parser::default();
        let part = vec![b'x'; MOST / 4];
        let pushed: Vec<_> = (0..5).map(|_| parser.push(&part)).collect();
        assert_eq!(pushed, [Ok(()), Ok(()), Ok(()), Ok(()), Err(TooLong)]);
    }
}
