//! The text of a file.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use crate::tree::{MAX_BYTES, Place, Places};

/// Why a file has no text.
#[derive(Debug)]
#[non_exhaustive]
pub struct Unread {
    /// Where it stops being one; `None` when the file as a whole is meant.
    pub at: Option<Place>,
    /// What is wrong, and what to do.
    pub message: String,
    /// What the system said.
    pub source: Option<io::Error>,
}

impl Unread {
    fn whole(message: impl Into<String>, source: Option<io::Error>) -> Self {
        Self { at: None, message: message.into(), source }
    }
}

/// The whole text of a file, if it is one, is not too large and is UTF-8.
///
/// # Errors
/// It is none of that, or cannot be read.
pub fn read(path: &Path) -> Result<String, Unread> {
    let unread = |error: io::Error| {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            io::ErrorKind::PermissionDenied => "it may not be read: check its permissions".to_owned(),
            io::ErrorKind::IsADirectory => "it is a directory: give a file".to_owned(),
            _ => format!("it cannot be read: {error}"),
        };
        Unread::whole(message, Some(error))
    };
    // A pipe would be waited for, and a device has no end.
    let about = fs::metadata(path).map_err(unread)?;
    if about.is_dir() {
        return Err(unread(io::ErrorKind::IsADirectory.into()));
    }
    if !about.is_file() {
        return Err(Unread::whole("it is a pipe or a device: give a file", None));
    }
    let file = fs::File::open(path).map_err(unread)?;
    let mut bytes = Vec::new();
    // One byte more than allowed tells a file that is too large from one that just fits.
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.len() > MAX_BYTES {
        return Err(Unread::whole(format!("it has more than {MAX_BYTES} bytes"), None));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid =
            String::from_utf8_lossy(&error.as_bytes()[..error.utf8_error().valid_up_to()]).into_owned();
        let at = Some(Places::new(&valid).at(valid.len()));
        Unread { at, message: "this is not UTF-8: save the file as UTF-8".to_owned(), source: None }
    })
}
