//! JSON (RFC 8259): parses configurations and events, and writes payloads.

use std::fmt::{self, Write};

/// A JSON value. Numbers keep their text, objects their order.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// An error in a text that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte offset of the error.
    pub position: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid JSON at byte {}", self.position)
    }
}

impl std::error::Error for SyntaxError {}

/// The maximum number of levels.
const DEPTH: usize = 64;

/// Parses the whole text as one JSON value. If a name occurs twice, the last member counts.
pub fn parse(text: &str) -> Result<Value, SyntaxError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.error());
    }
    Ok(value)
}

impl Value {
    /// Makes an object with these members.
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Appends a member to an object; does nothing to other values.
    pub fn push(&mut self, name: &str, value: impl Into<Value>) {
        if let Value::Object(members) = self {
            members.push((name.to_owned(), value.into()));
        }
    }

    /// The member of an object with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(members) => members.iter().rev().find(|member| member.0 == name).map(|member| &member.1),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = self { Some(text) } else { None }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// The value of an integer without fraction and exponent that fits.
    pub fn as_i64(&self) -> Option<i64> {
        if let Value::Number(text) = self { text.parse().ok() } else { None }
    }

    pub fn as_f64(&self) -> Option<f64> {
        if let Value::Number(text) = self { text.parse().ok().filter(|value: &f64| value.is_finite()) } else { None }
    }

    pub fn as_array(&self) -> Option<&[Value]> {
        if let Value::Array(elements) = self { Some(elements) } else { None }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value { Value::String(text.to_owned()) }
}

impl From<String> for Value {
    fn from(text: String) -> Value { Value::String(text) }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value { Value::Bool(value) }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value { Value::Number(number.to_string()) }
}

impl From<u32> for Value {
    fn from(number: u32) -> Value { Value::Number(number.to_string()) }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Value { Value::Array(elements) }
}

/// The value as JSON, without spaces.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Number(text) => f.write_str(text),
            Value::String(text) => quote(text, f),
            Value::Array(elements) => {
                f.write_char('[')?;
                for (index, element) in elements.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    write!(f, "{element}")?;
                }
                f.write_char(']')
            }
            Value::Object(members) => {
                f.write_char('{')?;
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        f.write_char(',')?;
                    }
                    quote(name, f)?;
                    write!(f, ":{value}")?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char('"')?;
    for character in text.chars() {
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{0}'..='\u{1f}' => write!(f, "\\u{:04x}", character as u32)?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self) -> SyntaxError { SyntaxError { position: self.at } }

    fn next(&self) -> u8 { self.text.as_bytes().get(self.at).copied().unwrap_or(0) }

    fn space(&mut self) {
        while matches!(self.next(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let is_there = self.at < self.text.len() && self.next() == byte;
        self.at += usize::from(is_there);
        is_there
    }

    fn expect(&mut self, byte: u8) -> Result<(), SyntaxError> {
        if self.take(byte) { Ok(()) } else { Err(self.error()) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.space();
        match self.next() {
            b'{' | b'[' if depth == DEPTH => Err(self.error()),
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string().map(Value::String),
            b'n' => self.word("null", Value::Null),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            _ => self.number(),
        }
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, SyntaxError> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error());
        }
        self.at += word.len();
        Ok(value)
    }

    fn object(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut members = Vec::new();
        self.expect(b'{')?;
        if self.take(b'}') {
            return Ok(Value::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            self.expect(b':')?;
            members.push((name, self.value(depth + 1)?));
            if !self.take(b',') {
                self.expect(b'}')?;
                return Ok(Value::Object(members));
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let mut elements = Vec::new();
        self.expect(b'[')?;
        if self.take(b']') {
            return Ok(Value::Array(elements));
        }
        loop {
            elements.push(self.value(depth + 1)?);
            if !self.take(b',') {
                self.expect(b']')?;
                return Ok(Value::Array(elements));
            }
        }
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        if !self.next().is_ascii_digit() {
            return Err(self.error());
        }
        while self.next().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Value, SyntaxError> {
        let start = self.at;
        self.at += usize::from(self.next() == b'-');
        if self.next() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.next() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.next(), b'e' | b'E') {
            self.at += 1;
            self.at += usize::from(matches!(self.next(), b'+' | b'-'));
            self.digits()?;
        }
        Ok(Value::Number(self.text[start..self.at].to_owned()))
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        if self.next() != b'"' {
            return Err(self.error());
        }
        self.at += 1;
        let mut string = String::new();
        loop {
            let start = self.at;
            while self.at < self.text.len() && !matches!(self.next(), b'"' | b'\\' | 0..=0x1f) {
                self.at += 1;
            }
            string.push_str(&self.text[start..self.at]);
            match self.next() {
                b'"' => {
                    self.at += 1;
                    return Ok(string);
                }
                b'\\' => string.push(self.escape()?),
                _ => return Err(self.error()),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        self.at += 1;
        let character = match self.next() {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.at += 1;
                let mut code = self.hex()?;
                if (0xd800..0xdc00).contains(&code) && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return Err(self.error());
                    }
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                }
                return char::from_u32(code).ok_or_else(|| self.error());
            }
            _ => return Err(self.error()),
        };
        self.at += 1;
        Ok(character)
    }

    fn hex(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).ok_or_else(|| self.error())?;
        let mut code = 0;
        for digit in digits {
            code = code * 16 + (*digit as char).to_digit(16).ok_or_else(|| self.error())?;
        }
        self.at += 4;
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_json_is_read_and_written() {
        for text in ["null", "[1,-2.5e3,\"a\",true,{}]", "{\"a\":{\"b\":[]},\"c\":\"é\u{1f600}\"}", "0", "\"\""] {
            assert_eq!(parse(text).map(|value| value.to_string()).as_deref(), Ok(text));
        }
        let escapes = parse(r#" { "a" : "\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000" } "#).unwrap();
        assert_eq!(escapes.get("a").and_then(Value::as_str), Some("\"\\/\u{8}\u{c}\n\r\té\u{1f600}\0"));
        assert_eq!(parse(&escapes.to_string()), Ok(escapes));
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "", " ", "nul", "01", "-", "1.", ".5", "1e", "+1", "[1,]", "[,]", "{\"a\"}", "{\"a\":1,}", "{a:1}", "[1 2]", "\"",
            "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\n\"", "[] []", "\u{feff}1", "\0",
            "[\0", "\"\\u00é\"", "\"\\", "\"\\u", &deep,
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_and_members() {
        let value = parse("{\"a\":1,\"a\":2,\"b\":1.5,\"c\":1e999}").unwrap();
        assert_eq!(value.get("a").and_then(Value::as_i64), Some(2));
        assert_eq!(value.get("b").and_then(Value::as_i64), None);
        assert_eq!(value.get("b").and_then(Value::as_f64), Some(1.5));
        assert_eq!(value.get("c").and_then(Value::as_f64), None);
        assert_eq!(value.get("d"), None);
    }
}
