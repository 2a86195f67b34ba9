//! The link that opens the page: its secret is in the fragment, which browsers never send.

/// The parts of a fragment: the secret of a link, and the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The secret, if the fragment has one.
    pub secret: Option<String>,
    /// What remains of the fragment, without `#`.
    pub rest: String,
}

/// Takes the secret (`t=…`) out of a fragment, with or without its `#`.
#[must_use]
pub fn take_secret(fragment: &str) -> Fragment {
    let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
    let mut secret = None;
    let rest: Vec<&str> = fragment
        .split('&')
        .filter(|part| match part.strip_prefix("t=") {
            Some(value) => {
                if is_secret(value) {
                    secret = Some(value.to_owned());
                }
                false
            }
            None => true,
        })
        .collect();
    Fragment {
        secret,
        rest: rest.join("&"),
    }
}

/// Returns the secret in a pasted text: a whole link, its fragment, or the secret alone.
#[must_use]
pub fn secret_of_pasted(text: &str) -> Option<String> {
    let text = text.trim();
    match text.split_once('#') {
        Some((_, fragment)) => take_secret(fragment).secret,
        None => take_secret(text)
            .secret
            .or_else(|| is_secret(text).then(|| text.to_owned())),
    }
}

/// Whether a text has the form of a secret: at most 256 letters, digits, `-` and `_`. A header could not carry other
/// characters.
fn is_secret(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 256
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_leaves_the_fragment_and_the_rest_stays() {
        let taken = take_secret("#v=1&t=abc-DEF_1&q=pods");
        assert_eq!(
            (taken.secret.as_deref(), taken.rest.as_str()),
            (Some("abc-DEF_1"), "v=1&q=pods")
        );
        assert_eq!(take_secret("").secret, None);
        assert_eq!(take_secret("#t=").secret, None);
    }

    #[test]
    fn a_pasted_link_fragment_or_secret_is_understood_and_other_text_is_not() {
        let of = |text| secret_of_pasted(text);
        assert_eq!(
            of(" http://127.0.0.1:8080/#t=s3cret \n").as_deref(),
            Some("s3cret")
        );
        assert_eq!(of("#t=s3cret").as_deref(), Some("s3cret"));
        assert_eq!(of("s3cret").as_deref(), Some("s3cret"));
        assert_eq!(of("http://127.0.0.1:8080/"), None);
        assert_eq!(of("t=a\r\nX: y"), None);
    }
}
