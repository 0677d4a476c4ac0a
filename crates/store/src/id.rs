//! Ids. Whoever submits makes those of tasks: a store makes none.

use std::fmt;
use std::str::FromStr;

/// A task, everywhere and for ever: a UUID, version 7, so that ids sort by their time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u128);

/// A process that works on tasks, from its start to its end: one that comes back is another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u128);

/// Something that an operator has asked for: a UUID, version 7, made by whoever asks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AuditId(u128);

/// The text of an id. Each call has one in its headers: the formatting of numbers took a hundredth of a server's time.
fn text_of(bits: u128) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    for (nth, byte) in bits.to_be_bytes().into_iter().enumerate() {
        let dashes = [4, 6, 8, 10].into_iter().filter(|begins| nth >= *begins).count();
        let at = 2 * nth + dashes;
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 0xF)];
    }
    text
}

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// The id with these bits.
            #[must_use]
            pub const fn from_u128(bits: u128) -> Self {
                Self(bits)
            }

            /// The bits.
            #[must_use]
            pub const fn as_u128(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::str::from_utf8(&text_of(self.0)).map_err(|_| fmt::Error)?)
            }
        }

        /// As it is shown, so that an id in a log or in a failed assertion can be looked for.
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                let hex: String = text.chars().filter(|letter| *letter != '-').collect();
                let fits = hex.len() == 32 && hex.chars().all(|letter| letter.is_ascii_hexdigit());
                let bits = u128::from_str_radix(&hex, 16).ok().filter(|_| fits);
                bits.map(Self).ok_or(BadId)
            }
        }
    };
}

impl TaskId {
    /// The least id that can be made at this time: the first 48 bits of an id are its milliseconds.
    #[must_use]
    pub const fn first_at(time: steadfast_engine::Time) -> Self {
        Self((time.as_millis() as u128 & 0xFFFF_FFFF_FFFF) << 80)
    }
}

impl NodeId {
    /// Who had a task that comes from elsewhere and was running there. No node makes such an id: they are UUIDs of a version.
    pub const GONE: Self = Self(0);
}

id!(TaskId);
id!(NodeId);
id!(AuditId);

/// As the text that it is shown as.
#[cfg(feature = "serde")]
impl serde::Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 32 hexadecimal digits, such as 0192f3a0-5b1c-7d2e-8f00-0123456789ab")]
pub struct BadId;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = TaskId::from_u128(0x0192_f3a0_5b1c_7d2e_8f00_0123_4567_89ab);
        assert_eq!(id.to_string(), "0192f3a0-5b1c-7d2e-8f00-0123456789ab");
        assert_eq!(format!("{id:?}"), id.to_string());
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!("0192F3A05b1c7d2e8f000123456789ab".parse(), Ok(id));
        for bad in
            ["", "0192f3a0", "0192f3a0-5b1c-7d2e-8f00-0123456789ag", "+192f3a05b1c7d2e8f000123456789ab"]
        {
            assert_eq!(bad.parse::<TaskId>(), Err(BadId), "{bad}");
        }
    }
}
