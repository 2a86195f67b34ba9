//! Finds the end of an object or array that is compact JSON, 64 bytes at a time.
//!
//! A block of 64 bytes becomes a few masks of 64 bits, one bit a byte: the quotes, the brackets, and so on. Shifts and
//! additions of the masks then check all tokens of the block at once. Only brackets, numbers and literals are visited
//! one by one, and an empty object or array costs nothing.
//!
//! The scan gives up at white space between tokens, at anything that is no JSON, and where the text ends early. The
//! caller then reads the value byte by byte, which finds the end or the error. So the scan decides nothing on its own:
//! where it finds an end, the bytewise reading finds the same end. A property test compares the two.

use super::masks::{BLOCK, Masks};
use super::steps::{escape_end, literal_end, number_end, utf8_len};

/// The most levels of containers with content that the scan follows, the value itself included. Each level takes one
/// bit of a word of 64 bits. A deeper value is read byte by byte. The number has no other source.
const DEEPEST: u32 = 63;

/// The facts about a block that the next block needs.
#[derive(Default)]
struct Carry {
    /// All ones while a string is open, else 0.
    string: u64,
    /// 1 if the open string begins where a key may stand.
    key: u64,
    /// 1 if the next byte is escaped.
    escape: u64,
    /// 1 if the last byte ends a text that may be a key, else 0. Each field below says the same of its kind of byte.
    key_end: u64,
    value_end: u64,
    object: u64,
    array: u64,
    comma: u64,
    colon: u64,
    scalar: u64,
}

/// Returns the end of the object or array that begins at `start`. It must not be empty. `None` means that the scan does
/// not know the end. Either the container is no compact JSON, or its containers with content have more than `levels`
/// levels, its own included.
pub(super) fn container_end(bytes: &[u8], start: usize, levels: u32) -> Option<usize> {
    let levels = levels.min(DEEPEST);
    let mut carry = Carry {
        // A value may follow a colon.
        colon: 1,
        ..Carry::default()
    };
    let (mut objects, mut depth) = (0_u64, 0_u32);
    let mut at = start;
    loop {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let masks = match rest.first_chunk::<BLOCK>() {
            Some(block) => Masks::of(block),
            None => {
                // Spaces after the text are no token, so they cannot complete a value.
                let mut padded = [b' '; BLOCK];
                padded[..rest.len()].copy_from_slice(rest);
                Masks::of(&padded)
            }
        };
        let next_is_colon = u64::from(rest.get(BLOCK) == Some(&b':'));
        let tokens = Tokens::of(&masks, next_is_colon, &mut carry);

        // The brackets, in order. `passed` has a one for each byte up to the last bracket.
        let mut brackets = tokens.brackets;
        let mut passed = 0_u64;
        let mut is_over = false;
        while brackets != 0 {
            let bit = brackets & brackets.wrapping_neg();
            brackets ^= bit;
            let up_to = bit | (bit - 1);
            if tokens.misplaced_in(objects) & up_to & !passed != 0 {
                return None;
            }
            passed = up_to;
            let is_object = u64::from(masks.curly & bit != 0);
            if tokens.opens & bit != 0 {
                if depth == levels {
                    return None;
                }
                depth += 1;
                objects = objects << 1 | is_object;
            } else {
                // The first byte of all is an opening bracket, so a bracket is open here.
                if objects & 1 != is_object {
                    return None;
                }
                depth -= 1;
                objects >>= 1;
                if depth == 0 {
                    is_over = true;
                    break;
                }
            }
        }
        let valid = if is_over { passed } else { u64::MAX };
        let misplaced = tokens.misplaced_in(objects) & !passed;
        if (tokens.errors | misplaced | masks.controls) & valid != 0 {
            return None;
        }
        if !are_scalars(bytes, at, tokens.scalar_starts & valid)
            || !are_escapes(bytes, at, tokens.letters & valid)
        {
            return None;
        }
        if is_over {
            return Some(at + passed.count_ones() as usize);
        }
        at += BLOCK;
    }
}

/// The tokens of a block.
struct Tokens {
    /// The opening brackets.
    opens: u64,
    /// The brackets of the containers that are not empty, opening and closing ones.
    brackets: u64,
    /// The first bytes of numbers and literals.
    scalar_starts: u64,
    /// The letters of escapes other than quotes and backslashes.
    letters: u64,
    /// The bytes that must not follow the byte before them, whatever container is open.
    errors: u64,
    /// The ends of keys that a colon follows, which an array cannot have.
    members: u64,
    /// The places of values without a key after a comma or `{`, which an object cannot have.
    elements: u64,
}

impl Tokens {
    /// Finds the tokens of a block; `carry` is that of the block before, and becomes that of this one.
    #[inline(always)]
    fn of(masks: &Masks, next_is_colon: u64, carry: &mut Carry) -> Self {
        let escaped = escaped(masks.backslashes, &mut carry.escape);
        let quotes = masks.quotes & !escaped;
        // A string has ones from its opening quote to the byte before its closing one.
        let strings = through(quotes) ^ carry.string;
        carry.string = ((strings as i64) >> 63) as u64;
        let outside = !(strings | quotes);
        let (string_starts, string_ends) = (quotes & strings, quotes & !strings);
        let (opens, closes) = (masks.opens & outside, masks.closes & outside);
        let (commas, colons) = (masks.commas & outside, masks.colons & outside);
        let scalars = outside & !(opens | closes | commas | colons);
        let (objects, arrays) = (opens & masks.curly, opens & !masks.curly);
        let value_ends = string_ends | closes | scalars;

        let after_value = follow(value_ends, &mut carry.value_end);
        let after_object = follow(objects, &mut carry.object);
        let after_array = follow(arrays, &mut carry.array);
        let after_comma = follow(commas, &mut carry.comma);
        let after_colon = follow(colons, &mut carry.colon);
        let after_scalar = follow(scalars, &mut carry.scalar);

        let scalar_starts = scalars & !after_scalar;
        // A string after a comma or an object's bracket may be a key. An addition runs through its ones up to the
        // closing quote.
        let key_starts = string_starts & (after_object | after_comma);
        let (sum, over) = strings.overflowing_add(key_starts);
        let (sum, over_too) = sum.overflowing_add(carry.key);
        carry.key = u64::from(over | over_too);
        let key_ends = sum & !strings;
        let before_colon = colons >> 1 | next_is_colon << 63;
        let others = opens | scalar_starts;

        let errors = string_starts & after_value
            | others & !(after_array | after_comma | after_colon)
            | commas & !after_value
            | closes & !(after_value | after_object | after_array)
            | colons & !follow(key_ends, &mut carry.key_end);
        let is_pair = !(masks.curly ^ masks.curly >> 1);
        let empty = opens & closes >> 1 & is_pair;
        Self {
            opens,
            brackets: (opens | closes) & !(empty | empty << 1),
            scalar_starts,
            letters: escaped & !(masks.quotes | masks.backslashes),
            errors,
            members: key_ends & before_colon,
            elements: key_ends & !before_colon | others & after_comma,
        }
    }

    /// What is misplaced in the innermost container; the lowest bit of `objects` is 1 if it is an object.
    #[inline(always)]
    fn misplaced_in(&self, objects: u64) -> u64 {
        if objects & 1 == 1 {
            self.elements
        } else {
            self.members
        }
    }
}

/// Returns the end of a string whose text goes on at `start`. Also returns the number of bytes by which the text from
/// there is shorter than its JSON. `None` means that the scan does not know the end. Either the string is no JSON, or
/// fewer than 64 bytes are left for the scan's last block.
pub(super) fn string_size(bytes: &[u8], start: usize) -> Option<(usize, usize)> {
    let (mut at, mut carry, mut saved) = (start, 0, 0);
    loop {
        let masks = Masks::of(bytes.get(at..)?.first_chunk::<BLOCK>()?);
        let escaped = escaped(masks.backslashes, &mut carry);
        let quotes = masks.quotes & !escaped;
        // The bytes up to the closing quote.
        let valid = quotes ^ quotes.wrapping_sub(1);
        if masks.controls & valid != 0 {
            return None;
        }
        saved += (escaped & valid).count_ones() as usize;
        let mut letters = escaped & valid & !(masks.quotes | masks.backslashes);
        while letters != 0 {
            let letter = at + letters.trailing_zeros() as usize;
            letters &= letters - 1;
            let end = escape_end(bytes, letter).ok()?;
            if end > letter + 1 {
                saved += end - letter - utf8_len(&bytes[letter + 1..end]);
            }
        }
        if quotes != 0 {
            return Some((at + quotes.trailing_zeros() as usize + 1, saved));
        }
        at += BLOCK;
    }
}

/// Whether a number or literal stands at each of the places, and a token that may follow a value after it.
#[inline(always)]
fn are_scalars(bytes: &[u8], at: usize, mut places: u64) -> bool {
    while places != 0 {
        let start = at + places.trailing_zeros() as usize;
        places &= places - 1;
        let end = match bytes.get(start) {
            Some(b't') => literal_end(bytes, start, b"true"),
            Some(b'f') => literal_end(bytes, start, b"false"),
            Some(b'n') => literal_end(bytes, start, b"null"),
            _ => number_end(bytes, start),
        };
        let next = end.ok().and_then(|end| bytes.get(end));
        if !matches!(next, Some(b',' | b'}' | b']')) {
            return false;
        }
    }
    true
}

/// Whether JSON has the escapes whose letters stand at these places.
#[inline(always)]
fn are_escapes(bytes: &[u8], at: usize, mut places: u64) -> bool {
    while places != 0 {
        let letter = at + places.trailing_zeros() as usize;
        places &= places - 1;
        if escape_end(bytes, letter).is_err() {
            return false;
        }
    }
    true
}

/// The bytes that a backslash escapes. `carry` is 1 if one before the block escapes its first byte, and is set for the
/// next block.
#[inline(always)]
fn escaped(backslashes: u64, carry: &mut u64) -> u64 {
    /// Every second bit, from the lowest on.
    const EVEN: u64 = 0x5555_5555_5555_5555;
    if backslashes == 0 {
        return std::mem::take(carry);
    }
    // A backslash that is escaped escapes nothing.
    let backslashes = backslashes & !*carry;
    let follows = backslashes << 1 | *carry;
    // A run of backslashes that begins at an odd place ends, added to its beginning, after its last one.
    let odd_starts = backslashes & !EVEN & !follows;
    let (ends_of_odd, over) = odd_starts.overflowing_add(backslashes);
    *carry = u64::from(over);
    (EVEN ^ ends_of_odd << 1) & follows
}

/// The bits from each odd one of `mask` on, up to the next one: a prefix sum modulo 2.
#[inline(always)]
fn through(mut mask: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        mask ^= mask << shift;
    }
    mask
}

/// The bytes after those of `mask`. `carry` is 1 if the last byte of the block before is one of them, and is set for
/// the next block.
#[inline(always)]
fn follow(mask: u64, carry: &mut u64) -> u64 {
    let after = mask << 1 | *carry;
    *carry = mask >> 63;
    after
}
