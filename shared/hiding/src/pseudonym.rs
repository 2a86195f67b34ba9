//! Derives a pseudonym from a name and a secret seed, so that nobody can find the name by trying names.

use sha2::{Digest as _, Sha256};

use crate::part::HiddenPart;

/// The characters of pseudonyms: those from which Kubernetes makes the endings of generated names (apimachinery,
/// `util/rand`). There are no vowels among them, so they spell no words. An ending of a name that has only these
/// characters may be a generated one.
pub(crate) const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// The number of letters of a pseudonym, or of its first piece: 27^8, or 2.8·10^11, are possible. If two names get the
/// same pseudonym, the pseudonym of one name gets a further letter. The number has no source.
const FIRST_LETTERS: usize = 8;
/// The number of letters of each further piece: 27^6, or 3.9·10^8, are possible. Fewer letters suffice, because such a
/// piece only separates names that share the pieces before it. The number has no source.
const NEXT_LETTERS: usize = 6;
/// The most pieces of a pseudonym. So a pseudonym has at most 34 characters, `name` and hyphens included, and one more
/// for each clash with another pseudonym. The last piece of a name with more parts stands for all its further parts.
/// The number has no source: `cart-web-7d9f8b6c4d-x2z5q` has four parts.
const MOST_PIECES: usize = 4;

/// The seed of pseudonyms: 32 random bytes. The bytes are drawn once for all files whose pseudonyms must agree, and
/// stored nowhere. The seed's debug form does not show them.
#[derive(Clone)]
pub struct Seed([u8; 32]);

/// Writes a form of the seed that does not show its bytes.
impl std::fmt::Debug for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl Seed {
    /// Makes a seed of 32 random bytes that the caller drew. The bytes must be unpredictable: whoever has the seed can
    /// find names by trying them.
    #[must_use]
    pub const fn new(chance: [u8; 32]) -> Self {
        Self(chance)
    }

    fn digest(&self, text: &str) -> [u8; 32] {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(text.as_bytes());
        hash.finalize().into()
    }

    /// Returns the pseudonym of a name: `ns-4xk2p7dz`. Each further `attempt`, after a clash, adds a letter.
    ///
    /// The pseudonym of an object has a piece for each part between hyphens, at most 4: `name-4xk2p7dz-9fk2dw`. A piece
    /// depends on the name up to the end of that part. So the pseudonyms of a Deployment's pods begin alike, as the
    /// pods' names do.
    pub(crate) fn pseudonym(&self, part: HiddenPart, name: &str, attempt: usize) -> String {
        let begin = match part {
            HiddenPart::Namespaces => "ns",
            HiddenPart::Labels => "label",
            HiddenPart::Uids => "uid",
            HiddenPart::Addresses => "host",
            HiddenPart::Nodes => "node",
            HiddenPart::Cluster => "cluster",
            HiddenPart::Names | HiddenPart::Bodies | HiddenPart::Later => "name",
        };
        let mut pseudonym = begin.to_owned();
        let mut letters = FIRST_LETTERS;
        if part == HiddenPart::Names {
            let ends = name.match_indices('-').map(|(at, _)| at);
            for end in ends.take(MOST_PIECES - 1) {
                pseudonym.push('-');
                self.letters(&name[..end], letters, &mut pseudonym);
                letters = NEXT_LETTERS;
            }
        }
        pseudonym.push('-');
        self.letters(name, letters + attempt, &mut pseudonym);
        pseudonym
    }

    /// Returns another uid, derived from a uid and the seed.
    pub(crate) fn uid(&self, uid: [u8; 16]) -> [u8; 16] {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(uid);
        let digest: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        bytes
    }

    fn letters(&self, text: &str, count: usize, out: &mut String) {
        let digest = self.digest(text);
        // 256 is no multiple of 27, so some letters come a tenth more often. That reveals nothing of the text.
        let letters = digest
            .iter()
            .map(|byte| LETTERS[usize::from(*byte) % LETTERS.len()]);
        out.extend(letters.take(count).map(char::from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pseudonym_depends_on_the_seed_and_the_name_alone() {
        let seed = Seed::new([7; 32]);
        let of = |text| seed.pseudonym(HiddenPart::Names, text, 0);
        insta::assert_snapshot!(of("cart"), @"name-8hmbvjjj");
        insta::assert_snapshot!(of("cart-7d9f8b-x2z5q"), @"name-8hmbvjjj-fvh9ct-5sd4z9");
        assert!(of("cart-7d9f8b-x2z5q").starts_with(&of("cart-7d9f8b")));
        assert_ne!(
            of("cart"),
            Seed::new([8; 32]).pseudonym(HiddenPart::Names, "cart", 0)
        );
        let longer = seed.pseudonym(HiddenPart::Names, "cart", 2);
        assert!(longer.starts_with(&of("cart")) && longer != of("cart"));
        insta::assert_snapshot!(seed.pseudonym(HiddenPart::Namespaces, "shop-prod", 0), @"ns-bqz92kzl");
        assert!(of(&"a-".repeat(120)).len() < 48);
        assert_ne!(seed.uid([1; 16]), [1; 16]);
        assert_eq!(format!("{seed:?}"), "Seed(…)");
    }
}
