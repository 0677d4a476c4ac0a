//! What a URL for callbacks is known by.

use std::fmt;

/// A number that nobody can guess: whoever knows it may answer for a step. Nobody shows it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Token(u128);

impl Token {
    /// The token that this number is. Whoever makes one takes the number from where nobody can foresee it.
    #[must_use]
    pub const fn from_u128(number: u128) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn as_u128(self) -> u128 {
        self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// In texts as hexadecimal digits: as a number it is too large for many who read JSON.
#[cfg(feature = "serde")]
impl serde::Serialize for Token {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match to.is_human_readable() {
            true => to.collect_str(&format_args!("{:032x}", self.0)),
            false => self.0.to_be_bytes().serialize(to),
        }
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Token {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        if !from.is_human_readable() {
            return <[u8; 16]>::deserialize(from).map(|bytes| Self(u128::from_be_bytes(bytes)));
        }
        let text = <std::borrow::Cow<'_, str>>::deserialize(from)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(|_| D::Error::custom("a token has hexadecimal digits"))
    }
}
