//! Secrets in files, as Kubernetes and Docker mount them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::PathBuf;

use super::{MAX_SECRET, NoSecret, Secret, Secrets};

/// Secrets in a folder, each in a file of its name, such as `/run/secrets/payments-token`. A newline at the file's end is not
/// part of it. Links are followed: Kubernetes swaps secrets by them.
#[derive(Clone, Debug)]
pub struct FolderSecrets {
    folder: PathBuf,
}

impl FolderSecrets {
    /// The files of this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }
}

impl Secrets for FolderSecrets {
    fn get(&self, name: &str) -> Result<Secret, NoSecret> {
        // A name has no slash and does not begin with a dot: it stays in the folder.
        let path = self.folder.join(name);
        let shown = path.display();
        let mut text = String::new();
        // Whoever opens a pipe waits for its other end, and everybody with them.
        let file = fs::metadata(&path).and_then(|about| match about.is_file() {
            true => File::open(&path),
            false => Err(io::Error::other("it is no file")),
        });
        match file.and_then(|file| file.take(MAX_SECRET as u64 + 1).read_to_string(&mut text)) {
            Ok(_) => {
                let value = text.strip_suffix('\n').unwrap_or(&text);
                Ok(Secret::new(value.strip_suffix('\r').unwrap_or(value)))
            }
            Err(error) => Err(NoSecret::new(match error.kind() {
                io::ErrorKind::NotFound => format!("there is no file `{shown}`"),
                io::ErrorKind::InvalidData => format!("file `{shown}` is not UTF-8"),
                _ => format!("file `{shown}` cannot be read: {error}"),
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_a_file_without_its_last_newline() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = FolderSecrets::new(folder.path());
        for (content, value) in
            [("abc", "abc"), ("abc\n", "abc"), ("abc\r\n", "abc"), ("a\nb\n\n", "a\nb\n"), ("", "")]
        {
            fs::write(folder.path().join("token"), content).unwrap();
            assert_eq!(secrets.get("token"), Ok(Secret::new(value)), "{content:?}");
        }
    }

    #[test]
    fn what_is_not_there_or_no_text_is_said_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let secrets = FolderSecrets::new(folder.path());
        assert!(secrets.get("token").unwrap_err().to_string().starts_with("there is no file `"));
        fs::write(folder.path().join("token"), [0xff]).unwrap();
        assert!(secrets.get("token").unwrap_err().to_string().ends_with("token` is not UTF-8"));
        fs::create_dir(folder.path().join("nested")).unwrap();
        assert!(secrets.get("nested").unwrap_err().to_string().contains("nested` cannot be read: "));
    }

    #[test]
    fn of_an_endless_file_no_more_is_read_than_a_secret_may_have() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("token"), vec![b'x'; MAX_SECRET * 3]).unwrap();
        let secret = FolderSecrets::new(folder.path()).get("token").unwrap();
        assert_eq!(secret.expose().len(), MAX_SECRET + 1);
    }
}
