//! Secrets: random text that is compared in constant time and is never printed by accident.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use subtle::ConstantTimeEq as _;

/// Random bytes in a secret of ours: 256 bits, twice the number that makes guessing hopeless.
const SECRET_BYTES: usize = 32;
/// The fewest characters of a token in a token file: 22 of base64 carry 128 bits. So do 32 hexadecimal digits.
const MIN_TOKEN_CHARS: usize = 22;
/// The most characters of a secret in the link of another watchscope. This version's have 43.
const MAX_LINK_SECRET_CHARS: usize = 128;
/// The most bytes of a token file that are read.
const MAX_TOKEN_FILE_BYTES: u64 = 4096;

/// A secret. Its `Debug` shows nothing of it; only [`Secret::expose`] returns the text.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A fresh random secret, safe in URLs and cookies.
    ///
    /// # Panics
    /// If the operating system gives no random bytes, without which nothing here is safe.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; SECRET_BYTES];
        getrandom::fill(&mut bytes).expect("the operating system gives randomness");
        Self(URL_SAFE_NO_PAD.encode(bytes))
    }

    /// The secret of a link of another watchscope. `None` unless it is 22 to 128 visible ASCII characters.
    pub(super) fn of_a_link(text: &str) -> Option<Self> {
        let is_long = (MIN_TOKEN_CHARS..=MAX_LINK_SECRET_CHARS).contains(&text.len());
        let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic());
        (is_long && is_plain).then(|| Self(text.to_owned()))
    }

    /// The text, for the link and the cookie only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `guess` is this secret. The time taken depends on the two lengths only.
    #[must_use]
    pub fn equals(&self, guess: &str) -> bool {
        self.0.as_bytes().ct_eq(guess.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The file whose content scripts send as Bearer (`--token-file`). It is read at each use, so that the token can be rotated.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    /// Opens a token file; it must be readable now.
    ///
    /// # Errors
    /// See [`TokenFileError`].
    pub fn open(path: &Path) -> Result<Self, TokenFileError> {
        let file = Self {
            path: path.to_owned(),
        };
        file.read()?;
        Ok(file)
    }

    /// Reads the token that the file holds now, without white space around it.
    ///
    /// # Errors
    /// See [`TokenFileError`].
    pub fn read(&self) -> Result<Secret, TokenFileError> {
        let path = || self.path.clone();
        let mut text = String::new();
        File::open(&self.path)
            .and_then(|file| file.take(MAX_TOKEN_FILE_BYTES).read_to_string(&mut text))
            .map_err(|source| TokenFileError::Read {
                path: path(),
                source,
            })?;
        let token = text.trim();
        if token.len() < MIN_TOKEN_CHARS || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenFileError::Weak { path: path() });
        }
        Ok(Secret(token.to_owned()))
    }
}

/// Why a token file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file could not be read.
    #[error("--token-file {}: cannot read it: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The content is too short, or is not one line of plain characters.
    #[error(
        "--token-file {}: it must hold one token of at least {MIN_TOKEN_CHARS} plain characters, such as `openssl rand -hex 32` writes",
        path.display()
    )]
    Weak {
        /// The file.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_carries_256_bits_and_equals_only_itself() {
        let secret = Secret::random();
        assert_eq!(URL_SAFE_NO_PAD.decode(secret.expose()).unwrap().len(), 32);
        assert!(secret.equals(secret.expose()));
        assert!(!secret.equals(Secret::random().expose()));
        assert!(!secret.equals(&secret.expose()[1..]));
        assert!(!secret.equals(""));
    }

    #[test]
    fn printing_a_secret_shows_nothing_of_it() {
        let secret = Secret::random();
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }

    #[test]
    fn a_token_file_is_read_at_each_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        let file = TokenFile::open(&path).unwrap();
        assert!(
            file.read()
                .unwrap()
                .equals("0123456789abcdef0123456789abcdef")
        );
        std::fs::write(&path, "fedcba9876543210fedcba9876543210").unwrap();
        assert!(
            file.read()
                .unwrap()
                .equals("fedcba9876543210fedcba9876543210")
        );
    }

    #[test]
    fn a_missing_or_weak_token_file_is_refused_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let missing = TokenFile::open(&path).unwrap_err();
        assert!(matches!(missing, TokenFileError::Read { .. }), "{missing}");
        for weak in [
            "",
            "short",
            "has spaces in the middle of it all",
            "0123456789abcdef\n0123456789abcdef\u{7}",
        ] {
            std::fs::write(&path, weak).unwrap();
            let error = TokenFile::open(&path).unwrap_err();
            assert!(
                matches!(error, TokenFileError::Weak { .. }),
                "{weak:?}: {error}"
            );
            assert!(error.to_string().contains(path.to_str().unwrap()));
        }
    }
}
